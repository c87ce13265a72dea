"""Labels point to where the ink is: every character and every piece is named by the patch and the token that show it."""

import numpy as np
import pytest

from eval.training.model import MERGE, PATCH
from eval.training.pages import CHARACTERS, MARGIN, Marks

LINES = ["The owner of Brobo tower is Dupu Hiovin.", "Clifai has price $23,890.", "  its fuel is coal"]
NAMES = {number: character for character, number in CHARACTERS.items()}


def read(marks, columns, halves, size):
    """The labels in reading order, each once: (row, place across in pixels, label) of every mark; two marks of one thing fall together."""
    group, patch = np.divmod(marks.where, MERGE**2) if size == PATCH else (marks.where, 0)
    row = group // (columns // (MERGE if size == PATCH else 1))
    column = group % (columns // (MERGE if size == PATCH else 1))
    if size == PATCH:
        row, column = row * MERGE + patch // MERGE, column * MERGE + patch % MERGE
    across = np.round((column + marks.across) * size, 2)
    rows = row * halves + marks.half
    return sorted({(int(r), float(x), int(label)) for r, x, label in zip(rows, across, marks.label, strict=True)})


@pytest.mark.parametrize("dpi", [72, 120])
def test_a_changed_digit_changes_the_ink_of_the_token_that_is_said_to_show_it(press, dpi):
    text = "\n".join(LINES)
    place = text.index("3,890")
    # Digits of this font are all as wide, so nothing else moves.
    other = text[:place] + "7" + text[place + 1 :]
    (before,), (after,) = press.print(text, dpi), press.print(other, dpi)
    changed = np.abs(before.patches - after.patches).sum(axis=1).reshape(-1, MERGE * MERGE).sum(axis=1)
    assert before.holding(place, place + 1) == [int(changed.argmax())]


@pytest.mark.parametrize("dpi", [72, 120])
def test_the_characters_are_read_off_the_page_in_order(press, dpi):
    (sheet,) = press.print("\n".join(LINES), dpi)
    # At 120 DPI a line is taller than a patch: rows of patches without a line's middle hold no character.
    found = read(sheet.characters, sheet.grid[1], 1, PATCH)
    rows = sorted({row for row, _, _ in found})
    assert ["".join(NAMES[label] for at, _, label in found if at == row) for row in rows] == [line.replace(" ", "") for line in LINES]


@pytest.mark.parametrize("dpi", [72, 120])
def test_the_pieces_are_the_lines_tokens(press, dpi):
    (sheet,) = press.print(LINES[0], dpi)
    assert [label for _, _, label in read(sheet.pieces, sheet.tokens[1], MERGE, PATCH * MERGE)] == press.vocabulary.encode(LINES[0]).ids


def test_what_stands_at_a_border_is_asked_of_both_sides(press):
    (sheet,) = press.print("\n".join(LINES), 72)
    for marks in (sheet.characters, sheet.pieces):
        inside = (marks.across >= 0) & (marks.across < 1)
        beside = marks.across[~inside]
        assert 0.1 < len(beside) / inside.sum() < 0.4
        assert np.all((beside >= -MARGIN) & (beside <= 1 + MARGIN))


def test_marks_of_several_pages_are_numbered_on():
    one = Marks.of([(1, 0, 0.5, 7)])
    both = Marks.join([one, Marks.of([]), one], [4, 2, 4])
    assert both.where.tolist() == [1, 7]
    assert both.label.tolist() == [7, 7]


def test_a_page_has_the_cards_size_and_values(press):
    (sheet,) = press.print("\n".join(["x"] * 12), 120)
    assert sheet.grid == (192 // PATCH, 384 // PATCH)
    assert sheet.patches.dtype == np.float32
    assert (sheet.patches.min() < -0.5, sheet.patches.max()) == (True, 1.0)


def test_characters_beyond_a_full_page_are_shown_by_the_next(press):
    lines = [f"Line {i}." for i in range(13)]
    first, second = press.print("\n".join(lines), 72)
    text = "\n".join(lines)
    start = text.index("Line 12")
    assert first.holding(start, start + 4) == []
    assert second.holding(start, start + 4)
