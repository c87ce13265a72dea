"""Text as it streams: whole characters, stop strings that never show, and together exactly what all ids decode to."""

from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast

from app.writer import WINDOW, Writer
from cache_compiler.backbone import Backbone
from cache_compiler.load import load_backbone


@pytest.fixture(scope="module")
def reader() -> Backbone:
    return load_backbone("reader")


def sentencepiece() -> SimpleNamespace:
    """A tokenizer of the other kind: words begin with a mark, the text's first one loses it, and rare characters are spelt in bytes."""
    words = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), "\u2581", "\u2581the", "\u2581gate", "s", ".", "\u2581\u2581", "\u00f6"]
    tokenizer = Tokenizer(models.BPE({word: index for index, word in enumerate(words)}, [], unk_token="<unk>", byte_fallback=True))
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return SimpleNamespace(tokenizer=PreTrainedTokenizerFast(tokenizer_object=tokenizer), size=len(words))


def written(backbone, ids: list[int], stop: tuple[str, ...] = ()) -> tuple[list[str], str, Writer]:
    writer = Writer(backbone, stop)
    pieces = [writer.take(token)[0] for token in ids]
    return pieces, "".join(pieces) + writer.rest(), writer


def whole(backbone, ids: list[int]) -> str:
    return backbone.tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)


@settings(deadline=None, max_examples=60)
@given(ids=st.lists(st.integers(0, 1023), max_size=120))
def test_the_pieces_are_what_all_ids_decode_to_whatever_the_model_says(reader, ids):
    assert written(reader, ids)[1] == whole(reader, ids)


@settings(deadline=None, max_examples=60)
@given(text=st.text(max_size=60))
def test_a_text_comes_out_as_it_went_in_and_never_half_a_character(reader, text):
    ids = reader.tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    pieces, put_together, _ = written(reader, ids)
    assert put_together == whole(reader, ids)
    if "\ufffd" not in text:
        assert not any("\ufffd" in piece for piece in pieces)


@settings(deadline=None, max_examples=60)
@given(parts=st.lists(st.integers(257, 263) | st.characters(exclude_categories=["Cs"]), max_size=60))
def test_a_tokenizer_that_writes_the_first_word_otherwise_is_told_exactly_too(parts):
    other = sentencepiece()
    ids = [token for part in parts for token in ([part] if isinstance(part, int) else [1 + byte for byte in part.encode()])]
    assert written(other, ids)[1] == whole(other, ids)


def test_a_long_answer_costs_no_more_a_token_at_its_end(reader):
    ids = reader.tokenizer("The owner of Brobo tower is Gr\u00f6\u00dfe \u4f50 & sons; ", add_special_tokens=False)["input_ids"] * 40
    decoded: list[int] = []

    class Counting:
        def decode(self, ids, **kwargs):
            decoded.append(len(ids))
            return reader.tokenizer.decode(ids, **kwargs)

    assert written(SimpleNamespace(tokenizer=Counting()), ids)[1] == whole(reader, ids)
    assert max(decoded) <= 2 * WINDOW


@pytest.mark.parametrize("stop", ["END", "\u4f50.", "s of"])
def test_a_stop_string_ends_the_answer_wherever_tokens_and_windows_part_it(reader, stop):
    text = "The owner of the tower. " * 20 + "Gr\u00f6\u00dfe and \u4f50" + " EN" + "END and s of \u4f50. more"
    ids = reader.tokenizer(text, add_special_tokens=False)["input_ids"]
    writer, shown = Writer(reader, [stop]), ""
    for token in ids:
        new, stopped = writer.take(token)
        shown += new
        if stopped:
            break
    assert shown == text[: text.index(stop)]


def test_the_bytes_of_a_stop_strings_last_character_may_come_one_by_one(reader):
    ids = reader.tokenizer("EN\u4f50", add_special_tokens=False)["input_ids"]
    writer, shown = Writer(reader, ["EN\u4f50"]), ""
    for token in ids:
        new, stopped = writer.take(token)
        shown += new
    assert stopped
    assert shown == ""


def test_a_stop_string_ends_the_answer_and_no_part_of_it_is_shown(reader) -> None:
    ids = reader.tokenizer("The owner is END and more", add_special_tokens=False)["input_ids"]
    writer, shown = Writer(reader, ["END"]), ""
    for token in ids:
        text, stopped = writer.take(token)
        shown += text
        if stopped:
            break
    assert shown == "The owner is "


def test_what_may_yet_become_a_stop_string_is_held_back_and_then_shown(reader) -> None:
    ids = reader.tokenizer("ENter", add_special_tokens=False)["input_ids"]
    writer = Writer(reader, ["END"])
    shown = "".join(writer.take(token)[0] for token in ids) + writer.rest()
    assert shown == "ENter"


def test_characters_of_several_tokens_are_shown_whole(reader) -> None:
    ids = reader.tokenizer("größe 佐", add_special_tokens=False)["input_ids"]
    writer = Writer(reader, [])
    pieces = [writer.take(token)[0] for token in ids]
    assert all("\ufffd" not in piece for piece in pieces)
    assert "".join(pieces) + writer.rest() == "größe 佐"
