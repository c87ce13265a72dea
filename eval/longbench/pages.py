"""A context and a page style go in; the laid-out pages that an image arm shows come out, each with its text.

Official: chunks of one page each, as serving makes them (a chunk is QV-PIC's rendered image, the unit of reuse and of promotion). Glyph:
the whole text as one flow over the pages, and for the tasks where its evaluation marks newlines, drawn as red marks in running text.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice

from cache_compiler.errors import ContextTooLong
from ingest.chunk import chunk
from ingest.errors import TooLarge
from ingest.parsers.parsed import visible
from ingest.parsers.text import parse
from ingest.types import Document, Limits
from renderer import pages, paginate
from renderer.types import Page, PageStyle

from .errors import EmptyContext
from .records import Record
from .tasks import Protocol


@dataclass(frozen=True)
class Sheet:
    """A page and the style it was laid out in; `text` is what an embedder reads of it."""

    text: str
    page: Page
    style: PageStyle


def sheets(record: Record, context: str, protocol: Protocol, style: PageStyle, most: int) -> list[Sheet]:
    """Raises EmptyContext where there is nothing to read; ContextTooLong at the first page beyond `most`."""
    if not visible(context):
        raise EmptyContext(f"{record.task} {record.id}: the context is empty; nothing can be drawn, so the sample scores 0")
    if protocol.flows:
        marked = record.task in protocol.marked and not style.sentence_lines
        drawn = _flow(context, replace(style, newline="mark") if marked else style, most)
    else:
        drawn = _chunks(record.id, context, style, most)
    if len(drawn) > most:
        raise ContextTooLong(
            f"{record.task} {record.id}: a context of {len(context):,} characters takes more than {most:,} pages of style {style.name}, "
            "and the model has no positions for more"
        )
    return drawn


def _flow(context: str, style: PageStyle, most: int) -> list[Sheet]:
    """A style that gives every line its own sentence is for chunks; a flow wraps the text as it runs."""
    return [Sheet(page.text, page, style) for page in islice(pages(context, style), most + 1)]


def _chunks(name: str, context: str, style: PageStyle, most: int) -> list[Sheet]:
    # A lone surrogate is legal in JSON and has no bytes.
    data = context.encode("utf-8", "replace")
    limits = Limits(text_chars=len(context) + 1, rendered_pages=most)
    parsed = parse(data, limits)
    document = Document(name, "", "", len(data), "text/plain", parsed.text, parsed.blocks)
    try:
        found = chunk(document, name, style, limits)
    except TooLarge as error:
        raise ContextTooLong(
            f"{name}: a context of {len(context):,} characters takes more than {most:,} pages of style {style.name}, "
            "and the model has no positions for more"
        ) from error
    return [Sheet(piece.text, paginate(piece.text, style)[0], style) for piece in found]
