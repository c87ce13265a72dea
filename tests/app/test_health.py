"""Readiness: whatever keeps the house from being used is told in a sentence, one at a time."""

import pytest

from app import health
from app.deps import Porch
from app.health import unready


@pytest.fixture
def porch(house, monkeypatch) -> Porch:
    """A porch before a real house, whose queue of uploads is at work."""
    made = Porch()
    made.house = house
    monkeypatch.setattr(type(house.jobs), "working", True)
    return made


def test_a_house_that_can_be_used_is_ready(porch):
    assert unready(porch) == ""


def test_a_house_that_is_not_loaded_says_what_it_waits_for():
    assert unready(Porch()) == "the model is being loaded"


def test_a_server_that_stops_is_not_ready_whatever_else_is(porch):
    porch.closing.begin()
    assert "shutting down" in unready(porch)


def test_a_full_disk_is_told(porch, monkeypatch):
    monkeypatch.setattr(health, "ROOM", 1 << 62)
    assert "no room left" in unready(porch)


def test_a_home_that_cannot_be_written_to_is_told(porch, monkeypatch):
    monkeypatch.setattr(health.os, "access", lambda *_: False)
    assert "cannot be written to" in unready(porch)


def test_a_queue_of_uploads_that_has_ended_is_told(house):
    made = Porch()
    made.house = house
    assert not house.jobs.working  # nobody started it
    assert "queue of uploads has ended" in unready(made)
