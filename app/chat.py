"""Lines go in, from a person or a pipe; each is asked in one conversation and its answer comes out as it is decoded.

/pages    what stands in the window      /forget    begin anew      /quit, Ctrl-D    leave      Ctrl-C    stop the answer
"""

from __future__ import annotations

import argparse
import io
import secrets
import sys
from collections.abc import Iterator
from contextlib import closing, suppress

from . import printed
from .ask import answer
from .errors import BadRequest, UnknownConversation
from .house import House
from .interrupt import answered, stop_asked
from .options import settings_of
from .types import Answer, Done, Failed, Token
from .words import collection_name, question_text

COMMANDS = "/pages shows what stands in the window, /forget begins anew, /quit leaves; Ctrl-C stops an answer"
SOME_FAILED = 1


def chat(args: argparse.Namespace) -> int:
    """Ask on until the lines end. 0, or from a pipe 1 when a question failed: a script should hear of it."""
    collection = collection_name(args.collection)
    if sys.stdin is None:
        raise BadRequest("chat reads its questions from the standard input, which is closed", {"stdin": "closed"})
    house = House.open(settings_of(args))
    try:
        house.workshop.collection(collection)
        if sys.stdin.isatty():
            print(f"{printed.plain(house.backbone.card.says)}\n{COMMANDS}.", file=sys.stderr)
        failed = Chat(house, collection, args.show_pages).run(_lines())
    finally:
        house.close()
    return SOME_FAILED if failed and not sys.stdin.isatty() else 0


class Chat:
    """One conversation at a terminal."""

    def __init__(self, house: House, collection: str, show_pages: bool) -> None:
        self.house, self.collection, self.show_pages = house, collection, show_pages
        self.name = secrets.token_urlsafe(16)
        self.last: Answer | None = None

    def run(self, lines: Iterator[str]) -> int:
        """Answer every line; returns how many could not be answered."""
        failed = 0
        for line in lines:
            match line.strip():
                case "":
                    continue
                case "/quit":
                    break
                case "/forget":
                    self.forget()
                case "/pages":
                    print(printed.pages(self.last) if self.last else "No page stands in the window yet.")
                case word if word.startswith("/"):
                    print(f"quire: {printed.plain(word)} is no command; {COMMANDS}", file=sys.stderr)
                    failed += 1
                case text:
                    try:
                        failed += not self.ask(question_text(text))
                    except BadRequest as error:
                        print(f"quire: {error}", file=sys.stderr)
                        failed += 1
            sys.stdout.flush()
        return failed

    def ask(self, text: str) -> bool:
        """One question; whether there was an answer."""
        with stop_asked() as cancel:
            question = self.house.question(text, self.collection, conversation=self.name)
            with closing(answer(question, self.house, cancel)) as walk:  # type: ignore[type-var]
                for event in walk:
                    if isinstance(event, Failed):
                        print(f"quire: {event.message}", file=sys.stderr)
                        return False
                    if isinstance(event, Token):
                        print(printed.plain(event.text), end="", flush=True)
                    if isinstance(event, Done):
                        self._finish(event.answer)
        return True

    def forget(self) -> None:
        """Begin anew, under another id."""
        with suppress(UnknownConversation):  # nothing was asked yet
            self.house.conversations.drop(self.name)
        self.name, self.last = secrets.token_urlsafe(16), None
        print("Forgotten: the next question begins anew.")

    def _finish(self, told: Answer) -> None:
        self.last = told
        print(" [stopped]" if told.finish == "cancelled" else "")
        if self.show_pages:
            print(f"\n{printed.sources(told, show_lines=True)}\n")
        if told.finish != "cancelled" and (doubt := printed.doubt(told, "read")):
            print(doubt)


def _lines() -> Iterator[str]:
    """Lines of a pipe as they come; at a terminal, with a prompt and the keys of readline, where Ctrl-C takes the line back."""
    if not sys.stdin.isatty():
        if isinstance(sys.stdin, io.TextIOWrapper):
            # A line that is no text is refused as a question; it must not end the others.
            sys.stdin.reconfigure(errors="surrogateescape")
        yield from sys.stdin
        return
    with suppress(ImportError):  # input() works without it too, but has no memory of earlier lines
        import readline  # noqa: F401
    while True:
        try:
            yield input("› ")
        except KeyboardInterrupt:
            answered()
            print()
        except EOFError:
            print()
            return
