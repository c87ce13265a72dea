"""Summaries: ratios are of pairs, and of what they say."""

import pytest

from eval.bench.client import Heard
from eval.bench.permutator import Ordered, Permuted
from eval.bench.served import Request
from eval.bench.summary import by_way, heard, permuted, ratios


def _request(way: str, number: int, question: float, retrieve: float = 1.0) -> Request:
    return Request(way, number, {"retrieve": retrieve, "question": question}, retrieve + question, 100, 16, 7)


REQUESTS = [_request("ram", 0, 1.0), _request("full", 0, 9.0), _request("ram", 1, 3.0), _request("full", 1, 7.0)]


def test_ratios_are_paired_by_question() -> None:
    (row,) = ratios(REQUESTS)
    assert row["way"] == "ram"
    assert row["first_token"]["mean"] == pytest.approx((2 / 10 + 4 / 8) / 2)
    assert row["context_and_question"]["mean"] == pytest.approx((1 / 9 + 3 / 7) / 2)


def test_without_full_prefill_there_is_no_ratio() -> None:
    assert ratios([one for one in REQUESTS if one.way == "ram"]) == []


def test_a_way_has_its_parts_and_no_others() -> None:
    full, ram = by_way(REQUESTS)
    assert (full["way"], ram["way"]) == ("full", "ram")
    assert set(ram["parts"]) == {"retrieve", "question"}
    assert ram["first_token"]["p50"] == 3.0
    assert ram["rows"] == [100, 100]
    assert ram["question_tokens"] == [16, 16]


def test_answers_without_text_are_counted_apart() -> None:
    row = heard([Heard(0, 3.0, 2.0), Heard(1, None, 2.0)], REQUESTS)
    assert row["without_text"] == 1
    assert row["overhead"]["mean"] == 1.0
    assert row["ratio_of_medians"] == pytest.approx(3 / 9)
    assert heard([Heard(0, 3.0, 2.0)], [])["ratio_of_medians"] is None


def test_compiling_is_repaid_by_what_each_request_saves() -> None:
    asked = [Ordered("caches", (0,), 1.0, 0, 10), Ordered("prefix", (0,), 0.5, 4, 10), Ordered("full", (0,), 5.0, 10, 10)]
    row = permuted(Permuted(asked, 8.0, 1))
    assert row["repaid_after"] == {"full": 2.0, "prefix": None}
    assert [one["served"] for one in row["ways"]] == [1.0, pytest.approx(0.6), 0.0]
