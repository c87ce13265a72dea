"""Labels point to where the ink is: every character and every piece is named by the patch and the token that show it."""

import numpy as np
import pytest

from eval.training.model import MERGE, PATCH
from eval.training.pages import CHARACTERS

LINES = ["The owner of Brobo tower is Dupu Hiovin.", "Clifai has price $23,890.", "  its fuel is coal"]
NAMES = {number: character for character, number in CHARACTERS.items()}


def grid_of(sheet, grouped):
    """[n, d] in merge-group order -> [rows, columns, d]."""
    rows, columns = sheet.grid
    blocks = grouped.reshape(rows // MERGE, columns // MERGE, MERGE, MERGE, -1).swapaxes(1, 2)
    return blocks.reshape(rows, columns, -1)


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
    read = ["".join(NAMES[n] for patch in row for n in patch if n) for row in grid_of(sheet, sheet.characters)]
    assert [row for row in read if row] == [line.replace(" ", "") for line in LINES]


@pytest.mark.parametrize("dpi", [72, 120])
def test_the_pieces_are_the_lines_tokens(press, dpi):
    (sheet,) = press.print(LINES[0], dpi)
    rows, columns = sheet.tokens
    found = [int(piece) for piece in sheet.pieces.reshape(rows, columns, 2, 3).transpose(0, 2, 1, 3).flatten() if piece]
    ids = press.vocabulary.encode(LINES[0]).ids
    # A crowded token has no slot for a fourth piece: nothing is out of order, and little is missing.
    rest = iter(ids)
    assert all(piece in rest for piece in found)
    assert len(found) >= 0.8 * len(ids)


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
