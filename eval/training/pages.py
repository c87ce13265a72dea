"""Lines and a DPI in; a page as the eye takes it out, with what every patch and every visual token shows, and where each character fell.

Pages come from the renderer, in the very style that is served: an eye trained on crops of pages fell from 87 % to 17 % of the characters
on whole ones, because GLM-4V stretches its table of positions over the page it is given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from PIL import Image

from renderer import Line, PageStyle, paginate, preset, rasterise
from renderer.typeface import typeface

from .model import MERGE, PATCH
from .tokenizer import Vocabulary

# The printable ASCII characters, numbered from 1; 0 is "nothing here".
CHARACTERS = {chr(code): code - 31 for code in range(32, 127)}
CHARACTER_SLOTS = 3
PIECE_SLOTS = 6  # two lines of text by three pieces

# The eye of a line: a character's middle stands this far down, in font sizes.
_MIDDLE = 0.62

Labels = npt.NDArray[np.int64]
_Number = TypeVar("_Number", np.float32, np.int64)


@dataclass(frozen=True)
class Sheet:
    """One page image with its labels. Patches are in merge-group order: the four of a visual token stand together.

    patches: [n, 64] fp32, -1 (black) to 1 (white); grid: (rows, columns) of patches; characters: [n, 3]; pieces: [n / 4, 6];
    cells: the visual token that shows character start + i of the text the page was made of, -1 where none does.
    """

    patches: npt.NDArray[np.float32]
    grid: tuple[int, int]
    characters: Labels
    pieces: Labels
    start: int
    cells: Labels

    @property
    def tokens(self) -> tuple[int, int]:
        """(rows, columns) of visual tokens."""
        return self.grid[0] // MERGE, self.grid[1] // MERGE

    def holding(self, start: int, end: int) -> list[int]:
        """The visual tokens that show characters [start, end) of the text, ascending; empty where another page shows them."""
        found = self.cells[max(0, start - self.start) : max(0, end - self.start)]
        return sorted({int(cell) for cell in found if cell >= 0})


class Press:
    """Prints lines in the reader's page style and labels what was printed."""

    def __init__(self, vocabulary: Vocabulary, style: PageStyle | None = None) -> None:
        self.vocabulary = vocabulary
        self.style = style or preset("reader", cell=PATCH * MERGE)

    def print(self, text: str, dpi: int) -> list[Sheet]:
        """The text's pages; more than one where its lines do not fit."""
        sheets = []
        for page in paginate(text, self.style):
            image = rasterise(page, self.style, dpi).image
            grid = image.height // PATCH, image.width // PATCH
            sheets.append(self._label(page.lines, dpi, _patches(image), grid, page.start, page.end))
        return sheets

    def _label(
        self, lines: tuple[Line, ...], dpi: int, patches: npt.NDArray[np.float32], grid: tuple[int, int], start: int, end: int
    ) -> Sheet:
        rows, columns = grid
        characters = np.zeros((rows, columns, CHARACTER_SLOTS), np.int64)
        pieces = np.zeros((rows // MERGE, columns // MERGE, MERGE, PIECE_SLOTS // MERGE), np.int64)
        cells = np.full(end - start, -1, np.int64)
        scale = dpi / 72
        font = typeface(self.style).at(self.style.size * scale)
        for line in lines:
            # The pen's place before each character and behind the last, as the line was drawn: kerning included.
            pen = [line.x0 * scale + font.getlength(line.text[:i]) for i in range(len(line.text) + 1)]
            row = min(int((line.y0 + _MIDDLE * self.style.size) * scale / PATCH), rows - 1)
            for i, character in enumerate(line.text):
                column = min(int((pen[i] + pen[i + 1]) / 2 / PATCH), columns - 1)
                cells[line.start - start + i] = row // MERGE * (columns // MERGE) + column // MERGE
                if character != " " and character in CHARACTERS:
                    _put(characters[row, column], CHARACTERS[character])
            encoded = self.vocabulary.encode(line.text)
            for piece, (a, b) in zip(encoded.ids, encoded.spans, strict=True):
                # A piece's own letters say where it is, not the space that BPE glues to its front.
                while b - a > 1 and line.text[a] == " ":
                    a += 1
                column = min(int((pen[a] + pen[b]) / 2 / (PATCH * MERGE)), columns // MERGE - 1)
                _put(pieces[row // MERGE, column, row % MERGE], piece)
        return Sheet(patches, grid, _grouped(characters), pieces.reshape(-1, PIECE_SLOTS), start, cells)


def _put(slots: Labels, label: int) -> None:
    """Into the first free slot; what no slot is left for is not asked of the eye."""
    free = np.flatnonzero(slots == 0)
    if len(free):
        slots[free[0]] = label


def _patches(image: Image.Image) -> npt.NDArray[np.float32]:
    grey = np.asarray(image.convert("L"), np.float32) / 127.5 - 1
    rows, columns = grey.shape[0] // PATCH, grey.shape[1] // PATCH
    blocks = grey.reshape(rows, PATCH, columns, PATCH).swapaxes(1, 2).reshape(rows, columns, PATCH * PATCH)
    return _grouped(blocks)


def _grouped(grid: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
    """[rows, columns, d] -> [rows * columns, d] in merge-group order, the order GLM-4V's eye expects."""
    rows, columns, depth = grid.shape
    groups = grid.reshape(rows // MERGE, MERGE, columns // MERGE, MERGE, depth).swapaxes(1, 2)
    return groups.reshape(rows * columns, depth)
