"""Cursors: a list comes in parts without a row twice or missing, and nothing but a cursor of ours is taken for one."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app import paging
from app.errors import BadRequest


@given(names=st.lists(st.text(min_size=1).filter(lambda text: text.isprintable()), unique=True), limit=st.integers(1, 5))
def test_the_parts_put_together_are_the_list(names, limit):
    names, seen, after = sorted(names), [], None
    while True:
        place = paging.place(after, str)
        rows = [name for name in names if place is None or name > place][: limit + 1]
        rows, after = paging.part(rows, limit, lambda name: name)
        seen += rows
        assert len(rows) <= limit
        if after is None:
            break
    assert seen == names


def sent(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()


@pytest.mark.parametrize("cursor", ["", "x", "é", "====", sent(None), sent(3), sent([]), sent(True), sent("\ud800"), "[" * 2000])
def test_a_cursor_that_is_none_is_refused(cursor):
    with pytest.raises(BadRequest, match="no cursor of this list"):
        paging.place(cursor, str)


@pytest.mark.parametrize("cursor", [sent("a"), sent(-1), sent(2**63), sent(1.5), sent(True), sent(None)])
def test_a_number_that_no_database_counts_to_is_refused(cursor):
    with pytest.raises(BadRequest, match="no cursor of this list"):
        paging.place(cursor, int)
