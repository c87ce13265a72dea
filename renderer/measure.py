"""A page style in; how wide a text is and how many lines it takes out, so that a chunker can fill pages exactly."""

from __future__ import annotations

from .normalise import is_normal, normalise
from .paginate import line_width, prepare, width_of
from .typeface import typeface
from .types import PageStyle
from .wrap import wrap


class Measure:
    """Counts as `paginate` lays out: the lines of texts that end in a newline add up to the lines of their concatenation.

    Raises FontProblem for the style's font, RendererError if the page holds no line.
    """

    def __init__(self, style: PageStyle) -> None:
        self.style = style
        self._face = typeface(style)
        self._limit = line_width(style, self._face)

    def lines(self, text: str) -> int:
        """Lines the text takes. A newline at its very end opens no further line; the blank line after a page break is not counted."""
        if "\n" not in text and "\f" not in text and is_normal(text) and 0 < self._face.units(text) <= self._limit:
            return 1
        given = prepare(text, self.style)
        return sum(1 for _ in wrap(given.text, self._face, self._limit, self.style.newline == "mark"))

    def width(self, text: str) -> float:
        """Points that the text takes, all on one line."""
        return self._face.points(width_of(normalise(text).text, self._face), self.style.size)


def count_lines(text: str, style: PageStyle) -> int:
    """Lines the text takes in the style; see `Measure`, which is cheaper for many texts."""
    return Measure(style).lines(text)
