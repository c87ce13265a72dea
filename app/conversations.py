"""Questions go in; each comes out with its context: that of its conversation, which keeps a window of pages, or one of its own."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import closing, contextmanager

from .context import Context, Fresh
from .conversation import Conversation, TurnContext
from .errors import BadConversation, UnknownConversation
from .stock import Stock
from .types import Question

ID = re.compile(r"[A-Za-z0-9_-]{8,64}")


class Conversations:
    """The conversations that are kept, by id; the least recently used one goes when there would be too many."""

    def __init__(self, house: Stock) -> None:
        self._house = house
        self._kept: OrderedDict[str, Conversation] = OrderedDict()
        self._current: Conversation | None = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def require(self, name: str, collection: str) -> None:
        """Raises BadConversation for an id that is none, and for a conversation over another collection."""
        if not ID.fullmatch(name):
            raise BadConversation("a conversation's id is 8 to 64 letters, digits, - and _: choose one that nobody guesses")
        found = self._kept.get(name)
        if found is not None and found.collection != collection:
            raise BadConversation(
                f"this conversation is over collection {found.collection!r}, not {collection!r}: begin another one, with an id of its own"
            )

    @contextmanager
    def turn(self, question: Question) -> Iterator[Context]:
        """The context of a question: of its conversation, which is begun if it is not there, or of its own. Held inside the lane."""
        if question.conversation is None:
            with closing(Fresh(self._house)) as alone:
                yield alone
            return
        with self._lock:
            self.require(question.conversation, question.collection)
            talk = self._kept.pop(question.conversation, None) or Conversation(self._house, question.conversation, question.collection)
            self._kept[question.conversation] = self._current = talk
            while len(self._kept) > self._house.settings.conversations:
                self._kept.popitem(last=False)[1].window.close()
        try:
            with closing(TurnContext(talk, question.budget.top_k, question.budget.max_rows)) as context:
                yield context
        finally:
            with self._lock:
                self._current = None
                if self._kept.get(talk.name) is not talk:
                    talk.window.close()  # dropped while it was answered

    def purge(self) -> int:
        """Leave nothing of documents that were deleted in any conversation, idle ones too; returns how many had something of them. Called
        inside the lane: no turn is under way; and under the lock: nobody drops one meanwhile."""
        with self._lock:
            return sum(talk.purge() for talk in self._kept.values())

    def drop(self, name: str) -> None:
        """Forget a conversation: its pages, questions and answers. Raises UnknownConversation."""
        with self._lock:
            found = self._kept.pop(name, None)
            if found is None:
                raise UnknownConversation("no conversation of that id: never begun, dropped, or the least recently used of too many")
            if found is not self._current:
                found.window.close()

    def close(self) -> None:
        """Forget all of them."""
        for name in list(self._kept):
            self.drop(name)
