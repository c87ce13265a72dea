"""Pages and a question go in; an answer comes out, by one of the ways that the papers compare.

    full       every page encoded and prefilled with the question, as a system without page caches does: the judge
    template   page caches compiled behind the model's native template (QV-PIC)
    free       compiled without a prefix (QV-PIC's Q1, "prefix-free")
    dummy-K    compiled behind K times the token x (Q1)

All arms get the same pages at the same DPIs, are linked behind the same native prefix and decoded by the same engine. A page is an image,
or a run of token ids.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from app.engine import Decode
from app.types import Sampling
from cache_compiler.assemble import assemble
from cache_compiler.backbone import Backbone
from cache_compiler.baselines import epic_rows
from cache_compiler.compile import compile_pages, compile_texts
from cache_compiler.identity import Identity, identify
from cache_compiler.patch import Patch
from cache_compiler.prefill import full_prefill, prefill_encoded
from cache_compiler.prefix import Prefix, compile_prefix, condition_ids
from cache_compiler.recompute import recompute
from cache_compiler.types import Assembly, Canonical, Encoded
from renderer import paginate, rasterise
from renderer.types import PageImage, PageStyle

from .bench.clock import settle


@dataclass(frozen=True)
class TextPage:
    """A run of token ids that is compiled and placed as one page."""

    ids: tuple[int, ...]

    @cached_property
    def key(self) -> str:
        return hashlib.sha256(repr(self.ids).encode()).hexdigest()[:32]


Page = PageImage | TextPage


@dataclass(frozen=True)
class Reply:
    """What an arm said, and how long its parts took: `context` until the pages are in the cache, `question` until the first token."""

    text: str
    ids: tuple[int, ...]
    context: float
    question: float


@dataclass
class Bench:
    """A model, a style, and what several arms share: images, prefixes, and the caches of the pages seen lately."""

    backbone: Backbone
    style: PageStyle
    keep: int = 64
    _prefixes: dict[str, Prefix] = field(default_factory=dict)
    _caches: OrderedDict[tuple[str, str], Canonical] = field(default_factory=OrderedDict)

    @cached_property
    def identity(self) -> Identity:
        """Taken once: it reads all the weights."""
        return identify(self.backbone, self.style.fingerprint)

    def images(self, pages: Sequence[str], dpis: Sequence[int]) -> list[PageImage]:
        """One page image for each text, each at its own DPI. A text that needs more than one page is a mistake of the caller's."""
        made = []
        for text, dpi in zip(pages, dpis, strict=True):
            laid = paginate(text, self.style)
            if len(laid) != 1:
                raise ValueError(f"a context page takes {len(laid)} pages of style {self.style.name!r}; draw fewer lines a page")
            made.append(rasterise(laid[0], self.style, dpi))
        return made

    def assemble(self, arm: str, pages: Sequence[Page], room: int) -> Assembly:
        """The context of an arm, ready for a question. Raises TemplateError on an unknown arm."""
        return self.prefilled(pages, room) if arm == "full" else self.linked(self.canonicals(arm, pages), room)

    def prefilled(self, pages: Sequence[Page], room: int) -> Assembly:
        """All pages in one forward, the vision encoder's time included. `seconds` is {"prefill": ...}."""
        images = [page for page in pages if isinstance(page, PageImage)]
        if len(images) == len(pages):
            return self._timed("prefill", lambda: full_prefill(self.backbone, images, room))
        return self._timed("prefill", lambda: prefill_encoded(self.backbone, self.encoded(pages), room))

    def linked(self, canonicals: Sequence[Canonical], room: int, patches: Sequence[Patch | None] | None = None) -> Assembly:
        """Page caches from memory, each with its patch, placed behind the native prefix. `seconds` is {"place": ...}."""
        prefix = self.prefix("template")
        return self._timed("place", lambda: assemble(self.backbone, prefix, canonicals, room, patches))

    def recomputed(self, context: Assembly, pages: Sequence[Encoded], count: int, exact: bool = True) -> Assembly:
        """The context, written on: the first `count` rows of each page computed again in it (EPIC, arXiv 2410.15332). Adds "recompute" to
        `seconds`.

        `exact`: the first page stands where it was compiled, behind the native prefix, and is left as it is; else it is recomputed too.
        """
        rows, first = epic_rows(context, count), context.segments[0]
        if not exact:
            rows = [*range(first.first, min(first.last, first.first + count)), *rows]
        before = dict(context.seconds)
        made = self._timed("recompute", lambda: recompute(self.backbone, context, pages, rows, in_place=True))
        made.seconds = before | made.seconds
        return made

    def encoded(self, pages: Sequence[Page]) -> list[Encoded]:
        """Pages as the language model takes them, all images by one pass of the vision encoder."""
        images = iter(self.backbone.encode([page for page in pages if isinstance(page, PageImage)]))
        return [next(images) if isinstance(page, PageImage) else self.backbone.encode_text(page.key, page.ids) for page in pages]

    def canonicals(self, condition: str, pages: Sequence[Page]) -> list[Canonical]:
        """Page caches under a condition, compiled where they are not at hand. They wait in main memory, as a server's do."""
        missing = {page.key: page for page in pages if (condition, page.key) not in self._caches}
        images = [page for page in missing.values() if isinstance(page, PageImage)]
        texts = [(page.key, page.ids) for page in missing.values() if isinstance(page, TextPage)]
        prefix = self.prefix(condition)
        for made in (*compile_pages(self.backbone, images, prefix), *compile_texts(self.backbone, texts, prefix)):
            self._caches[condition, made.key] = replace(made, rotary=made.rotary.cpu(), plain=made.plain.cpu())
        found = [self._caches[condition, page.key] for page in pages]
        for page in pages:
            self._caches.move_to_end((condition, page.key))
        while len(self._caches) > max(self.keep, len(pages)):
            self._caches.popitem(last=False)
        return found

    def lacks(self, condition: str, pages: Sequence[Page]) -> int:
        """How many of the pages `canonicals` would have to compile."""
        return len({page.key for page in pages if (condition, page.key) not in self._caches})

    def prefix(self, condition: str) -> Prefix:
        if condition not in self._prefixes:
            self._prefixes[condition] = compile_prefix(self.backbone, condition_ids(self.backbone, condition))
        return self._prefixes[condition]

    def reply(self, assembly: Assembly, question: str, max_tokens: int = 24) -> Reply:
        """Answer greedily, then leave the assembly as it was, so that the same context can take the next question."""
        rows = assembly.length
        decode = Decode(self.backbone, assembly, self.backbone.question_ids(question), Sampling(max_tokens=max_tokens))
        text = "".join(piece.text for piece in decode)
        assembly.cache.truncate(rows)
        return Reply(text.strip(), tuple(decode.ids), sum(assembly.seconds.values()), decode.seconds["prefill"])

    def _timed(self, part: str, work: Callable[[], Assembly]) -> Assembly:
        """From an idle device to an idle device: on a GPU a call returns when its kernels are queued."""
        settle(self.backbone.device)
        begun = time.perf_counter()
        made = work()
        settle(self.backbone.device)
        made.seconds = {part: time.perf_counter() - begun}
        return made
