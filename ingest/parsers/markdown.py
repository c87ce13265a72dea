"""Markdown goes in; the text as it reads comes out: headings, paragraphs, items with their bullets, table rows as "a | b", code as it stands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ingest.encoding import decode
from ingest.types import Limits

from .parsed import Draft, Kind, Parsed, visible

if TYPE_CHECKING:
    from markdown_it.token import Token

# Quotes and lists inside each other: the parser recurses for each, and drops what is deeper.
_DEEPEST = 100


def parse(data: bytes, limits: Limits) -> Parsed:
    """CommonMark with tables. Links and emphasis read as their text; HTML inside reads as a browser shows it."""
    from markdown_it import MarkdownIt

    decoded = decode(data)
    draft = Draft(limits)
    for note in decoded.notes:
        draft.note(note)
    front, body = _front_matter(decoded.text.replace("\f", "\n"))
    draft.add(front)
    reader = _Reader(draft)
    tokens = MarkdownIt("commonmark", {"maxNesting": _DEEPEST}).enable(["table", "strikethrough"]).parse(body)
    for token in tokens:
        reader.take(token)
    if any(token.level >= _DEEPEST - 1 for token in tokens):
        draft.note(f"what is nested more than {_DEEPEST} deep is left out")
    return draft.finish()


def _front_matter(text: str) -> tuple[str, str]:
    """(the "key: value" rows between two --- lines at the very top, the rest)."""
    if text.startswith("---\n"):
        rows, rule, rest = text[4:].partition("\n---\n")
        if rule and len(rows) < 10_000:
            return rows, rest
    return "", text


class _Reader:
    """Takes the tokens of a Markdown file one by one and writes what they say."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.level = 0
        self.lists: list[int | None] = []
        self.bullet = ""
        self.fresh = True
        self.row: list[str] | None = None

    def take(self, token: Token) -> None:
        match token.type:
            case "heading_open":
                self.level = int(token.tag[1])
            case "heading_close":
                self.level = 0
            case "bullet_list_open":
                self.open_list(None)
            case "ordered_list_open":
                start = token.attrGet("start")
                self.open_list(1 if start is None else int(start))
            case "bullet_list_close" | "ordered_list_close":
                self.lists.pop()
            case "list_item_open":
                self.bullet = self.mark()
            case "table_open":
                self.fresh = True
            case "tr_open":
                self.row = []
            case "tr_close":
                row = " | ".join(self.row or [])
                self.row = None
                if visible(row.replace("|", "")):
                    self.draft.add(row, "table", joined=not self.fresh)
                    self.fresh = False
            case "inline":
                self.inline(_plain(token.children or ()))
            case "fence" | "code_block":
                self.write(token.content)
            case "html_block":
                from .html import read_into

                if visible(token.content):
                    read_into(self.draft, token.content)

    def inline(self, text: str) -> None:
        if self.row is not None:
            self.row.append(" ".join(text.split()))
        elif self.level and not self.lists:
            self.draft.heading(text, self.level)
        else:
            self.write(text)

    def write(self, text: str) -> None:
        kind: Kind = "list" if self.lists else "paragraph"
        if self.lists:
            # The lines of an item stand under its first word.
            text = text.rstrip("\n").replace("\n", "\n" + "  " * len(self.lists))
            text = (self.bullet or "  " * len(self.lists)) + text
            self.bullet = ""
        self.draft.add(text, kind, joined=kind == "list" and self.draft.kind == "list")

    def open_list(self, number: int | None) -> None:
        if self.bullet:
            # An item that begins with a list has no words of its own.
            self.bullet = ""
        self.lists.append(number)

    def mark(self) -> str:
        indent = "  " * (len(self.lists) - 1)
        number = self.lists[-1]
        if number is None:
            return indent + "- "
        self.lists[-1] = number + 1
        return f"{indent}{number}. "


def _plain(tokens: Iterable[Token]) -> str:
    """The words of a line: soft breaks are spaces, hard breaks are lines, a picture is its description."""
    parts = []
    for token in tokens:
        match token.type:
            case "softbreak":
                parts.append(" ")
            case "hardbreak":
                parts.append("\n")
            case "html_inline":
                parts.append("\n" if token.content.lower().startswith("<br") else "")
            case _:
                parts.append(token.content)
    return "".join(parts)
