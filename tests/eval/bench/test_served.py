"""The ways: each on the same questions and pages, its parts add up, and a cache comes from where the way says. No test asks how fast."""

import pytest

from eval.bench.corpus import Corpus
from eval.bench.served import ask, emptied, measure, ways_of
from eval.errors import EvalError


def test_every_request_is_split_into_parts_that_add_up(corpus: Corpus) -> None:
    said: list[str] = []
    requests = measure(corpus, ["ram", "disk", "full"], 2, 1, said.append)
    assert [(one.way, one.number) for one in requests] == [("ram", 1), ("disk", 1), ("full", 1), ("ram", 2), ("disk", 2), ("full", 2)]
    assert "warm-up" in said[0]
    for one in requests:
        assert sum(one.parts.values()) == pytest.approx(one.first_token)
        assert 0 < one.context_and_question < one.first_token
    # The same pages both ways.
    assert {one.rows for one in requests if one.number == 1} == {requests[0].rows}
    assert {"load", "place"} <= set(requests[0].parts)
    assert {"encode", "context"} <= set(requests[2].parts)


def test_memory_reads_no_file_and_the_disk_reads_every_page(corpus: Corpus) -> None:
    ram, disk = ask(corpus, "ram", 0), ask(corpus, "disk", 0)
    assert ram.bytes_read == 0
    assert disk.bytes_read > 0
    # What was measured from disk has left the memory as it was.
    assert ask(corpus, "ram", 0).bytes_read == 0


def test_cold_is_measured_or_left_out_with_its_reason(corpus: Corpus) -> None:
    ways, without = ways_of(["full", "caches"], corpus)
    assert ("cold" in ways) != ("cold" in without)
    if "cold" in ways:
        assert ask(corpus, "cold", 0).bytes_read == ask(corpus, "disk", 0).bytes_read


def test_an_emptied_store_has_its_memory_back_even_after_an_error(corpus: Corpus) -> None:
    kept = corpus.house.store.ram
    inside = []

    def fail() -> None:
        with emptied(corpus.house.store):
            inside.append(corpus.house.store.ram)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert inside[0] is not kept
    assert inside[0].limit == kept.limit
    assert corpus.house.store.ram is kept


def test_an_arm_that_is_none_is_told(corpus: Corpus) -> None:
    with pytest.raises(EvalError, match="full, caches"):
        ways_of(["fast"], corpus)


def test_pages_that_do_not_fit_are_told(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(corpus.house.backbone), "max_positions", property(lambda _: 250))
    for way in ("ram", "full"):
        with pytest.raises(EvalError, match="only 1 pages fit"):
            ask(corpus, way, 0)
