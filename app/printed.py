"""Reports, receipts, answers and lists go in; text for a person at a terminal comes out. Document text is printed without control characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ingest.types import Report
from retrieval.types import CollectionRow, DocumentRow

from .types import Answer, Citation, PatchUse

if TYPE_CHECKING:
    from ingest.remove import Removal  # brings torch with it

_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def plain(text: str) -> str:
    """Text that may come from a document, safe for a terminal: an escape sequence in it must not move the cursor or recolour the screen."""
    return "".join(c if c in "\n\t" or (unicodedata.category(c) not in ("Cc", "Cs") and c not in _BIDI) else "�" for c in text)


def _line(text: str) -> str:
    """The same in one line: a newline in a file's name must not begin a line of its own in a report."""
    return plain(text).replace("\n", " ")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Columns as wide as their widest cell; numbers to the right."""
    cells = [[_line(str(cell)) for cell in row] for row in rows]
    right = [all(_numeric(row[i]) for row in cells) and any(row[i] for row in cells) for i in range(len(head))]
    widths = [max(len(line[i]) for line in [list(head), *cells]) for i in range(len(head))]
    return "\n".join(
        "  ".join(cell.rjust(width) if r else cell.ljust(width) for cell, width, r in zip(line, widths, right, strict=True)).rstrip()
        for line in [list(head), *cells]
    )


def _numeric(cell: str) -> bool:
    return not cell or cell.replace(",", "").replace(".", "").isdigit()


def count(n: int, noun: str) -> str:
    """As many of them: 1 page, 3 pages."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def size(amount: float) -> str:
    """Bytes in the unit that a person would use."""
    for unit in ("bytes", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:,.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"


def report(run: Report) -> str:
    """The outcome of an ingest: a row a file, the reasons of failures, and what to do next."""
    rows = [
        *[("done", item.name, f"{item.chunks:,}", f"{item.pages:,}", f"{item.compiled:,}", f"{item.reused:,}") for item in run.done],
        *[("skipped", name, "", "", "", "") for name in run.skipped],
        *[("failed", item.name, "", "", "", "") for item in run.failed],
        *[("passed", name, "", "", "", "") for name in run.passed],
    ]
    parts = [table(("", "file", "chunks", "pages", "compiled", "reused"), rows)] if rows else []
    parts += [f"note    {_line(item.name)}: {_line(note)}" for item in run.done for note in item.notes]
    parts += [f"failed  {_failure(item.name, item.reason, item.place, item.kind)}" for item in run.failed]
    if run.cancelled:
        parts.append("Stopped. What is done is kept, and nothing is half done: run the same command again to go on.")
    elif not rows:
        parts.append("There was no file to take in.")
    counts = f"{len(run.done)} done, {len(run.skipped)} skipped (already there), {len(run.failed)} failed"
    if run.passed:
        counts += f", {len(run.passed)} passed over (kinds that are not read)"
    parts.append(f"{counts} in {run.seconds:.1f} s; collection {run.collection}.")
    return "\n".join(parts)


def _failure(name: str, reason: str, place: str, kind: str) -> str:
    # Most reasons begin with the file's name already.
    said = _line(reason if reason.startswith(name) else f"{name}: {reason}")
    return f"{said} ({', '.join(filter(None, (_line(place), kind)))})"


def removal(done: Removal) -> str:
    """The receipt of a deletion."""
    row = done.receipt
    lines = [
        f"deleted {plain(row.name)} ({row.document})" if row.document else f"deleted {count(len(row.jobs), 'upload')} of no document",
        f"  {count(row.chunks, 'chunk')}, {count(row.vectors, 'vector')}, {count(len(row.removed_pages), 'page')}",
        f"  {count(len(done.files), 'file')}, {size(done.bytes)}",
        *[f"    {name}" for name in done.files],
    ]
    if row.shared_pages:
        lines.append(f"  kept, for another document has them too: {count(len(row.shared_pages), 'page')}")
    return "\n".join(lines)


def documents(rows: Iterable[DocumentRow]) -> str:
    return table(
        ("id", "name", "media", "size", "chunks", "pages"),
        [(row.id, row.name, row.media, size(row.bytes), f"{row.chunks:,}", f"{row.pages:,}") for row in rows],
    )


def collections(rows: Iterable[tuple[CollectionRow, int, int]]) -> str:
    """Each collection with its numbers of documents and pages."""
    return table(
        ("name", "documents", "pages", "model", "kept"),
        [(row.name, f"{n:,}", f"{pages:,}", row.model_name, "pinned" if row.pinned else "") for row, n, pages in rows],
    )


def pages(answer: Answer) -> str:
    """A row a page, in context order; a column for patches where some page has one."""
    head = ["page", "read", "why", "score", "cache", "rows"]
    rows = [
        [
            _place(citation),
            "as text" if citation.read_as == "text" else f"at {citation.dpi} DPI",
            pick.why,
            f"{pick.score:.2f}",
            origin.tier,
            f"{pick.rows:,}",
        ]
        for citation, pick, origin in zip(answer.citations, answer.plan.picks, answer.provenance, strict=True)
    ]
    if any(origin.patch for origin in answer.provenance):
        head.append("patch")
        for row, origin in zip(rows, answer.provenance, strict=True):
            row.append(_patch(origin.patch) if origin.patch else "")
    return table(head, rows)


def _patch(patch: PatchUse) -> str:
    lacks = f", lacks {count(len(patch.missing), 'page')}" if patch.missing else ""
    return f"{patch.match} r{patch.rank}{lacks}"


def sources(answer: Answer, show_lines: bool) -> str:
    """The pages that an answer was read from, in context order; with `show_lines`, the marked lines of each."""
    parts = [pages(answer)]
    if show_lines:
        for citation in answer.citations:
            parts += [f"  {_place(citation)}: {plain(line.text).strip()}  [{line.why}]" for line in citation.lines]
    if answer.plan.dropped:
        parts.append(f"{len(answer.plan.dropped)} passages did not fit the model's context.")
    if turn := answer.conversation:
        parts.append(
            f"turn {turn.turn}: {turn.kept} kept, {turn.admitted} admitted, {turn.recalled} recalled, {turn.evicted} evicted; "
            f"{count(turn.moved_rows, 'row')} moved"
        )
    t = answer.timings
    parts.append(
        f"answered by {plain(answer.model)}; first token after {_ms(t.first_token)} (retrieve {_ms(t.retrieve)}, plan {_ms(t.plan)}, "
        f"load {_ms(t.load)}, place {_ms(t.place)}, question {_ms(t.prefill)}); rest {_ms(t.rest)}; "
        f"{answer.tokens} tokens, ended by {answer.finish}"
    )
    return "\n".join(parts)


def doubt(answer: Answer, which: str = "above") -> str:
    """What a person should know of an answer whose words stand on none of its pages (those `which`); "" where they do."""
    if any(line.why == "has the answer's words" for citation in answer.citations for line in citation.lines):
        return ""
    return f"These words do not stand on the pages {which}: check before you rely on them."


def _place(citation: Citation) -> str:
    where = [plain(citation.name)]
    if citation.source_page is not None:
        where.append(f"p. {citation.source_page}")
    if citation.heading:
        where.append(plain(citation.heading))
    return ", ".join([*where, f"part {citation.ordinal + 1}"])


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms"
