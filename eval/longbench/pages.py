"""A context goes in; the pages that an arm shows come out: laid out in a page style, each with its text, or as runs of token ids.

Official: chunks of one page each, as serving makes them (a chunk is QV-PIC's rendered image, the unit of reuse and of promotion). Glyph:
the whole text as one flow over the pages, and for the tasks where its evaluation marks newlines, drawn as red marks in running text.
A context of the records world has its pages already, parted by form feeds: they are taken as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from cache_compiler.errors import ContextTooLong
from cache_compiler.template import text_page_ids
from eval.arms import TextPage
from ingest.chunk import chunk
from ingest.errors import TooLarge
from ingest.parsers.parsed import visible
from ingest.parsers.text import parse
from ingest.types import Document, Limits
from renderer import pages, paginate
from renderer.types import Page, PageStyle

from .drawn import DRAWN
from .errors import BadRecord, EmptyContext
from .records import Record
from .tasks import Protocol


@dataclass(frozen=True)
class Sheet:
    """A page and the style it was laid out in; `text` is what an embedder reads of it."""

    text: str
    page: Page
    style: PageStyle


def sheets(record: Record, context: str, protocol: Protocol, style: PageStyle, most: int) -> list[Sheet]:
    """Raises EmptyContext where there is nothing to read; ContextTooLong at the first page beyond `most`; BadRecord where a page of the
    records world takes more than one of this style."""
    _require_words(record, context)
    if record.task == DRAWN:
        drawn = [_whole(record, text, style) for text in context.split("\f")]
    elif protocol.flows:
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


def texts(record: Record, context: str, tokenizer: Any, chunk: int) -> list[TextPage]:
    """The context's ids in runs of `chunk`, the last one shorter: end to end they are the ids of the whole, with a blank line behind it.

    Raises EmptyContext where there is nothing to read.
    """
    _require_words(record, context)
    if record.task == DRAWN:
        return [TextPage(tuple(text_page_ids(tokenizer, page))) for page in context.split("\f")]
    ids = text_page_ids(tokenizer, context)
    return [TextPage(tuple(ids[at : at + chunk])) for at in range(0, len(ids), chunk)]


def _require_words(record: Record, context: str) -> None:
    if not visible(context):
        raise EmptyContext(f"{record.task} {record.id}: the context is empty; there is nothing to read, so the sample scores 0")


def _whole(record: Record, text: str, style: PageStyle) -> Sheet:
    laid = paginate(text, style)
    if len(laid) != 1:
        raise BadRecord(f"{record.task} {record.id}: a page takes {len(laid)} pages of style {style.name}; draw fewer lines a page")
    return Sheet(text, laid[0], style)


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
