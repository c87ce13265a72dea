"""Names that files come with: shown as they are, or refused with a reason."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.errors import BadName
from ingest.names import LONGEST, document_name


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("notes.txt", "notes.txt"),
        ("a/b/c.md", "a/b/c.md"),
        ("a\\b\\c.md", "a/b/c.md"),
        ("./a//b.txt", "a/b.txt"),
        ("cafe\u0301.txt", "caf\u00e9.txt"),
        ("..hidden.txt", "..hidden.txt"),
        ("a b  c.txt", "a b  c.txt"),
    ],
)
def test_a_plain_name_is_shown_in_one_spelling(raw: str, shown: str) -> None:
    assert document_name(raw) == shown


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ("../../etc/x", "steps out"),
        ("a/../../b", "steps out"),
        ("a\\..\\b", "steps out"),
        ("a/ .. /b", "steps out"),
        ("/etc/passwd", "absolute"),
        ("\\\\server\\share\\x", "absolute"),
        ("C:\\x.txt", "drive letter"),
        ("c:x.txt", "drive letter"),
        ("", "no name"),
        ("   ", "no name"),
        (".", "folder"),
        ("a/", "folder"),
        ("a\0b", "control"),
        ("a\nb", "control"),
        ("safe\u202etxt.exe", "control"),
        ("x" * (LONGEST + 1), "shorten"),
    ],
)
def test_a_name_that_is_no_name_says_what_is_wrong(raw: str, why: str) -> None:
    with pytest.raises(BadName, match=why):
        document_name(raw)


@given(st.text(max_size=300))
def test_every_name_is_either_refused_or_stays_inside_its_folder(raw: str) -> None:
    try:
        name = document_name(raw)
    except BadName:
        return
    assert name == unicodedata.normalize("NFC", name)
    assert 0 < len(name) <= LONGEST
    assert not name.startswith("/")
    assert not set(name.split("/")) & {"", ".", ".."}
    assert document_name(name) == name
