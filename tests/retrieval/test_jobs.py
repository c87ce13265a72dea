"""Jobs through the catalogue: kept whole, changed by name, listed newest first."""

from __future__ import annotations

import pytest

from retrieval.catalogue import Catalogue
from retrieval.errors import RetrievalError, UnknownJob
from retrieval.types import JobRow


def test_a_job_comes_back_as_it_went_in(catalogue: Catalogue) -> None:
    job = JobRow("j1", "default", "ä.pdf", "/spool/j1", "running", "compile", 3, 9, "d1", "no error", {"pages": [1, 2], "why": "ü"})
    catalogue.add_job(job)
    assert catalogue.job("j1") == job


def test_an_update_changes_the_named_fields_and_no_others(catalogue: Catalogue) -> None:
    job = JobRow("j1", "default", "a.pdf", "/spool/j1")
    catalogue.add_job(job)
    after = catalogue.update_job("j1", state="failed", error="page 3: damaged", detail={"page": 3})
    assert after == JobRow("j1", "default", "a.pdf", "/spool/j1", state="failed", error="page 3: damaged", detail={"page": 3})
    assert catalogue.job("j1") == after


def test_jobs_are_listed_newest_first_by_collection_and_state(catalogue: Catalogue) -> None:
    for name, collection, state in [("z", "a", "done"), ("y", "b", "queued"), ("x", "a", "queued"), ("w", "a", "failed")]:
        catalogue.add_job(JobRow(name, collection, name, "", state))
    assert [job.id for job in catalogue.jobs()] == ["w", "x", "y", "z"]
    assert [job.id for job in catalogue.jobs("a")] == ["w", "x", "z"]
    assert [job.id for job in catalogue.jobs(states=("queued", "done"))] == ["x", "y", "z"]
    assert [job.id for job in catalogue.jobs("a", ["queued"])] == ["x"]
    assert catalogue.jobs(states=()) == []


def test_unknown_jobs_fields_and_states_are_errors_and_change_nothing(catalogue: Catalogue) -> None:
    job = JobRow("j1", "default", "a.pdf", "")
    catalogue.add_job(job)
    with pytest.raises(UnknownJob, match="no job nope"):
        catalogue.job("nope")
    with pytest.raises(UnknownJob, match="no job nope"):
        catalogue.update_job("nope", done=1)
    with pytest.raises(RetrievalError, match=r"\['id', 'state = 1; --'\] cannot be set"):
        catalogue.update_job("j1", **{"state = 1; --": 1, "id": "j2"})
    with pytest.raises(RetrievalError, match="cannot be 'asleep'"):
        catalogue.update_job("j1", state="asleep")
    with pytest.raises(RetrievalError, match="job j1 exists already"):
        catalogue.add_job(job)
    assert catalogue.jobs() == [job]


def test_jobs_do_not_count_as_content(catalogue: Catalogue) -> None:
    before = catalogue.generation(), list(catalogue.dump())
    catalogue.add_job(JobRow("j1", "default", "a.pdf", ""))
    catalogue.update_job("j1", done=1)
    assert (catalogue.generation(), list(catalogue.dump())) == before
