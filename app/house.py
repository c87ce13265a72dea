"""Settings go in; an open `House` comes out: the workshop, and what answering needs besides: the retriever, the
lane, the job queue, the conversations."""

from __future__ import annotations

import contextlib
from typing import TypeVar

from cache_compiler.backbone import Backbone
from cache_compiler.load import load_backbone
from cache_compiler.prefix import Prefix
from cache_compiler.store import CacheStore
from cache_compiler.verdict import Verdict
from ingest.home import Home
from ingest.jobs import JobQueue
from ingest.keeper import Keeper
from ingest.opening import open_workshop
from ingest.together import PatchWorker
from ingest.workshop import Workshop
from retrieval.catalogue import Catalogue
from retrieval.embedder import load_embedder
from retrieval.retriever import Retriever
from retrieval.types import Budget

from .conversations import Conversations
from .errors import ShuttingDown
from .gate import admitted
from .holdings import Holdings
from .lane import Lane
from .settings import Settings
from .spared import Spared
from .types import Question, Sampling
from .watch import Watch

T = TypeVar("T")
# Seconds that a deletion waits for the model, to let go of what conversations hold: with a large one an answer takes minutes.
PATIENCE = 1.0


class House:
    """Everything that an ask or an upload needs, loaded once. It never speaks HTTP: the evaluation runs the very same."""

    def __init__(self, settings: Settings, workshop: Workshop, verdict: Verdict | None = None) -> None:
        self.settings, self.workshop, self.verdict = settings, workshop, verdict
        self.retriever = Retriever(workshop.catalogue, workshop.home.index_folder, workshop.embedder, settings.search)
        self.watch = Watch()
        self.lane = Lane(settings.queue)
        self.jobs = JobQueue(workshop, settings.upload_queue, self.watch.progress)
        self.holdings = Holdings(workshop)
        self.spared = Spared(workshop, self.lane)
        self.conversations = Conversations(self)
        # A server starts it; a command that lives for one question does what is left when it closes.
        self.keeper = Keeper(workshop, lambda: self.forget_deleted() is not None, self.watch.evicted)
        # People come first: a patch is formed when nobody waits for the model.
        self.patch_worker = PatchWorker(workshop, self.lane.spare)
        self.patch_worker.start()

    @classmethod
    def open(cls, settings: Settings, gated: bool = True) -> House:
        """Load the model and the embedder, open the home, and ask for the model's verdict.

        `gated` False: nothing will be compiled and nothing answered (a deletion), so none is asked for.
        Raises the rooms' errors: no model, a failed self-check, a model that nobody has examined, a newer catalogue, ...
        """
        workshop = open_workshop(
            Home(settings.home),
            load_backbone(settings.model, dtype=settings.dtype),
            load_embedder(settings.embedder),
            style=settings.style,
            dpis=(settings.low, settings.high) if settings.low != settings.high else (settings.low,),
            batch=settings.batch,
            ram_bytes=settings.ram_bytes,
            limits=settings.limits(),
            policy=settings.policy(),
            pdf_engine=settings.pdf_engine,
            ocr=settings.ocr,
            disk_bytes=settings.disk_bytes,
        )
        try:
            return cls(settings, workshop, admitted(settings, workshop.identity, workshop.store.folder) if gated else None)
        except Exception:
            workshop.close()
            raise

    @property
    def backbone(self) -> Backbone:
        return self.workshop.backbone

    @property
    def store(self) -> CacheStore:
        return self.workshop.store

    @property
    def catalogue(self) -> Catalogue:
        return self.workshop.catalogue

    @property
    def prefix(self) -> Prefix:
        return self.workshop.prefix

    def question(
        self,
        text: str,
        collection: str = "default",
        top_k: int | None = None,
        alpha: float | None = None,
        cap: int | None = None,
        max_tokens: int | None = None,
        temperature: float = 0.0,
        top_p: float = 1.0,
        seed: int | None = None,
        stop: tuple[str, ...] = (),
        conversation: str | None = None,
    ) -> Question:
        """A question with what was not said filled in: from the settings, and where they are silent from the model's card."""
        settings, card = self.settings, self.backbone.card
        budget = Budget(
            top_k=_first(top_k, settings.top_k, card.top_k),
            alpha=_first(alpha, settings.alpha),
            cap=_first(cap, settings.cap),
            low=min(self.workshop.dpis),
            high=max(self.workshop.dpis),
            # Rows bound positions from above, so a plan within them always fits the model.
            max_rows=self.backbone.max_positions // 2,
        )
        sampling = Sampling(_first(max_tokens, settings.max_tokens, card.max_tokens), temperature, top_p, seed, stop)
        return Question(text, collection, budget, sampling, conversation)

    def forget_deleted(self, patience: float = PATIENCE) -> int | None:
        """Let what is in memory go of documents that were deleted: indexes, and idle conversations; returns how many of these had something
        of them, or None where the model was not to be had within `patience` seconds. Conversations are then left to the keeper, who tries
        again, and to each one's next turn, which looks before it answers; where the house is being closed, to its end: a deletion that is
        done must not be told as an error."""
        self.retriever.forget_changed()
        if not len(self.conversations):
            return 0  # nothing to let go of: no reason to stand in line
        with contextlib.suppress(ShuttingDown), self.lane.turn(patience=patience) as ours:
            return self.conversations.purge() if ours else None
        return None

    def close(self) -> None:
        """Stop the background work and close the catalogue; a job in hand goes on when the next process starts."""
        self.lane.close()
        self.spared.close()
        self.jobs.stop()
        self.patch_worker.close()
        self.keeper.close()
        self.conversations.close()
        self.workshop.close()


def _first(*values: T | None) -> T:
    """The first value that was given."""
    return next(value for value in values if value is not None)
