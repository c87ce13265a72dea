"""A plan goes in; the pages that it names come out placed, with where each came from: for one answer (here), or for a turn of a
conversation (`conversations.py`), which has the same four steps."""

from __future__ import annotations

from typing import Protocol

from cache_compiler.assemble import assemble
from cache_compiler.types import Assembly
from renderer.types import image_key
from retrieval.types import Plan

from .fetch import Fetch
from .patched import Chosen, patch_of, use_of
from .stock import Stock
from .types import Provenance, Turn


class Context(Protocol):
    """What the walk asks of its pages, in this order."""

    history: tuple[tuple[str, str], ...]

    def settle(self, plan: Plan) -> Plan:
        """The pages that will be read, in context order: those of the plan, and in a conversation those that stay."""

    def fetch(self) -> tuple[str, ...]:
        """Fetch the caches that are there; the image keys of those that must be compiled."""

    def load(self) -> None:
        """Compile what was not there, and choose patches."""

    def place(self, room: int) -> Assembly:
        """Link the pages, with `room` rows to spare."""

    def provenance(self) -> tuple[Provenance, ...]:
        """Where each page and its patch came from, in context order."""

    def done(self, question: str, answer: str) -> None:
        """The answer is whole: a conversation remembers it."""

    def close(self) -> None:
        """It is over, one way or another: its pages are let go."""

    @property
    def turn(self) -> Turn | None:
        """What it cost a conversation; None outside of one."""


class Fresh:
    """The pages of one answer, which nothing follows."""

    history: tuple[tuple[str, str], ...] = ()
    turn: Turn | None = None

    def __init__(self, house: Stock) -> None:
        self._house = house
        self._plan = Plan((), ())
        self._keys: tuple[str, ...] = ()
        self._fetch = Fetch(house)
        self._chosen: list[Chosen] = []
        self._assembly: Assembly | None = None

    def settle(self, plan: Plan) -> Plan:
        self._plan, self._keys = plan, keys_of(plan)
        return plan

    def fetch(self) -> tuple[str, ...]:
        return self._fetch.look(self._keys)

    def load(self) -> None:
        self._fetch.compile()
        self._chosen = [patch_of(self._house, key, self._keys[:number]) for number, key in enumerate(self._keys)]

    def place(self, room: int) -> Assembly:
        pages = [self._fetch.found[key].canonical for key in self._keys]
        patches = [chosen.patch for chosen in self._chosen]
        self._assembly = assemble(self._house.backbone, self._house.prefix, pages, room, patches=patches)
        return self._assembly

    def provenance(self) -> tuple[Provenance, ...]:
        assert self._assembly is not None
        return tuple(
            Provenance(
                page=pick.page.key,
                dpi=pick.dpi,
                tier=item.tier,
                bytes_read=item.bytes_read,
                first=segment.first,
                last=segment.last,
                position=segment.anchor.start,
                patch=use_of(chosen.patch, self._keys[:number], chosen.choice.tier) if chosen.choice else None,
                note=told(item.note, chosen.note),
            )
            for number, (pick, item, chosen, segment) in enumerate(
                zip(self._plan.picks, map(self._fetch.found.__getitem__, self._keys), self._chosen, self._assembly.segments, strict=True)
            )
        )

    def done(self, question: str, answer: str) -> None:
        pass

    def close(self) -> None:
        self._fetch.close()


def keys_of(plan: Plan) -> tuple[str, ...]:
    """Image keys of a plan's pages, in context order."""
    return tuple(image_key(pick.page.key, pick.dpi) for pick in plan.picks)


def told(*notes: str) -> str:
    """What there is to say, as one sentence."""
    return "; ".join(note for note in notes if note)
