"""Requests that come twice, and when pages were last read: remembered, and forgotten with what they speak of."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from retrieval.catalogue import Catalogue
from retrieval.errors import KeyReused
from retrieval.types import JobRow, UploadRow
from retrieval.uploads import REMEMBERED


def jobs(*names: str) -> list[JobRow]:
    return [JobRow(name, "default", f"{name}.txt", name) for name in names]


def test_a_request_that_comes_again_is_answered_with_its_first_jobs_and_adds_none(catalogue: Catalogue) -> None:
    first, replayed = catalogue.add_jobs(jobs("a", "b"), UploadRow("key", "digest", ("a", "b")))
    assert (replayed, [job.id for job in first]) == (False, ["a", "b"])
    catalogue.update_job("a", state="done")
    again, replayed = catalogue.add_jobs(jobs("c"), UploadRow("key", "digest", ("c",)))
    assert (replayed, [(job.id, job.state) for job in again]) == (True, [("a", "done"), ("b", "queued")])
    assert catalogue.upload("key", "digest") == again
    assert catalogue.upload("another", "digest") is None
    assert {job.id for job in catalogue.jobs()} == {"a", "b"}


def test_a_key_with_another_body_is_refused_and_adds_nothing(catalogue: Catalogue) -> None:
    catalogue.add_jobs(jobs("a"), UploadRow("key", "digest", ("a",)))
    with pytest.raises(KeyReused, match="another body"):
        catalogue.add_jobs(jobs("b"), UploadRow("key", "other", ("b",)))
    with pytest.raises(KeyReused):
        catalogue.upload("key", "other")
    assert [job.id for job in catalogue.jobs()] == ["a"]


def test_a_request_is_remembered_for_a_day(catalogue: Catalogue) -> None:
    catalogue.add_jobs(jobs("a"), UploadRow("key", "digest", ("a",), at=time.time() - REMEMBERED - 1))
    assert catalogue.upload("key", "other") is None
    added, replayed = catalogue.add_jobs(jobs("b"), UploadRow("key", "other", ("b",)))
    assert (replayed, [job.id for job in added]) == (False, ["b"])
    catalogue.add_jobs(jobs("c"), UploadRow("old", "digest", ("c",), at=time.time() - REMEMBERED - 1))
    assert catalogue.forget_finished(before=0.0).uploads == 1


def test_jobs_without_a_key_are_queued_all_or_none(catalogue: Catalogue) -> None:
    assert catalogue.add_jobs(jobs("a"))[1] is False
    with pytest.raises(Exception, match="job a exists already"):
        catalogue.add_jobs(jobs("b", "a"))
    assert [job.id for job in catalogue.jobs()] == ["a"]


def test_a_request_goes_whole_with_the_document_that_one_of_its_jobs_brought(catalogue: Catalogue, whole: Callable[..., Any]) -> None:
    whole(1, ("p",)).add_to(catalogue)
    catalogue.add_jobs(jobs("a", "b"), UploadRow("key", "digest", ("a", "b")))
    catalogue.update_job("a", state="done", document="d1")
    assert catalogue.delete_document("d1").uploads == 1
    assert catalogue.upload("key", "anything") is None
    assert [job.id for job in catalogue.jobs()] == ["b"]


def test_uses_are_the_latest_that_were_noted_and_go_with_their_page(catalogue: Catalogue, whole: Callable[..., Any]) -> None:
    whole(1, ("p", "q")).add_to(catalogue)
    whole(2, ("q",)).add_to(catalogue)
    catalogue.note_uses({"p@72": 5.0, "q@120": 6.0, "gone@72": 7.0})
    catalogue.note_uses({"p@72": 9.0, "q@120": 3.0})
    assert catalogue.uses() == {"p@72": 9.0, "q@120": 6.0}
    before = list(catalogue.dump())
    catalogue.note_uses({"q@120": 10.0})
    assert list(catalogue.dump()) == before
    catalogue.delete_document("d1")
    assert catalogue.uses() == {"q@120": 10.0}
