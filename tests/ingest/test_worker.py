"""The worker as it is started for real: limits that bite, replies without a stray line, no heavy imports."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ingest import sandbox
from ingest.errors import EmptyFile, ParserStopped, TooLarge
from ingest.types import Limits
from ingest.worker import answer, read

ROOT = Path(__file__).resolve().parents[2]


def request(path: Path, parser: str = "text", **limits: Any) -> dict[str, Any]:
    from dataclasses import asdict

    return {"path": str(path), "parser": parser, "limits": asdict(Limits(**limits))}


def test_the_reply_has_text_blocks_and_the_hash_of_what_was_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes("größer\n".encode())
    reply = sandbox.run(request(path), Limits())
    assert reply["text"] == "größer"
    assert reply["blocks"][0]["end"] == 6
    assert (reply["sha256"], reply["bytes"]) == (hashlib.sha256(path.read_bytes()).hexdigest(), 9)


def test_a_parser_that_wants_more_memory_than_allowed_is_stopped(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"words of a line\n" * 4_000_000)
    with pytest.raises(ParserStopped, match=r"201,326,592 bytes.*parse_memory"):
        sandbox.run(request(path, parse_memory=192 << 20), Limits(parse_memory=192 << 20))


def test_nothing_heavy_is_imported_to_read_a_text(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("words")
    program = (
        "import sys; from pathlib import Path; from ingest.worker import answer; from ingest.types import Limits;"
        f"answer(Path({str(path)!r}), 'text', Limits());"
        "print(sorted({name.split('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    heavy = ("torch", "numpy", "lxml", "docx", "pymupdf", "markdown_it", "charset_normalizer", "PIL", "renderer", "retrieval")
    assert not [name for name in heavy if f"'{name}'" in done.stdout]


def test_only_known_parsers_are_ever_imported(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no parser"):
        answer(tmp_path, "../../evil", Limits())


def test_a_file_is_read_no_further_than_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    assert read(path, Limits(file_bytes=5)) == b"12345"
    with pytest.raises(TooLarge, match="file_bytes"):
        read(path, Limits(file_bytes=4))
    path.write_bytes(b"")
    with pytest.raises(EmptyFile):
        read(path, Limits())


@pytest.mark.parametrize("parser", ["pdf", "pdfium"])
def test_the_reply_is_the_only_line_on_standard_output(tmp_path: Path, parser: str) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(b"%PDF-1.4 broken")
    done = subprocess.run(
        [sys.executable, "-m", "ingest.worker"], input=json.dumps(request(path, parser)).encode(), cwd=ROOT, capture_output=True, check=True
    )
    assert json.loads(done.stdout)["error"] == "DamagedFile"
