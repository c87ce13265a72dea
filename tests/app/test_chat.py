"""A chat, run as a script would: lines of a pipe in, answers out; and the signs that a person gives."""

import io
import signal
import sys

from app.chat import Chat
from app.command import main
from app.house import House

# Each finds a page of its own.
VOLTAGE, RENEWAL = "Tell me the voltage of Sleke bridge.", "What is the renewal of the supplier of Cioclio farm?"


def test_every_line_is_answered_in_one_conversation(house: House, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{VOLTAGE}\n\n{RENEWAL}\n/pages\n/forget\n/pages\n{RENEWAL}\n/quit\nnever asked\n"))
    assert main(["chat", "--show-pages", "--home", str(house.workshop.home.root)]) == 0
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if line.startswith("turn ")] == [
        "turn 1: 0 kept, 1 admitted, 0 recalled, 0 evicted; 0 rows moved",
        "turn 2: 1 kept, 1 admitted, 0 recalled, 0 evicted; 0 rows moved",
        "turn 1: 0 kept, 1 admitted, 0 recalled, 0 evicted; 0 rows moved",
    ]
    assert "No page stands in the window yet." in out
    assert out.count("kept  ") == 2  # in the second answer's pages, and where they were asked for
    assert "never asked" not in out


def test_a_question_that_fails_is_told_and_the_next_one_is_answered(house: House, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{'x' * 5000}\n/nonsense\n\ud800\n{RENEWAL}\n"))
    assert main(["chat", "--home", str(house.workshop.home.root)]) == 1
    out, err = capsys.readouterr()
    assert "the limit is 4,000" in err
    assert "/nonsense is no command" in err
    assert "cannot be read at its character 1" in err
    assert out.strip()
    assert "turn" not in out  # pages are shown only when they are asked for


def test_a_collection_that_is_not_there_ends_the_chat_before_it_begins(house: House, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{RENEWAL}\n"))
    assert main(["chat", "--collection", "nowhere", "--home", str(house.workshop.home.root)]) == 3
    assert main(["chat", "--collection", "No Name", "--home", str(house.workshop.home.root)]) == 2


def test_a_line_of_a_pipe_that_is_no_text_is_refused_and_the_next_one_is_answered(house: House, monkeypatch, capsys):
    pipe = io.TextIOWrapper(io.BytesIO(b"\xff\xfe\n" + RENEWAL.encode() + b"\n"), encoding="utf-8", errors="strict")
    monkeypatch.setattr(sys, "stdin", pipe)
    assert main(["chat", "--home", str(house.workshop.home.root)]) == 1
    out, err = capsys.readouterr()
    assert "cannot be read at its character 1" in err
    assert out.strip()


def test_a_closed_standard_input_is_said_before_anything_is_loaded(house: House, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["chat", "--model", "/nowhere", "--home", str(house.workshop.home.root)]) == 2
    assert "standard input, which is closed" in capsys.readouterr().err


def test_an_interrupt_stops_the_answer_and_not_the_chat(house: House, monkeypatch, capsys):
    forward, calls = house.backbone.forward, []

    def interrupting(*args, **kwargs):
        calls.append(1)
        if len(calls) == 3:
            signal.raise_signal(signal.SIGINT)
        return forward(*args, **kwargs)

    before = signal.getsignal(signal.SIGINT)
    chat = Chat(house, "default", show_pages=False)
    with monkeypatch.context() as patch:
        patch.setattr(house.backbone, "forward", interrupting)
        assert chat.ask(VOLTAGE)
    assert chat.last is not None
    assert chat.last.finish == "cancelled"
    assert "[stopped]" in capsys.readouterr().out
    assert signal.getsignal(signal.SIGINT) is before
    assert chat.ask(RENEWAL)
    assert chat.last.finish != "cancelled"
    assert chat.last.conversation.turn == 2
    chat.forget()


def test_at_a_terminal_an_interrupt_takes_the_line_back_and_the_end_of_input_leaves(monkeypatch, capsys):
    from app.chat import _lines

    said = iter(["one", KeyboardInterrupt(), "two", EOFError()])

    def type_in(prompt: str) -> str:
        word = next(said)
        if isinstance(word, BaseException):
            raise word
        return word

    monkeypatch.setattr(sys, "stdin", type("Terminal", (io.StringIO,), {"isatty": lambda self: True})())
    monkeypatch.setattr("builtins.input", type_in)
    assert list(_lines()) == ["one", "two"]


def test_a_control_character_in_a_command_does_not_reach_the_terminal(house: House, capsys):
    Chat(house, "default", show_pages=False).run(iter(["/\x1b[2J\n"]))
    assert "\x1b" not in capsys.readouterr().err
