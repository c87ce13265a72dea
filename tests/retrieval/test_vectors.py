"""Unit rows, their checks and their digest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retrieval.errors import RetrievalError
from retrieval.vectors import check_rows, digest, unit_rows


# No deadline: a busy machine is no fault of the code.
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(st.floats(-1e30, 1e30).filter(lambda x: abs(x) > 1e-30), min_size=3, max_size=3), min_size=1, max_size=5))
def test_rows_become_unit_length_and_keep_their_direction(rows: list[list[float]]) -> None:
    unit = unit_rows(rows, ["t"] * len(rows))
    assert unit.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1.0, atol=1e-6)
    assert (np.sign(unit) * np.sign(rows) >= 0).all()


@pytest.mark.parametrize(
    ("bad", "what"), [([np.nan, 1.0], "NaN or infinity"), ([np.inf, 0.0], "NaN or infinity"), ([0.0, 0.0], "zero vector")]
)
def test_a_useless_vector_names_its_text(bad: list[float], what: str) -> None:
    with pytest.raises(RetrievalError, match=f"{what}.* for text 1 of 2, 'the culprit'"):
        unit_rows([[1.0, 2.0], bad], ["fine", "the culprit"])


def test_a_wrong_number_of_rows_is_an_error() -> None:
    with pytest.raises(RetrievalError, match="for 2 texts"):
        unit_rows([[1.0, 0.0]], ["a", "b"])


def test_stored_rows_must_have_the_shape_and_the_length_of_unit_vectors() -> None:
    good = np.eye(3, dtype=np.float32)
    np.testing.assert_array_equal(check_rows(good, 3, 3), good)
    with pytest.raises(RetrievalError, match=r"\(3, 3\), not \(3, 4\)"):
        check_rows(good, 3, 4)
    with pytest.raises(RetrievalError, match="vector 2 of 3 is not of unit length"):
        check_rows(good * np.array([[1], [1], [1.1]], dtype=np.float32), 3, 3)
    with pytest.raises(RetrievalError, match="vector 0 of 3"):
        check_rows(good * np.float32(np.nan), 3, 3)


def test_the_digest_sees_ids_vectors_and_shape() -> None:
    ids, vectors = np.array([1, 2], dtype=np.int64), np.eye(2, dtype=np.float32)
    seen = {
        digest(ids, vectors),
        digest(ids[::-1], vectors),
        digest(ids, vectors[::-1]),
        digest(ids[:0], vectors[:0]),
        digest(ids[:0], vectors[:0, :1]),
    }
    assert len(seen) == 5
    assert digest(ids, np.asfortranarray(vectors)) == digest(ids, vectors)
