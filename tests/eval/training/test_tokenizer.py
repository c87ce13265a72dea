"""The vocabulary keeps GLM's marks in their places and digits apart, and gives every text back."""

import json

from eval.training.tokenizer import NAMES, Mark, Vocabulary


def test_every_text_comes_back_and_spans_cover_it(press):
    text = "Brobo tower's price is $23,890; café."
    encoded = press.vocabulary.encode(text)
    assert press.vocabulary.decode(encoded.ids) == text
    assert (encoded.spans[0][0], encoded.spans[-1][1]) == (0, len(text))


def test_digits_stay_single(press):
    ids = press.vocabulary.encode("20417").ids
    assert [press.vocabulary.decode([i]) for i in ids] == list("20417")


def test_marks_have_their_ids_and_are_not_shown(press):
    for mark, name in NAMES.items():
        assert press.vocabulary.tokenizer.token_to_id(name) == mark
    assert press.vocabulary.decode([Mark.GMASK, *press.vocabulary.encode("x").ids, Mark.EOS]) == "x"


def test_a_saved_vocabulary_is_the_same_when_loaded(press, tmp_path):
    press.vocabulary.save(tmp_path / "tokenizer.json")
    loaded = Vocabulary.load(tmp_path / "tokenizer.json")
    assert loaded.tokenizer.get_vocab() == press.vocabulary.tokenizer.get_vocab()
    assert loaded.prefix == press.vocabulary.prefix


def test_the_marks_are_those_of_the_embedded_reader(shared):
    vocabulary = json.loads((shared / "reader" / "tokenizer.json").read_text(encoding="utf-8"))
    ids = {token["content"]: token["id"] for token in vocabulary["added_tokens"]}
    assert {name: ids[name] for name in NAMES.values()} == {name: int(mark) for mark, name in NAMES.items()}
