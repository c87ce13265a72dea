"""Rows of cells go in; table blocks come out, each beginning with the row of column names, so that every page of a long table says what its columns are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from .parsed import Draft

# A block is less than a page of the smallest style (12 lines), so no page is without the names.
ROWS = 8
CHARS = 400
_NAME_CHARS = 60
_TITLES = 5
_NUMBER = re.compile(r"[\s\d.,:;/%$€£¥+()-]*")


def write_table(draft: Draft, rows: Iterable[Sequence[str]], between: str = " | ", page: int | None = None) -> None:
    """Write rows as lines, cells parted by `between`. Rows without a word are left out; a first row of names heads every block."""
    names = ""
    named = False
    first = True
    titles = 0
    lines: list[str] = []
    size = 0
    for row in rows:
        cells = [" ".join(cell.split()) for cell in row]
        if not any(cells):
            continue
        if first and titles < _TITLES and len(cells) > 1 and sum(map(bool, cells)) == 1:
            # A title over the table, not its first row.
            draft.add("".join(cells), page=page, joined=titles > 0)
            titles += 1
            continue
        line = between.join(cells)
        if first and is_header(cells):
            names = line
        else:
            lines.append(line)
            size += len(line)
        first = False
        # Names longer than the rows they head come less often, or they would be most of the text.
        if (len(lines) >= ROWS or size > CHARS) and size > 3 * len(names):
            draft.add("\n".join([names, *lines] if names else lines), "table", page=page)
            named = True
            lines.clear()
            size = 0
    if lines or (names and not named):
        draft.add("\n".join([names, *lines] if names else lines), "table", page=page)


def is_header(cells: Sequence[str]) -> bool:
    """Whether a first row names the columns: short words, all there, no two alike, none a number."""
    return (
        len(cells) > 1
        and len(set(cells)) == len(cells)
        and all(cell and len(cell) <= _NAME_CHARS and not _NUMBER.fullmatch(cell) for cell in cells)
    )
