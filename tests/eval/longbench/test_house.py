"""What arms share: the ids behind the pages, the pages themselves, and settings that name everything that decides an answer."""

from dataclasses import replace

import numpy
import pytest

from cache_compiler.errors import ContextTooLong
from eval.longbench.house import House, Remembering, usual_length
from eval.longbench.tasks import GLYPH, OFFICIAL


def test_triviaqa_is_continued_without_a_turn_officially_and_asked_in_one_by_glyph(backbone, rows) -> None:
    record = rows["triviaqa"][0]
    tokenizer, template = backbone.tokenizer, backbone.template
    bare, turn = (tokenizer.decode(House(backbone, protocol).question_ids(record)) for protocol in (OFFICIAL, GLYPH))
    assert bare.endswith("Answer:\n")
    assert turn.endswith("Answer:\n" + template.after)
    assert template.after


def test_the_other_tasks_are_asked_in_the_models_own_turn(backbone, rows) -> None:
    record = rows["hotpotqa"][0]
    text = OFFICIAL.behind["hotpotqa"].format(input=record.input)
    assert House(backbone, OFFICIAL).question_ids(record) == backbone.question_ids(text)


def test_a_special_token_in_a_bare_question_is_read_as_its_letters(backbone, rows) -> None:
    special = backbone.tokenizer.all_special_tokens[0]
    ids = House(backbone, OFFICIAL).question_ids(replace(rows["triviaqa"][0], input=f"{special} Answer:\n"))
    assert backbone.tokenizer.convert_tokens_to_ids(special) not in ids


def test_limits_are_the_protocols_unless_a_trial_asks_for_less(backbone) -> None:
    assert House(backbone, OFFICIAL).limit("narrativeqa") == 128
    assert House(backbone, GLYPH).limit("narrativeqa") == 8192
    assert House(backbone, GLYPH, max_tokens=5).limit("narrativeqa") == 5


def test_settings_name_protocol_model_and_weights_and_differ_where_answers_would(backbone) -> None:
    ours = House(backbone, OFFICIAL).settings()
    assert (ours["protocol"], ours["model"]) == ("official", "reader")
    assert any(name.startswith("model.") for name in ours)
    other = House(backbone, GLYPH, max_length=100).settings()
    assert {name for name in ours if ours[name] != other[name]} == {"protocol", "max_length"}
    # Glyph cuts nothing, so a length that is not used does not keep a run from going on.
    assert other["max_length"] is None


def test_pages_are_laid_out_once_for_the_arms_of_a_record(backbone, rows) -> None:
    house = House(backbone, OFFICIAL)
    assert house.sheets(rows["musique"][0]) is house.sheets(rows["musique"][0])


def test_pages_beyond_the_last_position_are_told_before_any_is_encoded(backbone, rows, monkeypatch) -> None:
    house = House(backbone, OFFICIAL)
    pages = house.sheets(rows["musique"][0])
    assert len(house.images(pages, [72] * len(pages))) == len(pages)
    monkeypatch.setattr(backbone.config, "max_position_embeddings", 40)
    with pytest.raises(ContextTooLong, match=r"page 3 .* the model has 40"):
        house.images(pages, [72] * len(pages))


def test_text_beyond_the_last_position_is_told_before_any_is_compiled(llama, rows, monkeypatch) -> None:
    house, record = House(llama, OFFICIAL), rows["musique"][0]
    monkeypatch.setattr(llama.config, "max_position_embeddings", 60)
    with pytest.raises(ContextTooLong, match="the model has 60"):
        house.texts(record, 512)
    assert house.texts(replace(record, context="Short."), 512)


def test_a_model_that_reads_text_alone_cuts_below_its_positions_and_others_as_longbench_does(backbone, llama, monkeypatch) -> None:
    assert usual_length(backbone) == usual_length(llama) == 31_500
    monkeypatch.setattr(llama.config, "max_position_embeddings", 8192)
    assert usual_length(llama) == 7692


def test_passages_are_embedded_once_and_give_the_embedders_own_vectors() -> None:
    class Counting:
        name, dimension, texts = "counting", 2, []

        def embed_passages(self, texts):
            self.texts += texts
            return numpy.array([[len(text), 1.0] for text in texts], dtype=numpy.float32)

        def embed_question(self, text):
            return numpy.array([1.0, 0.0], dtype=numpy.float32)

    inner = Counting()
    embedder = Remembering(inner)
    embedder.embed_passages(["a", "bb"])
    found = embedder.embed_passages(["bb", "ccc", "bb"])
    assert found[:, 0].tolist() == [2, 3, 2]
    assert inner.texts == ["a", "bb", "ccc"]
