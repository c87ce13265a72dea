"""Seconds: percentiles are numpy's, and each step of the served walk is waited for without becoming another walk."""

import pytest
import torch

from app.ask import answer
from app.types import Done
from eval.bench.clock import SettledTurns, percentiles, settle, timed
from eval.bench.corpus import Corpus


def test_percentiles_lie_between_values_linearly() -> None:
    found = percentiles([1.0, 2.0, 3.0, 4.0, 5.0])
    assert found == {"n": 5, "mean": 3.0, "p50": 3.0, "p90": pytest.approx(4.6), "p99": pytest.approx(4.96), "min": 1.0, "max": 5.0}


def test_of_nothing_there_are_no_percentiles() -> None:
    with pytest.raises(ValueError, match="no measurement"):
        percentiles([])


def test_what_is_timed_is_done_once() -> None:
    done: list[int] = []
    assert timed(torch.device("cpu"), lambda: done.append(1)) >= 0
    assert done == [1]
    settle(torch.device("cpu"))


def test_the_walk_waits_behind_load_and_behind_place_and_answers_the_same(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    def said() -> str:
        return next(event.answer.text for event in answer(corpus.question(0, 6), corpus.house) if isinstance(event, Done))

    plain = said()
    waits: list[str] = []
    turns = SettledTurns(corpus.house.conversations, lambda: waits.append("wait"))
    monkeypatch.setattr(corpus.house, "conversations", turns)
    assert said() == plain
    assert waits == ["wait", "wait"]
    turns.close()  # what is not a turn is the walk's own
