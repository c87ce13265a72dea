"""Token ids go in, one after the other; text that can be shown comes out: whole characters only, and nothing that may yet become a stop string.

The pieces, put together, are exactly what the tokenizer makes of all ids at once; and yet a token costs the same at the answer's end as at
its beginning: only a window of the last ids is decoded again. (A tokenizer that blanks a whole run of bytes for one that is wrong may blank
what is out already; those of the models that Quire knows do not.)
"""

from __future__ import annotations

from collections.abc import Sequence

from cache_compiler.backbone import Backbone

# What stands for bytes that are no character, or not one yet.
BROKEN = "\ufffd"
# Tokens that are decoded again: from WINDOW on the window is cut to about KEPT. No character has more than 4 bytes, so 4 tokens.
WINDOW, KEPT = 32, 12


class Writer:
    """The text of one answer."""

    def __init__(self, backbone: Backbone, stop: Sequence[str]) -> None:
        self._tokenizer = backbone.tokenizer
        self._stop = [text for text in stop if text]
        self._ids: list[int] = []
        self._shown = 0  # characters of the window's text that are out; all before the window is

    def take(self, token: int) -> tuple[str, bool]:
        """(new text, whether a stop string was met: text ends before it)."""
        self._ids.append(token)
        text = self._text(self._ids)
        # What could begin a stop string is not out yet, so none begins before `_shown`.
        ends = [at for stop in self._stop if (at := text.find(stop, self._shown)) >= 0]
        if ends:
            return text[self._shown : min(ends)], True
        whole = text.rstrip(BROKEN)  # an incomplete character: wait for its other bytes
        safe = max(self._shown, len(whole) - self._held(whole))
        new, self._shown = text[self._shown : safe], safe
        if len(self._ids) >= WINDOW:
            self._narrow(text)
        return new, False

    def rest(self) -> str:
        """What was held back, at the answer's end."""
        text = self._text(self._ids)
        new, self._shown = text[self._shown :], len(text)
        return new

    def _narrow(self, text: str) -> None:
        """Let go of ids whose text is out, where the two halves decode to the whole.

        Bytes of a character must not be parted: a half that ends in a whole character is followed by one. Some tokenizers besides write
        the first word of a text otherwise than the same word later; then the halves are not the whole, and another cut is tried.
        """
        for cut in range(len(self._ids) - KEPT, len(self._ids)):
            head = self._text(self._ids[:cut])
            if len(head) > self._shown:
                return
            if head and not head.endswith(BROKEN) and head + self._text(self._ids[cut:]) == text:
                self._ids, self._shown = self._ids[cut:], self._shown - len(head)
                return

    def _text(self, ids: Sequence[int]) -> str:
        # No cleaning up of spaces: it would change what is out already, and an answer is what the model said.
        text: str = self._tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return text

    def _held(self, text: str) -> int:
        """How many of the last characters could be the beginning of a stop string."""
        return max(
            (size for stop in self._stop for size in range(min(len(stop) - 1, len(text)), 0, -1) if text.endswith(stop[:size])), default=0
        )
