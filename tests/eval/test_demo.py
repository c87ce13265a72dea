"""The demo, run whole: twelve documents, twenty questions, an honest count. Nothing on the way may reach a network."""

import socket
from pathlib import Path

import pytest

from eval.command import main


def test_the_demo_answers_twenty_questions_without_a_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError(f"a connection was opened: {args}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    assert main(["demo", "--home", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert said.count("read from") == 20
    right = said.count("✓")
    assert f"{right} of 20 exactly right" in said
    assert "the intervals overlap" in said
    assert 5 <= right <= 18
    assert "quire serve" in said
