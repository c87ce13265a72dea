"""A plan goes in; the pages that it names come out placed, with where each came from: for one answer (here), or for a turn of a
conversation (`conversations.py`), which has the same four steps."""

from __future__ import annotations

from typing import Protocol

from cache_compiler.assemble import assemble
from cache_compiler.choice import Choice
from cache_compiler.types import Assembly, Fetched
from renderer.types import image_key
from retrieval.types import Plan

from .patched import patch_of, use_of
from .stock import Stock
from .types import Provenance, Turn


class Context(Protocol):
    """What the walk asks of its pages, in this order."""

    history: tuple[tuple[str, str], ...]

    def settle(self, plan: Plan) -> Plan:
        """The pages that will be read, in context order: those of the plan, and in a conversation those that stay."""

    def load(self) -> None:
        """Fetch caches and patches."""

    def place(self, room: int) -> Assembly:
        """Link the pages, with `room` rows to spare."""

    def provenance(self) -> tuple[Provenance, ...]:
        """Where each page and its patch came from, in context order."""

    def done(self, question: str, answer: str) -> None:
        """The answer is whole: a conversation remembers it."""

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
        self._fetched: list[Fetched] = []
        self._choices: list[Choice | None] = []
        self._assembly: Assembly | None = None

    def settle(self, plan: Plan) -> Plan:
        self._plan, self._keys = plan, keys_of(plan)
        return plan

    def load(self) -> None:
        self._fetched = [self._house.store.get(key) for key in self._keys]
        self._choices = [patch_of(self._house, key, self._keys[:number]) for number, key in enumerate(self._keys)]

    def place(self, room: int) -> Assembly:
        pages = [item.canonical for item in self._fetched]
        patches = [choice.patch if choice else None for choice in self._choices]
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
                patch=use_of(choice.patch, self._keys[:number], choice.tier) if choice else None,
            )
            for number, (pick, item, choice, segment) in enumerate(
                zip(self._plan.picks, self._fetched, self._choices, self._assembly.segments, strict=True)
            )
        )

    def done(self, question: str, answer: str) -> None:
        pass


def keys_of(plan: Plan) -> tuple[str, ...]:
    """Image keys of a plan's pages, in context order."""
    return tuple(image_key(pick.page.key, pick.dpi) for pick in plan.picks)
