"""Transactions: whole or not at all, readers beside a writer, nothing after closing."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from retrieval.connections import Connections
from retrieval.errors import RetrievalError


@pytest.fixture
def connections(tmp_path: Path) -> Connections:
    return Connections(tmp_path / "c.sqlite")


def keys(connections: Connections) -> list[str]:
    with connections.read() as connection:
        return [row[0] for row in connection.execute("SELECT key FROM removals ORDER BY key")]


def test_an_error_inside_undoes_every_statement(connections: Connections) -> None:
    def write(*statements: str) -> None:
        with connections.write() as connection:
            for statement in statements:
                connection.execute(statement)
            raise KeyError

    with pytest.raises(KeyError):
        write("INSERT INTO removals VALUES ('a')")
    with pytest.raises(RetrievalError, match=r"c\.sqlite failed: UNIQUE"):
        write("INSERT INTO removals VALUES ('b')", "INSERT INTO removals VALUES ('b')")
    assert keys(connections) == []


def test_a_reader_keeps_its_view_while_another_thread_commits(connections: Connections) -> None:
    with connections.read() as connection:
        assert connection.execute("SELECT count(*) FROM removals").fetchone() == (0,)

        def write() -> None:
            with connections.write() as other:
                other.execute("INSERT INTO removals VALUES ('a')")

        writer = threading.Thread(target=write)
        writer.start()
        writer.join()
        assert connection.execute("SELECT count(*) FROM removals").fetchone() == (0,)
    assert keys(connections) == ["a"]


def test_after_closing_a_transaction_is_refused_and_one_under_way_ends_well(connections: Connections) -> None:
    with connections.write() as connection:
        connections.close()
        connection.execute("INSERT INTO removals VALUES ('a')")
    with pytest.raises(RetrievalError, match="is closed"):
        keys(connections)
    connections.close()
    assert keys(Connections(connections.path)) == ["a"]


def test_a_long_reader_keeps_the_log_and_keeps_no_writer_waiting(connections: Connections) -> None:
    with connections.write() as connection:
        connection.execute("INSERT INTO removals VALUES ('a')")
    with connections.read() as reader:
        reader.execute("SELECT * FROM removals").fetchall()
        with connections.write() as connection:
            connection.execute("DELETE FROM removals")
        assert not connections.empty_log()
        assert connections.log_left
        with connections.write() as connection:
            assert connection.execute("PRAGMA busy_timeout").fetchone() == (30_000,)
            connection.execute("INSERT INTO removals VALUES ('b')")
    assert connections.empty_log()
    assert not connections.log_left
    assert connections.path.with_name("c.sqlite-wal").stat().st_size == 0
