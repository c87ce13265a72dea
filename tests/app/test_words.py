"""What somebody types: a collection's name that may stand in an address, a question that has tokens, and nothing else."""

import pytest

from app.errors import BadRequest
from app.words import collection_name, question_text


@pytest.mark.parametrize("name", ["default", "a", "2026-reports", "a_b", "x" * 64])
def test_plain_names_stay_as_they_are(name):
    assert collection_name(name) == name


@pytest.mark.parametrize("name", ["", "A", "../x", "a b", "-a", "a\n", "é", "x" * 65])
def test_other_names_are_refused_with_the_rule(name):
    with pytest.raises(BadRequest, match="use small letters, digits"):
        collection_name(name)


@pytest.mark.parametrize("text", ["why?", "warum nicht, 漢字, 😀", "\x00", ""])
def test_a_question_of_whole_characters_stays_as_it_is(text):
    assert question_text(text) == text


def test_half_a_character_is_told_with_its_place():
    with pytest.raises(BadRequest, match="at its character 3"):
        question_text("ab\ud800")
