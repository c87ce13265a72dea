"""Real documents, broken and hostile ones among them, go in by one upload: each ends as the manifest's last column says, and none blocks another.

A random tiny model compiles the pages at one DPI: what is under test is the way of a file, not the reader. Everyday tests take the short and the
hostile ones; all 36, of which two become 1,000 pages and more each, are for the slow test.
"""

from __future__ import annotations

import csv
import importlib.util
import re
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from starlette.testclient import TestClient

from app.main import create_app
from app.settings import Settings

# Whose pages take long to draw, to compile or to read by OCR.
LONG = (
    *("docling_multi_page.pdf", "multi_column_2p.pdf", "layout_parser_empty_pages.pdf", "scan_ocr_test.pdf", "cjk_korean_4pages.pdf"),
    *("long_riscv_238p.pdf", "nics_rotated_table.pdf", "handbook_872p.docx", "html_utf16.html", "text_rfc1951_formfeeds.txt"),
    *("page_layout_parser.jpg", "text_french_cp1252.txt"),
)
# What the manifest says in words -> the error's type.
ERRORS = {
    "password needed": "PasswordNeeded",
    "encrypted document": "PasswordNeeded",
    "empty file": "EmptyFile",
    "damaged DOCX": "DamagedFile",
    "no text": "NoText",
}
# "... or a clear error": either is right, and a silent end is not.
EITHER = ("huge_page_poster.pdf", "fuzzed_pdfbox_3148.pdf")
READS_PICTURES = importlib.util.find_spec("rapidocr_onnxruntime") is not None


def manifest(shared: Path) -> list[dict[str, str]]:
    with (shared / "data" / "docs" / "MANIFEST.tsv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


def open_tiny(settings: Settings) -> Any:
    """A house whose pages a random tiny model compiles."""
    from app.house import House
    from cache_compiler.tiny import random_backbone
    from ingest.home import Home
    from ingest.opening import open_workshop
    from retrieval.embedder import load_embedder

    dpis, embedder = (settings.high,), load_embedder(settings.embedder)
    workshop = open_workshop(
        Home(settings.home),
        random_backbone(),
        embedder,
        "reader",
        dpis,
        limits=settings.limits(),
        policy=settings.policy(),
        ocr=settings.ocr,
    )
    return House(settings, workshop)


@contextmanager
def serving(home: Path, ocr: Literal["auto", "off"]) -> Iterator[TestClient]:
    settings = Settings(home=home, low=72, high=72, patch_policy="off", rate=0, ocr=ocr)
    app = create_app(settings, open_tiny)
    with TestClient(app) as client:
        while app.state.porch.house is None:
            assert app.state.porch.reason == "the model is being loaded"
            time.sleep(0.02)
        yield client


def uploaded(client: TestClient, folder: Path, names: list[str], seconds: float) -> dict[str, dict[str, Any]]:
    """All files in one request; their jobs by name, when the last has ended."""
    files = [("files", (name, (folder / name).read_bytes())) for name in names]
    response = client.post("/v1/documents", files=files, data={"collection": "batch"})
    assert response.status_code == 202, response.text
    jobs = response.json()["jobs"]
    assert [job["name"] for job in jobs] == names
    end = time.monotonic() + seconds
    while any(job["state"] in ("queued", "running") for job in jobs):
        assert time.monotonic() < end, [job for job in jobs if job["state"] in ("queued", "running")]
        time.sleep(0.2)
        jobs = [client.get(f"/v1/jobs/{job['id']}").json() for job in jobs]
    return {job["name"]: job for job in jobs}


def text_of(client: TestClient, document: str, page: int | None = None) -> str:
    """What the pages of a document say, those of one printed page where it is given."""
    told = client.get(f"/v1/documents/{document}").json()["page_list"]
    chosen = [one["page"] for one in told if page is None or one["source_page"] == page]
    return "\n".join(line["text"] for key in chosen for line in client.get(f"/v1/pages/{key}").json()["lines"])


def letters(text: str) -> str:
    """Letters and digits alone, ligatures taken apart: where a line or a cell ends is the page's own business."""
    return "".join(character for character in unicodedata.normalize("NFKC", text) if character.isalnum())


def hold(client: TestClient, row: dict[str, str], job: dict[str, Any], reads_pictures: bool) -> None:
    """One file's end against its column. Without `reads_pictures` a picture need only be there."""
    name, right = row["file"], row["right_ingest"]
    if right.startswith("clear error"):
        kinds = {kind for words, kind in ERRORS.items() if words in right}
        assert (job["state"], job["detail"].get("type")) == ("failed", *kinds), job
        assert job["error"].startswith(name)
        return
    if name in EITHER and job["state"] == "failed":
        assert len(job["error"]) > len(name) + 20, job
        return
    assert job["state"] == "done", job
    if right.startswith("image") and not reads_pictures:
        return
    page = re.search(r"\bp(\d+) holds", right)
    text = text_of(client, job["document"], int(page.group(1)) if page else None)
    assert "\0" not in text
    for quoted in re.findall(r'"([^"]+)"', right):
        assert letters(quoted) in letters(text), f"{name}: {quoted!r} is not in {text[:2000]!r}"


def test_a_batch_of_real_files_ends_as_its_manifest_says_and_none_blocks_another(shared: Path, tmp_path: Path) -> None:
    rows = [row for row in manifest(shared) if row["file"] not in LONG]
    with serving(tmp_path / "home", "off") as client:
        jobs = uploaded(client, shared / "data" / "docs", [row["file"] for row in rows], 300)
        for row in rows:
            hold(client, row, jobs[row["file"]], reads_pictures=False)
        listed = client.get("/v1/documents", params={"collection": "batch", "limit": 200}).json()["documents"]
        assert {one["name"] for one in listed} == {name for name, job in jobs.items() if job["state"] == "done"}


@pytest.mark.slow
def test_all_of_the_manifest_goes_in_by_one_upload(shared: Path, tmp_path: Path) -> None:
    rows = manifest(shared)
    assert len(rows) == 36
    with serving(tmp_path / "home", "auto") as client:
        jobs = uploaded(client, shared / "data" / "docs", [row["file"] for row in rows], 3600)
        for row in rows:
            hold(client, row, jobs[row["file"]], READS_PICTURES)
