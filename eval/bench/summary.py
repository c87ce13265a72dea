"""Requests go in; a row a way comes out: percentiles of the whole and of its parts, and the ratios of page caches to full prefill."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .client import Heard
from .clock import percentiles
from .permutator import WAYS as ORDERED_WAYS
from .permutator import Permuted
from .served import PARTS, WAYS, Request

Row = dict[str, Any]


def by_way(requests: Sequence[Request]) -> list[Row]:
    """A row a way, in the order of `served.WAYS`."""
    rows = []
    for way in WAYS:
        found = [request for request in requests if request.way == way]
        if not found:
            continue
        rows.append(
            {
                "way": way,
                "first_token": percentiles([request.first_token for request in found]),
                "context_and_question": percentiles([request.context_and_question for request in found]),
                "parts": {
                    part: percentiles([request.parts[part] for request in found]) for part in PARTS if all(part in r.parts for r in found)
                },
                "rows": [min(request.rows for request in found), max(request.rows for request in found)],
                "question_tokens": [min(request.question_tokens for request in found), max(request.question_tokens for request in found)],
                "bytes_read": sum(request.bytes_read for request in found) / len(found),
            }
        )
    return rows


def ratios(requests: Sequence[Request]) -> list[Row]:
    """Page caches over full prefill, of the same question in the same round. Empty where full prefill was not run."""
    full = {request.number: request for request in requests if request.way == "full"}
    rows = []
    for way in WAYS:
        pairs = [(request, full[request.number]) for request in requests if request.way == way and way != "full" and request.number in full]
        if pairs:
            rows.append(
                {
                    "way": way,
                    "first_token": percentiles([one.first_token / other.first_token for one, other in pairs]),
                    "context_and_question": percentiles([one.context_and_question / other.context_and_question for one, other in pairs]),
                }
            )
    return rows


def heard(found: Sequence[Heard], requests: Sequence[Request]) -> Row:
    """What clients waited, what of it was the engine's, and both medians over full prefill's in the same run (which has no HTTP in it)."""
    spoken = [one for one in found if one.client is not None]
    clients = percentiles([one.client for one in spoken if one.client is not None])
    full = [request.first_token for request in requests if request.way == "full"]
    return {
        "client": clients,
        "engine": percentiles([one.engine for one in spoken]),
        "overhead": percentiles([one.overhead for one in spoken if one.overhead is not None]),
        "without_text": len(found) - len(spoken),
        "ratio_of_medians": clients["p50"] / percentiles(full)["p50"] if full else None,
    }


def permuted(found: Permuted) -> Row:
    """A row a way: seconds, rows prefilled in all, the share of page rows that a prefix cache served; and when compiling has paid."""
    rows = []
    seconds = {way: [one.seconds for one in found.asked if one.way == way] for way in ORDERED_WAYS}
    for way in ORDERED_WAYS:
        own = [one for one in found.asked if one.way == way]
        rows.append(
            {
                "way": way,
                "seconds": percentiles(seconds[way]),
                "prefilled": sum(one.prefilled for one in own),
                "rows": sum(one.rows for one in own),
                "served": 1 - sum(one.prefilled for one in own) / sum(one.rows for one in own),
                "ratio_to_full": percentiles([one / other for one, other in zip(seconds[way], seconds["full"], strict=True)]),
            }
        )
    saved = {way: (sum(seconds[way]) - sum(seconds["caches"])) / len(seconds[way]) for way in ("full", "prefix")}
    return {
        "ways": rows,
        "pages": found.pages,
        "orders": len(seconds["full"]),
        "compile_seconds": found.compile_seconds,
        "repaid_after": {way: found.compile_seconds / gain if gain > 0 else None for way, gain in saved.items()},
    }
