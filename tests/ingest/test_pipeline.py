"""The offline walk: restartable, unchanged files skipped, a bad file one line of the report."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cache_compiler.errors import IdentityMismatch
from ingest.pipeline import ingest
from ingest.types import Progress
from ingest.workshop import Workshop

from .conftest import Open, files_of

ROOT = Path(__file__).resolve().parent.parent.parent


def test_a_folder_becomes_documents_pages_and_caches(workshop: Workshop, records: Path) -> None:
    seen: list[Progress] = []
    report = ingest([records], "default", workshop, progress=seen.append)
    assert [done.name for done in report.done] == ["a.txt", "b.txt", "c.txt"]
    assert [(done.pages, done.compiled) for done in report.done] == [(1, 2), (2, 4), (1, 2)]
    assert not report.failed
    assert not report.skipped
    assert len(list(workshop.store.keys())) == 8
    assert [row.name for row in workshop.catalogue.documents("default")] == ["a.txt", "b.txt", "c.txt"]
    assert {progress.stage for progress in seen} >= {"load", "chunk", "rasterise", "compile", "index", "done"}


def test_ingesting_twice_compiles_nothing_and_changes_no_byte(workshop: Workshop, records: Path) -> None:
    ingest([records], "default", workshop)
    before, rows = files_of(workshop.home.root), list(workshop.catalogue.dump())
    report = ingest([records], "default", workshop)
    assert report.skipped == ("a.txt", "b.txt", "c.txt")
    assert not report.done
    assert files_of(workshop.home.root) == before
    assert list(workshop.catalogue.dump()) == rows


def test_a_changed_file_takes_its_own_place_and_its_old_pages_go(workshop: Workshop, records: Path) -> None:
    ingest([records], "default", workshop)
    old = workshop.catalogue.document_named("default", "a.txt")
    assert old is not None
    old_pages = [page.key for chunk in workshop.catalogue.chunks_of(old.id) for page in chunk.pages]
    (records / "a.txt").write_text("Brobo tower has staff 899 people.\n")
    report = ingest([records], "default", workshop)
    assert [done.name for done in report.done] == ["a.txt"]
    assert len(workshop.catalogue.documents("default")) == 3
    assert not any(workshop.home.derived_files(f"{key}@{dpi}") for key in old_pages for dpi in (72, 120))


def test_a_second_file_of_the_same_name_is_refused_and_the_first_stays(workshop: Workshop, records: Path, tmp_path: Path) -> None:
    ingest([records], "default", workshop)
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "a.txt").write_text("Brobo tower has staff 899 people.\n")
    before = list(workshop.catalogue.dump())
    report = ingest([other / "a.txt"], "default", workshop)
    assert [(failure.name, failure.kind) for failure in report.failed] == [("a.txt", "NameTaken")]
    assert "replace" in report.failed[0].reason
    assert list(workshop.catalogue.dump()) == before
    assert [done.name for done in ingest([other / "a.txt"], "default", workshop, replace=True).done] == ["a.txt"]


def test_bad_files_are_lines_of_the_report_and_the_good_ones_go_in(workshop: Workshop, records: Path) -> None:
    (records / "empty.txt").write_bytes(b"")
    (records / "spaces.txt").write_text(" \n\n ")
    (records / "cut.docx").write_bytes(b"PK\x03\x04 not a whole archive")
    (records / "sheet.xyz").write_text("?")
    (records / "utf16.txt").write_bytes("Hamburgers are delicious.".encode("utf-16"))
    (records / "latin.txt").write_bytes("Wir können Brötchen backen, schöne große Brötchen für alle.".encode("latin-1"))
    report = ingest([records, records / "absent.txt"], "default", workshop)
    kinds = {failure.name: failure.kind for failure in report.failed}
    assert kinds == {
        "empty.txt": "EmptyFile",
        "spaces.txt": "NoText",
        "cut.docx": "DamagedFile",
        "absent.txt": "FileNotFound",
    }
    assert all(failure.name in failure.reason for failure in report.failed)
    assert report.passed == ("sheet.xyz",)
    named = ingest([records / "sheet.xyz"], "default", workshop)
    assert [failure.kind for failure in named.failed] == ["UnsupportedType"]
    assert {done.name for done in report.done} == {"a.txt", "b.txt", "c.txt", "utf16.txt", "latin.txt"}
    latin = workshop.catalogue.document_named("default", "latin.txt")
    assert latin is not None
    assert "können" in workshop.catalogue.chunks_of(latin.id)[0].text


def test_a_line_of_five_megabytes_ends_in_its_own_error_and_the_rest_goes_on(workshop: Workshop, records: Path) -> None:
    (records / "0-long.txt").write_text("word " * 1_000_000)
    report = ingest([records], "default", workshop)
    assert [(failure.name, failure.kind) for failure in report.failed] == [("0-long.txt", "TooLarge")]
    assert "rendered_pages" in report.failed[0].reason
    assert len(report.done) == 3


def test_a_cancelled_run_says_so_and_goes_on_where_it_stopped(workshop: Workshop, records: Path, open_at: Open, tmp_path: Path) -> None:
    calls = iter(range(1_000))
    report = ingest([records], "default", workshop, cancelled=lambda: next(calls) > 12)
    assert report.cancelled
    assert 0 < len(report.done) < 3
    ingest([records], "default", workshop)
    whole = open_at(tmp_path / "whole")
    ingest([records], "default", whole)
    assert files_of(workshop.home.root) == files_of(whole.home.root)
    assert list(workshop.catalogue.dump()) == list(whole.catalogue.dump())


def test_pages_shared_by_two_documents_are_compiled_once(workshop: Workshop, records: Path) -> None:
    (records / "copy.txt").write_bytes((records / "c.txt").read_bytes())
    report = ingest([records], "default", workshop)
    assert {done.name: done.compiled for done in report.done}["copy.txt"] == 0
    assert len(list(workshop.store.keys())) == 8


def test_a_collection_of_another_style_is_refused_by_the_field(workshop: Workshop, records: Path, backbone, embedder) -> None:
    from ingest.home import Home
    from ingest.opening import open_workshop

    ingest([records / "a.txt"], "default", workshop)
    other = open_workshop(Home(workshop.home.root), backbone, embedder, style="glyph-a4")
    with pytest.raises(IdentityMismatch, match="style") as refusal:
        ingest([records / "b.txt"], "default", other)
    assert refusal.value.field == "style"
    other.close()


def _run_ingest(home: Path, folder: Path) -> subprocess.Popen[bytes]:
    program = (
        "import sys; from pathlib import Path; from app.settings import Settings; from app.house import House; from ingest.pipeline import ingest\n"
        "house = House.open(Settings(home=Path(sys.argv[1]), batch=2))\n"
        "print('open', flush=True)\n"
        "ingest([Path(sys.argv[2])], 'default', house.workshop)\n"
        "house.close()\n"
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-c", program, str(home), str(folder)], cwd=ROOT, env=environment, stdout=subprocess.PIPE)


@pytest.mark.slow
def test_a_run_killed_at_any_moment_ends_in_the_same_store_byte_for_byte(records: Path, tmp_path: Path) -> None:
    """kill -9 at random points, then run it again to its end: files and catalogue rows are those of a run that was let be."""
    from retrieval.catalogue import Catalogue

    whole = tmp_path / "whole"
    process = _run_ingest(whole, records)
    assert process.stdout is not None
    process.stdout.readline()
    begun = time.monotonic()
    assert process.wait() == 0
    length = time.monotonic() - begun

    rng = random.Random(5)
    home, killed = tmp_path / "killed", 0
    for _ in range(3):
        process = _run_ingest(home, records)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(length * rng.uniform(0.05, 0.6))
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
    assert killed, "every run ended before it could be killed"
    assert _run_ingest(home, records).wait() == 0
    assert files_of(home) == files_of(whole)
    assert list(Catalogue(home / "catalogue.sqlite").dump()) == list(Catalogue(whole / "catalogue.sqlite").dump())


def test_what_cannot_be_opened_is_a_line_of_the_report_and_the_others_go_on(workshop: Workshop, records: Path, tmp_path: Path) -> None:
    """A pipe that nobody writes to, a link to itself, and a name that no system takes."""
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "loop.txt").symlink_to(tmp_path / "loop.txt")
    report = ingest([tmp_path / "pipe.txt", tmp_path / "loop.txt", tmp_path / ("a" * 5000), records / "a.txt"], "default", workshop)
    assert [done.name for done in report.done] == ["a.txt"]
    assert [(item.name[:8], item.kind) for item in report.failed] == [
        ("pipe.txt", "UnsupportedType"),
        ("loop.txt", "Unreadable"),
        ("aaaaaaaa", "BadName"),
    ]
