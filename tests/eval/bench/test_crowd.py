"""What a client waited is split without a rest, and clients at once each get an answer."""

import pytest

from eval.bench.client import Heard
from eval.bench.crowd import PARTS, Level, split, summary

TIMINGS = {"retrieve": 0.02, "plan": 0.001, "load": 0.002, "place": 0.01, "prefill": 0.03, "first_token": 0.163, "rest": 0.5}
HEARD = Heard(0, 0.2, 0.163, TIMINGS)


def test_the_parts_add_up_to_what_the_client_waited() -> None:
    found = split(HEARD)
    assert tuple(found) == PARTS
    assert sum(found.values()) == pytest.approx(0.2)
    assert found["waiting"] == pytest.approx(0.1)
    assert found["client"] == pytest.approx(0.037)


def test_a_level_is_summed_up_against_a_full_prefill() -> None:
    row = summary(Level(4, (HEARD, HEARD), 0.5), 0.4)
    assert row["clients"] == 4
    assert row["first_content"]["p50"] == pytest.approx(0.2)
    assert row["answers_a_second"] == 4.0
    assert row["ratio_to_full"] == pytest.approx(0.5)
    assert row["ratio_to_full_without_waiting"] == pytest.approx(0.25)
    assert summary(Level(4, (HEARD,), 0.5), None)["ratio_to_full"] is None
