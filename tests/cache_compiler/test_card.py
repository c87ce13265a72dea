"""A card says what its directory says, and the defaults where it is silent."""

import json
from pathlib import Path

import pytest

from cache_compiler.card import TEXT, Card, read_card
from cache_compiler.errors import ModelNotFound
from cache_compiler.load import READER


def test_a_directory_without_a_card_gets_glyphs_defaults(tmp_path: Path) -> None:
    assert read_card(tmp_path) == Card(style="glyph-a4", top_k=8, max_tokens=256, turns=4)


def test_the_readers_card_names_its_page_style_and_what_it_can_be_asked() -> None:
    card = read_card(READER)
    assert card.style == "reader"
    assert "one attribute" in card.says
    assert card.turns == 0  # it was never trained on a second question


def test_fields_that_are_left_out_keep_their_defaults(tmp_path: Path) -> None:
    (tmp_path / "quire.json").write_text(json.dumps({"top_k": 3}), encoding="utf-8")
    assert read_card(tmp_path) == Card(top_k=3)
    assert read_card(tmp_path, TEXT) == Card(style="text-a6", top_k=3, says=TEXT.says)


@pytest.mark.parametrize("text", ["{", "[]", '"style"', '{"stile": "reader"}', "3"])
def test_a_card_that_cannot_be_read_is_an_error_that_names_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "quire.json").write_text(text, encoding="utf-8")
    with pytest.raises(ModelNotFound, match=r"quire\.json"):
        read_card(tmp_path)


def test_a_card_that_is_not_text_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "quire.json").write_bytes(b"\xff\xfe{")
    with pytest.raises(ModelNotFound, match=r"quire\.json"):
        read_card(tmp_path)
