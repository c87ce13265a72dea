"""Pages and a question go in; an answer comes out, by one of the ways that the papers compare.

    full       every page encoded and prefilled with the question, as a system without page caches does: the judge
    template   page caches compiled behind the model's native template (QV-PIC)
    free       compiled without a prefix (QV-PIC's Q1, "prefix-free")
    dummy-K    compiled behind K times the token x (Q1)

All arms get the same pages at the same DPIs, are linked behind the same native prefix and decoded by the same engine.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from app.engine import Decode
from app.types import Sampling
from cache_compiler.assemble import assemble
from cache_compiler.backbone import Backbone
from cache_compiler.compile import compile_pages
from cache_compiler.identity import Identity, identify
from cache_compiler.prefill import full_prefill
from cache_compiler.prefix import Prefix, compile_prefix, condition_ids
from cache_compiler.types import Assembly, Canonical
from renderer import paginate, rasterise
from renderer.types import PageImage, PageStyle


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

    def assemble(self, arm: str, images: Sequence[PageImage], room: int) -> Assembly:
        """The context of an arm, ready for a question. Raises TemplateError on an unknown arm."""
        if arm == "full":
            return full_prefill(self.backbone, images, room)
        return assemble(self.backbone, self.prefix("template"), self.canonicals(arm, images), room)

    def canonicals(self, condition: str, images: Sequence[PageImage]) -> list[Canonical]:
        """Page caches under a condition, compiled where they are not at hand."""
        missing = {image.key: image for image in images if (condition, image.key) not in self._caches}
        for canonical in compile_pages(self.backbone, list(missing.values()), self.prefix(condition)):
            self._caches[condition, canonical.key] = canonical
        found = [self._caches[condition, image.key] for image in images]
        for image in images:
            self._caches.move_to_end((condition, image.key))
        while len(self._caches) > max(self.keep, len(images)):
            self._caches.popitem(last=False)
        return found

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
