"""Lines and a DPI in; a page as the eye takes it out, with what every patch and every visual token shows, and where each character fell.

Pages come from the renderer, in the very style that is served: an eye trained on crops of pages fell from 87 % to 17 % of the characters
on whole ones, because GLM-4V stretches its table of positions over the page it is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFont

from renderer import Page, PageStyle, paginate, preset, rasterise
from renderer.typeface import typeface

from .model import MERGE, PATCH
from .tokenizer import Vocabulary

# The printable ASCII characters, numbered from 1; 0 is "nothing here".
CHARACTERS = {chr(code): code - 31 for code in range(32, 127)}
# What stands at a border belongs to neither side surely: it is asked of both, if it is this near (in widths of the patch or token).
MARGIN = 1 / 8

# The eye of a line: a character's middle stands this far down, in font sizes.
_MIDDLE = 0.62

Labels = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Marks:
    """What stands where on a page: m marks, each with the patch or visual token it lies in (or beside, by `MARGIN` at most), the half of it
    (0 upper, 1 lower; of a patch always 0), its middle across from 0 at the left border to 1, and what it is. All arrays are [m].

    A place is asked, not the first, second or third of what a token holds: where something lies on a border, that would be a guess,
    and one wrong guess would number all that follows wrongly.
    """

    where: Labels
    half: Labels
    across: npt.NDArray[np.float32]
    label: Labels

    @classmethod
    def of(cls, found: Sequence[tuple[int, int, float, int]]) -> Marks:
        where, half, across, label = zip(*found, strict=True) if found else ((), (), (), ())
        return cls(np.array(where, np.int64), np.array(half, np.int64), np.array(across, np.float32), np.array(label, np.int64))

    @classmethod
    def join(cls, marks: Sequence[Marks], counts: Sequence[int]) -> Marks:
        """Those of several pages, `counts` patches or tokens long, as of one."""
        starts = np.cumsum([0, *counts[:-1]])
        where = [one.where + start for one, start in zip(marks, starts, strict=True)]
        half, across, label = ([getattr(one, name) for one in marks] for name in ("half", "across", "label"))
        return cls(np.concatenate(where), np.concatenate(half), np.concatenate(across), np.concatenate(label))


@dataclass(frozen=True)
class Sheet:
    """One page image with its labels. Patches are in merge-group order: the four of a visual token stand together.

    patches: [n, 64] fp32, -1 (black) to 1 (white); grid: (rows, columns) of patches; characters: which patch shows which; pieces: which
    visual token shows which; cells: the visual token that shows character start + i of the text the page was made of, -1 where none does;
    halves, across: in which half of that token (0 upper, 1 lower) and where across it, 0 to 1, the character's middle lies.
    """

    patches: npt.NDArray[np.float32]
    grid: tuple[int, int]
    characters: Marks
    pieces: Marks
    start: int
    cells: Labels
    halves: Labels
    across: npt.NDArray[np.float32]

    @property
    def tokens(self) -> tuple[int, int]:
        """(rows, columns) of visual tokens."""
        return self.grid[0] // MERGE, self.grid[1] // MERGE

    def holding(self, start: int, end: int) -> list[int]:
        """The visual tokens that show characters [start, end) of the text, ascending; empty where another page shows them."""
        found = self.cells[max(0, start - self.start) : max(0, end - self.start)]
        return sorted({int(cell) for cell in found if cell >= 0})

    def half(self, at: int) -> int:
        """In which half of its visual token a character of this page stands: 0 upper, 1 lower."""
        return int(self.halves[at - self.start])

    def spots(self, start: int, end: int) -> list[tuple[int, int, float]]:
        """(visual token, half, across) of the middle of characters [start, end) of one line, in each token in which it lies or which it stands
        beside by `MARGIN` at most; none where another page shows them.
        """
        i, j = start - self.start, end - 1 - self.start
        if i < 0 or j >= len(self.cells) or min(self.cells[i], self.cells[j]) < 0:
            return []
        columns = self.tokens[1]
        middle = sum(float(self.cells[at] % columns + self.across[at]) for at in (i, j)) / 2
        row, half = self.cells[i] // columns, int(self.halves[i])
        return [(int(row * columns + column), half, across) for column, across in _beside(middle, columns)]


class Press:
    """Prints lines in the reader's page style and labels what was printed."""

    def __init__(self, vocabulary: Vocabulary, style: PageStyle | None = None, others: Sequence[PageStyle] = ()) -> None:
        """`style` is what is served; `others` are styles that the eye may be shown besides."""
        self.vocabulary = vocabulary
        self.style = style or preset("reader", cell=PATCH * MERGE)
        self.others = tuple(others)

    def print(self, text: str, dpi: int, style: PageStyle | None = None) -> list[Sheet]:
        """The text's pages, in the served style or another; more than one where its lines do not fit."""
        style = style or self.style
        sheets = []
        for page in paginate(text, style):
            image = rasterise(page, style, dpi).image
            grid = image.height // PATCH, image.width // PATCH
            sheets.append(self._label(page, style, dpi, _patches(image), grid))
        return sheets

    def _label(self, page: Page, style: PageStyle, dpi: int, patches: npt.NDArray[np.float32], grid: tuple[int, int]) -> Sheet:
        rows, columns = grid
        characters: list[tuple[int, int, float, int]] = []
        pieces: list[tuple[int, int, float, int]] = []
        cells = np.full(page.end - page.start, -1, np.int64)
        halves, places = np.zeros_like(cells), np.zeros(len(cells), np.float32)
        scale = dpi / 72
        font = typeface(style).at(style.size * scale)
        steps = _Steps(font)
        for line in page.lines:
            # The pen's place before each character and behind the last, as the line was drawn: kerning included.
            pen = [line.x0 * scale + x for x in steps.along(line.text)]
            row = min(int((line.y0 + _MIDDLE * style.size) * scale / PATCH), rows - 1)
            for i, character in enumerate(line.text):
                middle = (pen[i] + pen[i + 1]) / 2
                column = min(int(middle / PATCH), columns - 1)
                at = line.start - page.start + i
                cells[at] = row // MERGE * (columns // MERGE) + column // MERGE
                halves[at], places[at] = row % MERGE, min(middle / PATCH, columns - 1e-3) / MERGE % 1
                if character != " " and character in CHARACTERS:
                    for patch, across in _beside(middle / PATCH, columns):
                        group = row // MERGE * (columns // MERGE) + patch // MERGE
                        characters.append((group * MERGE**2 + row % MERGE * MERGE + patch % MERGE, 0, across, CHARACTERS[character]))
            encoded = self.vocabulary.encode(line.text)
            for piece, (a, b) in zip(encoded.ids, encoded.spans, strict=True):
                # A piece's own letters say where it is, not the space that BPE glues to its front.
                while b - a > 1 and line.text[a] == " ":
                    a += 1
                for at, across in _beside((pen[a] + pen[b]) / 2 / (PATCH * MERGE), columns // MERGE):
                    pieces.append((row // MERGE * (columns // MERGE) + at, row % MERGE, across, piece))
        return Sheet(patches, grid, Marks.of(characters), Marks.of(pieces), page.start, cells, halves, places)


class _Steps:
    """How far the pen moves from each character to the next: a font is asked once a pair, where asking it for every beginning of a line
    took most of the time of a page. A ligature's parts are then not where a shaper would have them, by less than a pixel.
    """

    _known: ClassVar[dict[int, tuple[ImageFont.FreeTypeFont, dict[str, float]]]] = {}

    def __init__(self, font: ImageFont.FreeTypeFont) -> None:
        # The font is kept with its pairs, so that no other comes to have its id.
        self.font, self.pairs = self._known.setdefault(id(font), (font, {}))

    def along(self, text: str) -> list[float]:
        """The pen's places, one more than there are characters, from 0."""
        places: list[float] = []
        for i in range(len(text)):
            # Each word begins where the font itself says, so that what pairs leave out does not add up along the line.
            if i == 0 or text[i - 1] == " ":
                at = self.font.getlength(text[:i])
            places.append(at)
            pair = text[i : i + 2]
            if pair not in self.pairs:
                self.pairs[pair] = self.font.getlength(pair) - (self.font.getlength(pair[1]) if len(pair) == 2 else 0.0)
            at += self.pairs[pair]
        return [*places, self.font.getlength(text)]


def _beside(middle: float, columns: int) -> Iterator[tuple[int, float]]:
    """The columns in which, or within `MARGIN` of which, a middle lies (in columns), and where in each of them."""
    for column in range(max(0, int(middle - MARGIN)), min(columns - 1, int(middle + MARGIN)) + 1):
        yield column, middle - column


def _patches(image: Image.Image) -> npt.NDArray[np.float32]:
    grey = np.asarray(image.convert("L"), np.float32) / 127.5 - 1
    rows, columns = grey.shape[0] // PATCH, grey.shape[1] // PATCH
    blocks = grey.reshape(rows, PATCH, columns, PATCH).swapaxes(1, 2).reshape(rows, columns, PATCH * PATCH)
    return _grouped(blocks)


def _grouped(grid: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """[rows, columns, d] -> [rows * columns, d] in merge-group order, the order GLM-4V's eye expects."""
    rows, columns, depth = grid.shape
    groups = grid.reshape(rows // MERGE, MERGE, columns // MERGE, MERGE, depth).swapaxes(1, 2)
    return groups.reshape(rows * columns, depth)
