"""A backbone and three encoded pages go in; how far its page caches stand from its own forward comes out: the exact oracles, with controls.

    alone       one page behind the prefix               = full prefill of that page
    served      pages compiled where they are served     = one forward in which pages see the prefix and themselves
    free        pages compiled bare at 0, re-anchored    = one forward in which pages see themselves alone
    anchored    canonicals, re-anchored (QV-PIC, eq. 2)  = one forward at compile positions whose question sees their keys rotated on
    patched     canonicals with patches of full rank     = the causal forward (Kamera, eq. 1)

A distance is the largest difference of the question's logits as a share of their spread (standard deviation). Each oracle has a control,
the same comparison with one thing wrong on purpose: a model that does not notice it has proved nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from . import form
from .assemble import assemble
from .backbone import Backbone
from .condition import condition
from .judge import Request, native, request, rotated_on
from .patch import Patch
from .prefill import prefill_encoded
from .prefix import Prefix, compile_prefix
from .probe import probe
from .types import Assembly, Canonical, Encoded

QUESTION = "Who is the owner of Brobo tower?"
# fp32: what other matrix shapes and one more rotation leave is 1e-6 to 1e-5 of the spread in every family.
EXACT = 1e-4
# Of a model in fewer bits, in units of its own rounding. Measured over random models of every family and the embedded reader, in bfloat16
# and float16: sound page caches stay within 1.5 of it, experts that are chosen by a hair included.
ROUNDINGS = 2.0


@dataclass(frozen=True)
class Reading:
    """`distance` from the judge, and the `control`'s, both as shares of the logits' spread."""

    distance: float
    control: float

    def passes(self, bound: float) -> bool:
        return self.distance <= bound

    def blunt(self, bound: float) -> bool:
        """Whether what is wrong on purpose would have passed too."""
        return self.control <= bound


Oracle = Callable[[Backbone, Sequence[Encoded]], Reading]


def alone(backbone: Backbone, pages: Sequence[Encoded]) -> Reading:
    """The page that is furthest off. Control: the question one position further on."""
    prefix, question = _native_prefix(backbone), backbone.question_ids(QUESTION)
    found = []
    for page in pages:
        own = assemble(backbone, prefix, condition(backbone, prefix, [page]))
        judge = probe(backbone, prefill_encoded(backbone, [page]), question, len(question))
        moved = Assembly(own.cache, own.segments, own.length, own.next_position + 1)
        readings = [distance(probe(backbone, context, question, len(question)), judge) for context in (own, moved)]
        found.append(Reading(*readings))
    return Reading(max(one.distance for one in found), min(one.control for one in found))


def served(backbone: Backbone, pages: Sequence[Encoded]) -> Reading:
    """Control: the causal forward, in which pages see each other."""
    prefix, whole = _native_prefix(backbone), request(backbone, pages, backbone.question_ids(QUESTION))
    own = [compiled_at(backbone, prefix, page, anchor.start) for page, anchor in zip(pages, whole.anchors, strict=True)]
    found = _asked(backbone, whole, assemble(backbone, prefix, own))
    return Reading(distance(found, native(backbone, whole, "own")), distance(found, native(backbone, whole)))


def free(backbone: Backbone, pages: Sequence[Encoded]) -> Reading:
    """Control: the question one position further on."""
    whole, bare = request(backbone, pages, backbone.question_ids(QUESTION)), compile_prefix(backbone, ())
    own = [condition(backbone, bare, [page])[0] for page in pages]
    found = _asked(backbone, whole, assemble(backbone, _native_prefix(backbone), own))
    moved = whole.positions(backbone.axes).clone()
    moved[:, -whole.asked :] += 1
    return Reading(distance(found, native(backbone, whole, "itself")), distance(found, native(backbone, whole, "itself", moved)))


def anchored(backbone: Backbone, pages: Sequence[Encoded]) -> Reading:
    """The real thing, in two orders: the further one. Control: the question sees the keys where they were compiled."""
    prefix = _native_prefix(backbone)
    canonicals = {page.key: condition(backbone, prefix, [page])[0] for page in pages}
    readings = []
    for order in (list(pages), [pages[-1], *pages[:-1]]):
        whole = request(backbone, order, backbone.question_ids(QUESTION))
        found = _asked(backbone, whole, assemble(backbone, prefix, [canonicals[page.key] for page in order]))
        readings.append(
            [distance(found, _rotated(backbone, whole, shifts)) for shifts in (whole.shifts(), torch.zeros_like(whole.shifts()))]
        )
    return Reading(max(one[0] for one in readings), min(one[1] for one in readings))


def patched(backbone: Backbone, pages: Sequence[Encoded]) -> Reading:
    """Control: blind reuse, the same pages without their patches."""
    prefix, whole = _native_prefix(backbone), request(backbone, pages, backbone.question_ids(QUESTION))
    canonicals = [condition(backbone, prefix, [page])[0] for page in pages]
    patches: list[Patch | None] = [None]
    for at in range(1, len(pages)):
        delta = form.exact_deficit(backbone, prefix, pages[:at], pages[at], canonicals[at])
        patches.append(form.cut(delta, [page.key for page in pages[:at]], canonicals[at], None))
    judge = native(backbone, whole)
    found, blind = (_asked(backbone, whole, assemble(backbone, prefix, canonicals, patches=given)) for given in (patches, None))
    return Reading(distance(found, judge), distance(blind, judge))


ORACLES: Mapping[str, Oracle] = {"alone": alone, "served": served, "free": free, "anchored": anchored, "patched": patched}


def bound(backbone: Backbone, pages: Sequence[Encoded]) -> float:
    """The distance up to which an oracle passes: `EXACT` in fp32; in fewer bits by the model's own `rounding`, for no fixed number fits
    bfloat16 over any depth."""
    return EXACT if backbone.dtype == torch.float32 else max(EXACT, ROUNDINGS * rounding(backbone, pages))


def rounding(backbone: Backbone, pages: Sequence[Encoded]) -> float:
    """What the model's own arithmetic leaves between forwards that are the same by its mathematics, as a share of the spread.

    One forward over a request; the same with every position moved on by as many as the request has (rotary positions are relative); and
    the same in two forwards, pages and then question. Of each page alone and of all together, the largest. No page cache takes part.
    """
    found = []
    for some in (*([page] for page in pages), pages):
        whole = request(backbone, some, backbone.question_ids(QUESTION))
        judge, where = native(backbone, whole), whole.positions(backbone.axes)
        moved = native(backbone, whole, positions=where + min(whole.start, backbone.max_positions - 1 - int(where.max())))
        parted = _asked(backbone, whole, prefill_encoded(backbone, some))
        found += [distance(moved, judge), distance(parted, judge)]
    return max(found)


def compiled_at(backbone: Backbone, prefix: Prefix, page: Encoded, start: int) -> Canonical:
    """A page compiled at a place of our choosing: it sees the prefix, and nothing else, from there."""
    anchor = page.at(start)
    cache = backbone.empty_cache(prefix.length + page.length)
    rotary, plain = cache.reserve(prefix.length)
    rotary[:, 0], plain[:, 0] = prefix.rotary, prefix.plain
    with backbone.capture() as taken:
        backbone.forward_encoded([page], anchor.positions(backbone.axes)[:, None], cache, keep=0)
    own = cache.plain_slab[:, 0, :, prefix.length :].clone()
    return Canonical(page.key, torch.stack([keys[0] for keys in taken]), own, page.rows, page.columns)


def distance(found: Tensor, judge: Tensor) -> float:
    """The largest difference of logits, as a share of the judge's spread."""
    judge = judge.float().to(found.device)
    return float((found.float() - judge).abs().max() / judge.std())


def _native_prefix(backbone: Backbone) -> Prefix:
    return compile_prefix(backbone, backbone.template.prefix)


def _asked(backbone: Backbone, whole: Request, context: Assembly) -> Tensor:
    return probe(backbone, context, whole.parts[-1].ids, whole.asked)


def _rotated(backbone: Backbone, whole: Request, shifts: Tensor) -> Tensor:
    with rotated_on(backbone, shifts, whole.asked):
        return native(backbone, whole, "own", whole.positions(backbone.axes, compiled=True))
