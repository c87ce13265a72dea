"""The files of a load run: each has a value of its own that our own parsers find in it, and every tenth is one that they refuse."""

import pytest

from eval.load.papers import BAD, GOOD, paper
from ingest.archive import unpack
from ingest.errors import IngestError
from ingest.load import load
from ingest.names import document_name
from ingest.types import Limits

PAPERS = [paper(number) for number in range(60)]


def test_the_same_number_is_the_same_file_and_no_two_share_a_value_or_a_name() -> None:
    assert [paper(number) for number in range(5)] == PAPERS[:5]
    good = [one for number in range(400) if not (one := paper(number)).bad]
    assert len({one.value for one in good}) == len({one.name for one in good}) == len(good) == 360


def test_every_tenth_is_bad_and_every_kind_comes() -> None:
    assert {one.number for one in PAPERS if one.bad} == set(range(9, 60, 10))
    assert {one.kind for one in PAPERS} == {*GOOD, *BAD}


@pytest.mark.parametrize("kind", [kind for kind in GOOD if kind != "zip"])
def test_a_good_file_holds_its_value_and_what_it_is_asked_for(kind, tmp_path) -> None:
    given = next(one for one in PAPERS if one.kind == kind)
    (tmp_path / given.name).write_bytes(given.data)
    text = load(tmp_path / given.name, given.name, "", Limits()).text
    assert given.value in text
    assert given.question.removeprefix("What is the code of ").rstrip("?") in text
    assert given.value not in given.name


def test_a_zip_has_one_good_member_and_an_empty_one(tmp_path) -> None:
    given = next(one for one in PAPERS if one.kind == "zip")
    (tmp_path / given.name).write_bytes(given.data)
    members = list(unpack(tmp_path / given.name, given.name, Limits(), tmp_path))
    assert [member.bytes > 0 for member in members] == [True, False]
    assert given.value in members[0].path.read_text()


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_file_is_refused(kind, tmp_path) -> None:
    given = next(one for one in PAPERS if one.kind == kind)
    path = tmp_path / "file"
    path.write_bytes(given.data)
    with pytest.raises(IngestError):
        load(path, document_name(given.name), "", Limits())
