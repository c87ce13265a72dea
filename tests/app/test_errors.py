"""The one table: every error that any room has drawn has a row of its own, and an unknown one gives nothing away."""

import errno
import importlib
import inspect

import pytest

from app import errors
from cache_compiler.errors import IdentityMismatch
from retrieval.errors import UnknownPage

ROOMS = ("app", "cache_compiler", "ingest", "renderer", "retrieval")


def drawn(room: str) -> list[type[Exception]]:
    module = importlib.import_module(f"{room}.errors")
    return [
        kind
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if issubclass(kind, Exception) and kind.__module__ == module.__name__
    ]


@pytest.mark.parametrize("room", ROOMS)
def test_every_error_of_a_room_has_a_row_of_its_own(room):
    assert len(drawn(room)) > 3
    assert [kind.__name__ for kind in drawn(room) if kind not in errors.TABLE] == []


@pytest.mark.parametrize("room", ROOMS)
def test_every_error_of_a_room_stands_in_the_tree_at_the_top_of_its_file(room):
    tree = importlib.import_module(f"{room}.errors").__doc__
    assert [kind.__name__ for kind in drawn(room) if kind.__name__ not in tree] == []


def test_names_are_unique_for_a_failed_event_carries_only_the_name():
    names = [kind.__name__ for kind in errors.TABLE]
    assert len(names) == len(set(names))
    assert errors.row_named("UnknownPage") == errors.row_of(UnknownPage("x")) == errors.Row(404, errors.NOT_FOUND)
    assert errors.row_named("SomethingElse") == errors.UNKNOWN


def test_rows_are_client_or_server_errors_and_never_the_exit_code_of_success():
    for kind, row in errors.TABLE.items():
        assert 400 <= row.status < 600, kind
        assert row.exit not in (0, 1), kind


def test_a_child_without_a_row_falls_back_to_its_nearest_parent():
    class Worse(UnknownPage):
        pass

    assert errors.row_of(Worse("x")) == errors.TABLE[UnknownPage]


def test_an_error_that_no_room_has_drawn_is_a_fault_of_ours():
    assert errors.known(ZeroDivisionError("secret")) is None
    assert errors.known(KeyboardInterrupt()) is None
    assert errors.row_of(ZeroDivisionError("secret")) == errors.Row(500, errors.INTERNAL)


def test_a_full_disk_is_told_as_such_and_without_the_path():
    found = errors.known(OSError(errno.ENOSPC, "No space left on device", "/secret/place"))
    assert isinstance(found, errors.DiskFull)
    assert "/secret" not in str(found)
    assert errors.known(OSError(errno.EACCES, "Permission denied")) is None


def test_the_shape_carries_what_differs_and_leaves_out_what_is_empty():
    told = errors.body(IdentityMismatch("made with another model", field="model", stored="a", loaded="b"))
    assert told == {
        "error": {
            "type": "IdentityMismatch",
            "message": "made with another model",
            "detail": {"field": "model", "stored": "a", "loaded": "b"},
        }
    }
    assert errors.body(UnknownPage("no page"))["error"]["detail"] == {}
