"""Whatever bytes a file holds, its parser ends in a `Parsed` whose blocks are in order, or in a LoadError, and in nothing else."""

import io
import re
import zipfile
from collections.abc import Callable
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from random import Random

import openpyxl
import pptx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.errors import LoadError
from ingest.parsers.parsed import Parsed, visible
from ingest.types import Limits
from ingest.worker import PARSERS

LIMITS = Limits(text_chars=100_000, source_pages=50)
SAMPLES = {
    "docx": ("docx_tables.docx", "word_truncated.docx"),
    "epub": ("markitdown_test.epub",),
    "csv": ("csv_utf16.csv", "csv_shift_jis.csv"),
    "html": ("html_utf16.html", "html_nul_bytes.html"),
    "text": ("text_french_cp1252.txt", "text_utf16_bom.txt", "text_utf32.txt"),
    "markdown": ("umlauts_latin1.md",),
    "picture": ("page_chinese.jpeg",),
    "pdf": ("corrupt_recoverable.pdf", "evil_recursive_xobjects.pdf", "form_openoffice.pdf", "enc_r6_empty_password.pdf", "hebrew_rtl.pdf"),
}
SAMPLES["pdfium"] = SAMPLES["pdf"]
TOKENS = (
    b"-1",
    b"99999999999",
    b"0",
    b"\0",
    b"\xff\xfe",
    b"<",
    b">",
    b"&",
    b'"',
    b"NaN",
    b"1e999",
    b"]]>",
    b"../x",
    b"XFD1048577",
    b"true",
)


@cache
def sound(kind: str, shared: Path) -> tuple[bytes, ...]:
    """Whole files of a kind: samples, or small ones made here."""
    out = io.BytesIO()
    if kind == "xlsx":
        book = openpyxl.Workbook()
        for row in (("name", "sum"), ("a", 1.5), ("b", "=A1"), (None, True)):
            book.active.append(row)
        book.active.merge_cells("A1:B1")
        book.save(out)
        return (out.getvalue(),)
    if kind == "pptx":
        show = pptx.Presentation()
        slide = show.slides.add_slide(show.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text_frame.text = "title", "body"
        slide.shapes.add_table(2, 2, 0, 0, 100, 100).table.cell(0, 0).text = "cell"
        slide.notes_slide.notes_text_frame.text = "notes"
        show.save(out)
        return (out.getvalue(),)
    return tuple((shared / "data" / "docs" / name).read_bytes() for name in SAMPLES[kind])


def mutated(data: bytes, random: Random) -> bytes:
    """The file with a few bytes, numbers or attributes changed; of a container mostly one part, so that its checksum is right again."""
    if not zipfile.is_zipfile(io.BytesIO(data)) or random.random() < 0.2:
        return bitten(data, random)
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        names = old.namelist()
        hit = random.choice(names)
        gone = random.random() < 0.1
        for name in names:
            if name != hit or not gone:
                new.writestr(name, bitten(old.read(name), random) if name == hit else old.read(name))
    return out.getvalue()


def bitten(data: bytes, random: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(random.randint(1, 5)):
        at = random.randrange(len(changed) + 1)
        token = random.choice(TOKENS)
        match random.randrange(5):
            case 0:
                changed[at : at + 1] = bytes([random.randrange(256)])
            case 1:
                del changed[at : at + random.randint(1, 30)]
            case 2:
                changed[at:at] = token
            case 3:
                changed[at:at] = changed[: random.randint(1, 200)]
            case _:
                values = list(re.finditer(rb'"[^"<>]{0,40}"|\d+', changed[:100_000]))
                if values:
                    value = random.choice(values)
                    changed[value.start() : value.end()] = b'"' + token + b'"' if value[0][:1] == b'"' else token
    return bytes(changed)


def holds(parse: Callable[[bytes, Limits], Parsed], data: bytes) -> None:
    try:
        parsed = parse(data, LIMITS)
    except (LoadError, RecursionError):
        # The child process tells a stack that is full as a damaged file.
        return
    assert len(parsed.text) <= LIMITS.text_chars
    assert parsed.blocks or parsed.scans
    assert all(0 <= block.start < block.end <= len(parsed.text) for block in parsed.blocks)
    assert all(before.end <= after.start for before, after in pairwise(parsed.blocks))
    assert all(visible(parsed.text[block.start : block.end]) for block in parsed.blocks)
    assert "\0" not in parsed.text


@pytest.mark.parametrize("kind", PARSERS)
@given(random=st.randoms(use_true_random=False))
@settings(max_examples=25, derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_file_with_some_bytes_changed_is_text_or_a_clear_error(shared: Path, kind: str, random: Random) -> None:
    whole = random.choice(sound(kind, shared))
    holds(import_module(f"ingest.parsers.{kind}").parse, mutated(whole, random))


@pytest.mark.parametrize("kind", PARSERS)
@given(data=st.binary(max_size=400), head=st.booleans())
@settings(max_examples=25, derandomize=True, deadline=None, database=None)
def test_any_bytes_are_text_or_a_clear_error(kind: str, data: bytes, head: bool) -> None:
    start = {"pdf": b"%PDF-1.7\n", "pdfium": b"%PDF-1.7\n", "picture": b"II*\0"}.get(kind, b"PK\x03\x04" if kind.endswith("x") else b"")
    holds(import_module(f"ingest.parsers.{kind}").parse, (start if head else b"") + data)
