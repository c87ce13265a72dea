"""The pages of a conversation's window and the plan for its next question go in; who stays, who goes and who comes is what comes out.

in the window at that DPI or a higher one    stays where it is
in the window at a lower DPI                 gives way to its promoted version
not in the window                            comes, at the right
too many                                     those go that no question has found for the longest time
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cache_compiler.errors import WindowTooSmall
from renderer.types import image_key
from retrieval.types import Pick, Plan


@dataclass(frozen=True)
class Standing:
    """A page in the window: its pick, and the turn whose question found it last."""

    pick: Pick
    found: int


@dataclass(frozen=True)
class Limits:
    """What a window may take: pages, bytes of KV at `row_bytes` a row, and rows (None: no limit but the bytes)."""

    pages: int
    bytes: int
    row_bytes: int
    rows: int | None = None


@dataclass(frozen=True)
class Arrangement:
    """Picks in context order: first those that stay, as they stood, then those that come. Image keys of what goes and what comes."""

    picks: tuple[Pick, ...]
    gone: tuple[str, ...]
    new: tuple[str, ...]


def arrange(standing: Mapping[str, Standing], plan: Plan, limits: Limits) -> Arrangement:
    """`standing` is the window from left to right, by image key. The plan's own pages always come: `limits.pages` is never below them.

    Raises WindowTooSmall when the plan's pages alone are more bytes than a window may have.
    """
    wanted: dict[str, Pick] = {}
    for pick in plan.picks:
        # A page of two chunks is read once, at the higher DPI.
        if pick.page.key not in wanted or wanted[pick.page.key].dpi < pick.dpi:
            wanted[pick.page.key] = pick

    def dpi(item: Standing) -> int:
        """That at which the question wants the page; 0: it does not want it."""
        return wanted[item.pick.page.key].dpi if item.pick.page.key in wanted else 0

    stays = {key: item for key, item in standing.items() if item.pick.dpi >= dpi(item)}

    def arrivals() -> list[Pick]:
        there = {item.pick.page.key for item in stays.values()}
        return [pick for key, pick in wanted.items() if key not in there]

    def over() -> bool:
        picks = [*(item.pick for item in stays.values()), *arrivals()]
        rows = sum(pick.rows for pick in picks)
        too_many = len(picks) > max(limits.pages, len(wanted))
        return too_many or rows * limits.row_bytes > limits.bytes or (limits.rows is not None and rows > limits.rows)

    # Those that the question does not need go first, then those that stand there at a higher DPI than it needs.
    unfound = sorted((key for key in stays if not dpi(stays[key])), key=lambda key: stays[key].found)
    higher = [key for key in stays if 0 < dpi(stays[key]) < stays[key].pick.dpi]
    for key in (*unfound, *higher):
        if not over():
            break
        del stays[key]
    size = sum(pick.rows for pick in wanted.values()) * limits.row_bytes
    if size > limits.bytes:
        raise WindowTooSmall(
            f"the question's {len(wanted)} pages have {size:,} bytes, a conversation may have {limits.bytes:,} (window_bytes): "
            "take fewer pages (top_k), or raise that setting"
        )
    new = {image_key(pick.page.key, pick.dpi): pick for pick in arrivals()}
    return Arrangement(
        (*(_kept(item.pick, wanted.get(item.pick.page.key)) for item in stays.values()), *new.values()),
        tuple(key for key in standing if key not in stays),
        tuple(new),
    )


def _kept(held: Pick, found: Pick | None) -> Pick:
    """A page that stays: as this question found it, at the DPI at which it stands; one that was not found has its last score."""
    if found is None:
        return replace(held, why="kept")
    return found if found.dpi == held.dpi else replace(found, dpi=held.dpi, why="kept")
