"""An arm's name goes in; an `Arm` comes out, which answers a record in its own way and says how long its first token took.

    text-full                         the context's tokens prefilled with the question
    text-pic[@TOKENS][:condition]     caches of runs of so many tokens (512 where none is said)
    image-full[@DPI]                  every page image encoded and prefilled with the question (72 DPI where none is said)
    image-pic[@DPI][:condition]       page caches of one DPI
    qv-pic[@LOW-HIGH][:condition]     the same, with the pages of most relevance at the high DPI (72-120; QV-PIC, equations 5 to 8)

    condition                         what caches were compiled behind: template (where none is said), free or dummy-K
    +patch[-RANK]                     behind a name with caches: each page with a patch of the page before it (Kamera; rank 32, or `full`)
    +patch-chain[-RANK]               the same, of all pages before it
    +epic-K                           the first K rows of each page computed again, online (EPIC; `all` is every row)

Examples: image-pic@120, image-pic@72:free+epic-2, qv-pic+patch-16, text-pic:dummy-4, text-pic@256+patch-chain-full+epic-4.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from .errors import UnknownArm
from .generate import generate
from .house import House
from .media import CHUNK, Images, Medium, Texts
from .records import Record
from .ways import ALL, RANK, Patching, Way, link, prepare


@dataclass(frozen=True)
class Reply:
    """What an arm said, raw. `tokens` were generated; `rows` of context stood before the question. `error`: why there is no answer.

    `online`: the parts of `first_token_seconds`, by name. `offline`: what was made beforehand, for `measures.py`. `kl`: KL(full || arm) at the
    first answer token, where it was asked for.
    """

    text: str
    tokens: int = 0
    first_token_seconds: float | None = None
    error: str | None = None
    rows: int = 0
    online: Mapping[str, float] = field(default_factory=dict)
    offline: Mapping[str, float] = field(default_factory=dict)
    kl: float | None = None


class Arm(Protocol):
    """One way to answer. `answer` may be called from several threads at once; what it raises makes the sample score 0."""

    @property
    def name(self) -> str: ...

    def answer(self, task: str, record: Record) -> Reply: ...


@dataclass(frozen=True)
class ContextArm:
    """Pages of one medium, put before the question in one way.

    The clock of the first token is QV-PIC's (Experiments, Metrics): for `full`, vision encoder, prefill of all and the first token; for
    caches, from memory to their places, EPIC's rows where there are any, prefill of the question and the first token; for `qv-pic` besides
    the question's embedding and the plan. Drawing, compiling, forming patches and the passages' vectors are offline, and told apart.
    """

    name: str
    house: House
    medium: Medium
    way: Way

    def answer(self, task: str, record: Record) -> Reply:
        house, limit = self.house, self.house.limit(task)
        ids = house.question_ids(record)
        with house.lock:
            pages, planned = self.medium.pages(house, record)
            ready = prepare(house.bench, self.way, pages)
        context = link(house.bench, ready, len(ids) + min(limit, 256))  # the slab grows beyond it
        rows = context.length
        said = generate(house.backbone, context, ids, limit, house.protocol.penalty)
        online = {**planned, **context.seconds, "question": said.first}
        lost = house.judge.kl(pages, ids, said.logits) if house.kl else None
        return Reply(said.text, len(said.ids), sum(online.values()), rows=rows, online=online, offline=ready.facts, kl=lost)


_CONDITION = r"(?::(?P<condition>template|free|dummy-\d{1,3}))?"
_REPAIR = r"(?:\+patch(?P<chain>-chain)?(?:-(?P<rank>full|[1-9]\d{0,3}))?)?(?:\+epic-(?P<epic>all|[1-9]\d{0,3}))?"
_PIC = _CONDITION + _REPAIR


def _text_full(name: str, said: re.Match[str], house: House) -> Arm:
    return ContextArm(name, _texts(name, house), Texts(), Way("full"))


def _text_pic(name: str, said: re.Match[str], house: House) -> Arm:
    return ContextArm(name, _texts(name, house), Texts(int(said["chunk"] or CHUNK)), _way(said))


def _image_full(name: str, said: re.Match[str], house: House) -> Arm:
    return ContextArm(name, _images(house), Images(int(said["dpi"] or house.budget.low)), Way("full"))


def _image_pic(name: str, said: re.Match[str], house: House) -> Arm:
    return ContextArm(name, _images(house), Images(int(said["dpi"] or house.budget.low)), _way(said))


def _qv_pic(name: str, said: re.Match[str], house: House) -> Arm:
    low, high = (int(said[side] or getattr(house.budget, side)) for side in ("low", "high"))
    if low > high:
        raise UnknownArm(f"arm {name!r}: the low DPI stands first, as in qv-pic@{high}-{low}")
    return ContextArm(name, _images(house), Images(low, replace(house.budget, low=low, high=high)), _way(said))


def _way(said: re.Match[str]) -> Way:
    patching = None
    if "+patch" in said[0]:
        rank = None if said["rank"] == "full" else int(said["rank"] or RANK)
        patching = Patching("chain" if said["chain"] else "before", rank)
    return Way(said["condition"] or "template", patching, ALL if said["epic"] == "all" else int(said["epic"] or 0))


def _images(house: House) -> House:
    """Raises UnsupportedFamily where the model reads text alone."""
    assert house.backbone.cell
    return house


def _texts(name: str, house: House) -> House:
    """Glyph's words behind the context say that it is in images."""
    if house.protocol.name == "glyph":
        raise UnknownArm(f"arm {name!r}: protocol glyph shows the context in images; take --protocol official, or an image arm")
    return house


Maker = Callable[[str, "re.Match[str]", House], Arm]
# The registry: what a name looks like, and what makes its arm. A further kind of arm is a further row.
MAKERS: list[tuple[re.Pattern[str], Maker]] = [
    (re.compile(r"text-full"), _text_full),
    (re.compile(r"text-pic(?:@(?P<chunk>[1-9]\d{0,4}))?" + _PIC), _text_pic),
    (re.compile(r"image-full(?:@(?P<dpi>[1-9]\d{1,2}))?"), _image_full),
    (re.compile(r"image-pic(?:@(?P<dpi>[1-9]\d{1,2}))?" + _PIC), _image_pic),
    (re.compile(r"qv-pic(?:@(?P<low>[1-9]\d{1,2})-(?P<high>[1-9]\d{1,2}))?" + _PIC), _qv_pic),
]
KNOWN = (
    "text-full, text-pic[@TOKENS][:condition], image-full[@DPI], image-pic[@DPI][:condition], qv-pic[@LOW-HIGH][:condition]; a condition is "
    "template, free or dummy-K; behind it may stand +patch[-chain][-RANK], then +epic-K"
)


def make_arm(name: str, house: House) -> Arm:
    """Raises UnknownArm, listing what there is; the backbone's own error where it cannot do what the arm needs."""
    said, maker = _row(name)
    return maker(name, said, house)


def arms_named(text: str) -> tuple[str, ...]:
    """Comma-separated names, each once, checked before any model is loaded. Raises UnknownArm."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names or ("",):
        _row(name)
    return names


def _row(name: str) -> tuple[re.Match[str], Maker]:
    for pattern, maker in MAKERS:
        if said := pattern.fullmatch(name):
            return said, maker
    raise UnknownArm(f"arm {name!r}: it is one of {KNOWN}")
