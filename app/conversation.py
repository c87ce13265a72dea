"""A turn of a conversation: a plan goes in; the window comes out with its pages in it, those of earlier questions where they stood.

Before every turn the window is held against the catalogue: of a document that was deleted meanwhile nothing stays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cache_compiler.patch import Patch
from cache_compiler.placed import row_bytes
from cache_compiler.step import Step
from cache_compiler.types import Assembly, Canonical
from cache_compiler.window import Window
from retrieval.errors import UnknownDocument
from retrieval.types import Chunk, Plan

from .context import keys_of, told
from .fetch import Fetch
from .patched import Chosen, patch_of, use_of
from .stock import Stock
from .turns import Arrangement, Limits, Standing, arrange
from .types import Provenance, Tier, Turn


@dataclass(frozen=True)
class Told:
    """An earlier question with its answer, and every page that the answer may have something of."""

    question: str
    answer: str
    pages: frozenset[str]


class Conversation:
    """A window over one collection, the questions and answers so far, and who found which page. Used inside a turn at the lane."""

    def __init__(self, house: Stock, name: str, collection: str) -> None:
        self.house, self.name, self.collection = house, name, collection
        self.turns = 0
        self.standing: dict[str, Standing] = {}
        self.told: list[Told] = []
        self.fetch = Fetch(house)
        self.choices: dict[tuple[str, tuple[str, ...]], Chosen] = {}
        self.window = Window(house.backbone, house.prefix, int(house.settings.window_bytes), self._choose, self._canonical)
        self._seen = -1  # the collection's generation when the window was last held against it

    def _choose(self, key: str, before: tuple[str, ...]) -> Patch | None:
        if (key, before) not in self.choices:
            self.choices[key, before] = patch_of(self.house, key, before)
        return self.choices[key, before].patch

    def _canonical(self, key: str) -> Canonical:
        return self.fetch.found[key].canonical

    @property
    def turns_told(self) -> int:
        """How many earlier turns the model takes with a question."""
        backbone = self.house.backbone
        return backbone.card.turns if backbone.template.turn is not None else 0

    def purge(self) -> bool:
        """Leave nothing of documents that were deleted since the last turn: pages, what others absorbed from them, answers read from them.
        Returns whether there was something of them."""
        catalogue = self.house.catalogue
        generation = catalogue.generation(self.collection)
        if generation == self._seen:
            return False
        images = (*self.window.keys, *self.window.evicted)
        owners = {page: self._owner(page) for page in {*map(_page, images), *(page for turn in self.told for page in turn.pages)}}
        gone = {page for page, owner in owners.items() if owner is None}
        if gone:
            self.window.forget(*(key for key in images if _page(key) in gone))
            self.choices = {}  # what was chosen for it may know a page that goes next
            self.told = [turn for turn in self.told if turn.pages.isdisjoint(gone)]
        self.standing = {key: self._renewed(item, owners[_page(key)]) for key, item in self.standing.items() if _page(key) not in gone}
        self._seen = generation
        return bool(gone)

    def _owner(self, page: str) -> Chunk | None:
        """A chunk of this collection that stands on the page; None when there is none any more."""
        catalogue = self.house.catalogue
        for chunk in catalogue.chunks(catalogue.chunk_ids_of_page(page)):
            try:
                if catalogue.document(chunk.document).collection == self.collection:
                    return chunk
            except UnknownDocument:
                continue  # deleted between the two looks
        return None

    def _renewed(self, item: Standing, owner: Chunk | None) -> Standing:
        """The page's pick, cited from a document that is there: its own may be gone while another one has the page too."""
        if owner is None or self.house.catalogue.chunks([item.pick.chunk.id]) == [item.pick.chunk]:
            return item
        return replace(item, pick=replace(item.pick, chunk=owner))


class TurnContext:
    """One turn of a conversation, as the walk takes its steps."""

    def __init__(self, conversation: Conversation, top_k: int, max_rows: int | None) -> None:
        self._talk = conversation
        settings = conversation.house.settings
        conversation.purge()
        self._limits = Limits(
            settings.window_pages or 2 * top_k, int(settings.window_bytes), row_bytes(conversation.house.backbone), max_rows
        )
        last = conversation.turns_told
        self._told = conversation.told[-last:] if last else []
        self.history = tuple((turn.question, turn.answer) for turn in self._told)
        self._plan, self._arrangement = Plan((), ()), Arrangement((), (), ())
        self._keys: tuple[str, ...] = ()
        self._found: set[str] = set()
        self._recalled: frozenset[str] = frozenset()
        self._steps: list[Step] = []

    def settle(self, plan: Plan) -> Plan:
        self._arrangement = arrange(self._talk.standing, plan, self._limits)
        self._found = {pick.page.key for pick in plan.picks}
        self._plan = replace(plan, picks=self._arrangement.picks)
        self._keys = keys_of(self._plan)
        return self._plan

    def fetch(self) -> tuple[str, ...]:
        return self._talk.fetch.look(self._arrangement.new)

    def load(self) -> None:
        talk, new = self._talk, self._arrangement.new
        talk.fetch.compile()
        talk.choices = {}
        for key in new:
            before = self._keys[: self._keys.index(key)]
            talk.choices[key, before] = patch_of(talk.house, key, before)

    def place(self, room: int) -> Assembly:
        talk, window = self._talk, self._talk.window
        talk.turns += 1
        before = talk.standing
        after = {
            key: Standing(pick, talk.turns if pick.page.key in self._found else before[key].found)
            for key, pick in zip(self._keys, self._plan.picks, strict=True)
        }
        try:
            if self._arrangement.gone:
                self._steps.append(window.evict(*self._arrangement.gone))
            self._recalled = frozenset(window.evicted) & frozenset(self._arrangement.new)
            for key in self._arrangement.new:
                self._steps.append(window.recall(key) if key in self._recalled else window.admit(talk.fetch.found[key].canonical))
        finally:
            # Wherever it stopped, the picks are those of the pages that stand there.
            talk.standing = {key: (before | after)[key] for key in window.keys}
        return window.assembly(room)

    def provenance(self) -> tuple[Provenance, ...]:
        talk, window = self._talk, self._talk.window
        pages = []
        for number, (pick, key, segment, patch) in enumerate(
            zip(self._plan.picks, self._keys, window.segments, window.patches, strict=True)
        ):
            item, before = talk.fetch.found.get(key), self._keys[:number]
            chosen = talk.choices.get((key, before), Chosen())
            tier: Tier = chosen.choice.tier if chosen.choice is not None and chosen.patch is patch else "window"
            pages.append(
                Provenance(
                    page=pick.page.key,
                    dpi=pick.dpi,
                    tier=item.tier if item else "window",
                    bytes_read=item.bytes_read if item else 0,
                    first=segment.first,
                    last=segment.last,
                    position=segment.anchor.start,
                    patch=use_of(patch, before, tier),
                    note=told(item.note if item else "", chosen.note),
                )
            )
        return tuple(pages)

    def done(self, question: str, answer: str) -> None:
        # What it was told counts as read: an answer may hand on what an earlier one said.
        pages = frozenset(map(_page, self._keys)).union(*(turn.pages for turn in self._told))
        last = self._talk.turns_told
        self._talk.told = [*self._talk.told, Told(question, answer, pages)][-last:] if last else []

    def close(self) -> None:
        """The pages stand in the window; what they were placed from is let go."""
        talk = self._talk
        talk.fetch.close()
        talk.fetch, talk.choices = Fetch(talk.house), {}

    @property
    def turn(self) -> Turn:
        new = len(self._arrangement.new)
        return Turn(
            id=self._talk.name,
            turn=self._talk.turns,
            kept=len(self._keys) - new,
            admitted=new - len(self._recalled),
            evicted=len(self._arrangement.gone),
            recalled=len(self._recalled),
            moved_rows=sum(step.rows for step in self._steps),
            told=len(self.history),
        )


def _page(key: str) -> str:
    """<page>@<dpi> -> <page>."""
    return key.partition("@")[0]
