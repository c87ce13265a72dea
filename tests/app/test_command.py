"""The command line: its words, its exit codes, and no traceback for a person."""

import argparse
import errno
import io
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from app import command
from app.errors import STOPPED, BadSettings
from retrieval.errors import UnknownDocument

ROOT = Path(__file__).resolve().parent.parent.parent


def fails_with(error: BaseException) -> argparse.Namespace:
    def run(args):
        raise error

    return argparse.Namespace(run=run)


def test_a_known_error_is_one_line_and_its_own_exit_code(capsys):
    assert command.run(fails_with(UnknownDocument("no document x"))) == 3
    assert capsys.readouterr() == ("", "quire: no document x\n")
    assert command.run(fails_with(BadSettings("port is none"))) == 2


def test_an_unknown_error_gives_its_kind_alone(capsys):
    assert command.run(fails_with(ZeroDivisionError("secret"))) == 70
    assert capsys.readouterr().err == "quire: internal error (ZeroDivisionError); QUIRE_DEBUG=1 shows where\n"


def test_debugging_shows_where(capsys, monkeypatch):
    monkeypatch.setenv("QUIRE_DEBUG", "1")
    assert command.run(fails_with(ZeroDivisionError("secret"))) == 70
    assert "Traceback" in capsys.readouterr().err


def test_an_error_of_the_system_names_the_file(capsys):
    assert command.run(fails_with(OSError(errno.EACCES, "Permission denied", "/some/home"))) == 70
    assert capsys.readouterr().err == "quire: /some/home: Permission denied\n"


def test_an_interrupt_is_130(capsys):
    assert command.run(fails_with(KeyboardInterrupt())) == 130
    assert "stopped" in capsys.readouterr().err


def test_what_a_library_makes_of_an_interrupt_is_one_still(capsys):
    def run(args):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise ImportError("a bad install") from None

    before = signal.getsignal(signal.SIGINT)
    assert command.run(argparse.Namespace(run=run)) == 130
    assert capsys.readouterr().err == "\nquire: stopped\n"
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupt_that_was_answered_explains_no_later_error(capsys, monkeypatch):
    """As at the prompt of `quire chat`, where Ctrl-C takes the line back and the chat goes on."""
    from app import chat

    keys = iter([KeyboardInterrupt, "a question"])

    def typed(prompt: str) -> str:
        if (what := next(keys)) is KeyboardInterrupt:
            signal.raise_signal(signal.SIGINT)
        return what

    monkeypatch.setattr("builtins.input", typed)
    monkeypatch.setattr(chat.sys, "stdin", type("Terminal", (), {"isatty": lambda self: True})())

    def run(args):
        assert next(chat._lines()) == "a question"
        raise UnknownDocument("no document of that id")

    assert command.run(argparse.Namespace(run=run)) == 3
    assert capsys.readouterr().err == "quire: no document of that id\n"


def test_an_interrupt_while_things_are_imported_is_a_line_too():
    """In a process of its own: while the parser is built, an import is made to wait for the signal."""
    code = (
        "import builtins, signal\n"
        "from app.command import main\n"
        "true = builtins.__import__\n"
        "def slow(name, *rest, **more):\n"
        "    if name == 'pydantic': signal.raise_signal(signal.SIGINT)\n"
        "    return true(name, *rest, **more)\n"
        "builtins.__import__ = slow\n"
        "main(['config'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "\nquire: stopped\n")
    assert command.INTERRUPTED == STOPPED


def test_to_import_the_command_line_reads_nothing_heavy():
    code = "import sys, app.command; print([name for name in ('pydantic', 'numpy', 'torch', 'app.errors') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True).stdout == "[]\n"


def test_the_version_is_the_checkouts_own(capsys):
    said = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    with pytest.raises(SystemExit) as ended:
        command.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"quire {said}\n"


def test_other_rooms_can_add_commands():
    parser, subparsers = command.build_parser()
    bench = subparsers.add_parser("bench")
    bench.set_defaults(run=lambda args: 17)
    assert command.run(parser.parse_args(["bench"])) == 17


@pytest.mark.parametrize(
    "name", ["ingest", "estimate", "ask", "chat", "serve", "documents", "collections", "delete", "repair", "patch", "config"]
)
def test_every_command_explains_itself(name, capsys):
    parser, _ = command.build_parser()
    with pytest.raises(SystemExit) as ended:
        parser.parse_args([name, "--help"])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert "--home" in out
    assert "usage: quire " + name in out


def test_words_that_are_no_command_end_with_2(capsys):
    with pytest.raises(SystemExit) as ended:
        command.main(["nonsense"])
    assert ended.value.code == 2


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path):
    """`quire config | head -0` in a process of its own: the pipe is closed before anything is printed."""
    code = "import sys, time; from app.command import main; time.sleep(0.3); sys.exit(main(['config', '--home', sys.argv[1]]))"
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(60) == 0


def test_a_letter_that_the_terminal_lacks_is_spelled_out_and_costs_no_report(monkeypatch):
    """A file name that is no Unicode comes to Python as half a surrogate pair."""
    shown = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(shown, encoding="utf-8"))
    assert command.run(argparse.Namespace(run=lambda _: print('"é\udcff.txt"') or 0)) == 0
    assert shown.getvalue().decode() == '"é\\udcff.txt"\n'
