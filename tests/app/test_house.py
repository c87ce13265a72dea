"""The house: what a question does not say is filled in from the settings, and where they are silent from the model's card."""

from pathlib import Path

import pytest

from app.house import House
from app.settings import Settings
from cache_compiler.errors import ModelNotFound, WindowClosed


def test_the_card_speaks_where_settings_are_silent_and_settings_where_the_question_is(tmp_path: Path) -> None:
    house = House.open(Settings(home=tmp_path))
    card = house.backbone.card
    plain = house.question("Who?")
    assert (plain.budget.top_k, plain.budget.alpha, plain.budget.cap) == (card.top_k, 0.65, 4)
    assert plain.sampling.max_tokens == card.max_tokens
    house.settings = Settings(home=tmp_path, top_k=5, cap=2)
    assert house.question("Who?").budget.top_k == 5
    assert house.question("Who?", top_k=3, alpha=0.5).budget.top_k == 3
    assert house.question("Who?", cap=0).budget.cap == 0
    house.close()


def test_a_model_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFound, match="absent"):
        House.open(Settings(home=tmp_path, model=str(tmp_path / "absent")))


def test_a_closed_house_forms_no_patch_and_keeps_no_conversation(tmp_path: Path) -> None:
    house = House.open(Settings(home=tmp_path, patch_policy="hot"))
    worker = house.patch_worker._thread
    assert worker is not None
    assert worker.is_alive()
    with house.conversations.turn(house.question("Who?", conversation="of-this-house")):
        window = house.conversations._kept["of-this-house"].window
    house.close()
    assert not worker.is_alive()
    assert len(house.conversations) == 0
    with pytest.raises(WindowClosed):
        _ = window.keys
