"""The darkroom: pixels and lines out of a child process that may spend so much, may die, and is never believed."""

import hashlib
import io
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from ingest.darkroom import Print, Spoiled, develop
from ingest.errors import Cancelled, DamagedFile, ParserStopped, TooLarge
from ingest.load import load
from ingest.ocr import why_not
from ingest.types import Document, Limits, Scan
from renderer import pixels, preset
from renderer.styles import FONT

A4 = preset("glyph-a4")
REAL = subprocess.Popen


def kept(folder: Path, *pictures: Image.Image, kind: str = "TIFF") -> Path:
    path = folder / f"pages.{kind.lower()}"
    pictures[0].save(path, kind, save_all=True, append_images=pictures[1:]) if len(pictures) > 1 else pictures[0].save(path, kind)
    return path


def developed(
    path: Path, limits: Limits | None = None, unread: str = "off", cancelled: Callable[[], bool] = lambda: False
) -> list[Print | Spoiled]:
    document = load(path, path.name, "here", Limits())
    return list(develop(path, document, A4, (72, 120), limits or Limits(), "pymupdf", unread, cancelled))


def test_every_page_comes_at_every_dpi_in_the_pixels_of_its_size(tmp_path: Path) -> None:
    found = developed(kept(tmp_path, Image.new("RGB", (300, 200), "red"), Image.new("RGB", (2000, 1000), "blue")))
    assert [type(one) for one in found] == [Print, Print]
    for one, colour in zip(found, ((255, 0, 0), (0, 0, 255)), strict=True):
        assert isinstance(one, Print)
        assert {dpi: picture.size for dpi, picture in one.pictures.items()} == {dpi: pixels(one.size, dpi) for dpi in (72, 120)}
        assert all(picture.getpixel((5, 5)) == colour for picture in one.pictures.values())
        assert (one.lines, one.unread) == ((), "off")


def test_the_same_file_gives_the_same_pixels(tmp_path: Path) -> None:
    path = kept(tmp_path, Image.effect_noise((700, 500), 80))
    first, second = ([picture.tobytes() for picture in one.pictures.values()] for (one,) in (developed(path), developed(path)))
    assert first == second


def test_a_page_that_is_damaged_is_spoiled_and_the_others_go_on(tmp_path: Path) -> None:
    path = kept(tmp_path, *(Image.effect_noise((64, 64), 50) for _ in range(3)))
    document = load(path, path.name, "here", Limits())
    data = path.read_bytes()
    with Image.open(io.BytesIO(data)) as picture:
        picture.seek(1)
        (at,), _ = picture.tag_v2[273], picture.tag_v2[279]
    # The second page's pixels are said to lie behind the end of the file.
    broken = data.replace(at.to_bytes(4, "little"), (len(data) * 2).to_bytes(4, "little"))
    path.write_bytes(broken)
    document = replace(document, sha256=hashlib.sha256(broken).hexdigest())
    found = list(develop(path, document, A4, (72,), Limits(), "pymupdf", "off", lambda: False))
    assert [type(one) for one in found] == [Print, Spoiled, Print]
    assert isinstance(found[1], Spoiled)
    assert isinstance(found[1].error, DamagedFile)
    assert found[1].error.place == "page 2"


def test_a_picture_that_has_grown_since_its_header_was_read_is_refused(tmp_path: Path) -> None:
    path = kept(tmp_path, Image.new("RGB", (64, 64)))
    document = load(path, path.name, "here", Limits())
    kept(tmp_path, Image.new("RGB", (65, 64)))
    (found,) = develop(path, document, A4, (72,), Limits(), "pymupdf", "off", lambda: False)
    assert isinstance(found, Spoiled)
    assert "changed while it was being read" in str(found.error)


def test_a_scan_with_a_bomb_inside_is_refused_before_it_is_drawn(tmp_path: Path) -> None:
    pymupdf = pytest.importorskip("pymupdf")
    out = io.BytesIO()
    Image.new("1", (3000, 2000)).save(out, "PNG")
    document = pymupdf.open()
    document.new_page().insert_image((0, 0, 500, 500), stream=out.getvalue())
    path = tmp_path / "scan.pdf"
    document.save(path)
    loaded = load(path, path.name, "here", Limits())
    for engine in ("pymupdf", "pypdfium2"):
        (found,) = develop(path, loaded, A4, (72,), Limits(image_pixels=5_000_000), engine, "off", lambda: False)
        assert isinstance(found, Spoiled)
        assert isinstance(found.error, TooLarge)
        assert "page 1 shows a picture of 3,000 x 2,000 pixels, over 5,000,000 (image_pixels)" in str(found.error)


def test_text_is_read_with_its_place_on_the_page(tmp_path: Path) -> None:
    if why_not("auto"):
        pytest.skip(why_not("auto"))
    picture = Image.new("RGB", (400, 200), "white")
    ImageDraw.Draw(picture).text((40, 100), "Invoice 77312", fill="black", font=ImageFont.truetype(FONT, 32))
    (found,) = developed(kept(tmp_path, picture, kind="PNG"), unread="")
    assert isinstance(found, Print)
    (line,) = found.lines
    assert line.text.replace(" ", "") == "Invoice77312"
    assert 30 < line.x0 < 50 < line.x1 < 400
    assert 90 < line.y0 < 115 < line.y1 < 150


def test_the_engine_is_not_loaded_in_the_process_that_asks() -> None:
    program = "import sys, ingest.ocr, ingest.darkroom, ingest.developer; ingest.ocr.why_not('auto'); print([m for m in sys.modules if 'rapidocr' in m])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    assert "turned off" in why_not("off")


# -- a child that is not what it should be -------------------------------------------------------------------------------


def over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str, limits: Limits | None = None, pages: int = 1, unread: str = "off"
) -> list[Print | Spoiled]:
    """Develop with another program in the child's place."""
    monkeypatch.setattr("ingest.darkroom.subprocess.Popen", lambda command, **options: REAL([sys.executable, "-c", program], **options))
    scans = tuple(Scan(number, 10.0, 10.0) for number in range(1, pages + 1))
    document = Document("x.png", "here", "0", 1, "image/png", "", (), scans=scans)
    return list(develop(tmp_path / "x.png", document, A4, (72,), limits or Limits(), "pymupdf", unread, lambda: False))


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import os; os.kill(os.getpid(), 11)", "SIGSEGV"),
        ("raise SystemExit(3)", "exit status 3"),
        ("print('{\"number\": 7}')", "answered with something else"),
        ("print('no json')", "answered with something else"),
        ("import sys; sys.stdout.write('{\"number\": 1}\\n' + 'x' * 10)", "ended the process"),
        ("import time; time.sleep(600)", "more than 1 seconds"),
    ],
    ids=["killed", "failed", "another page", "no JSON", "too few pixels", "hangs"],
)
def test_whatever_it_does_the_page_is_spoiled_with_a_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str, reason: str
) -> None:
    (found,) = over(monkeypatch, tmp_path, program, Limits(parse_seconds=1) if "time" in program else None)
    assert isinstance(found, Spoiled)
    assert isinstance(found.error, ParserStopped)
    assert reason in str(found.error)


def test_a_child_that_dies_over_every_page_is_not_started_for_ever(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = over(monkeypatch, tmp_path, "raise SystemExit(1)", pages=30)
    assert len(found) == 30
    assert all(isinstance(one, Spoiled) for one in found)
    assert "was not developed" in str(found[-1].error)  # type: ignore[union-attr]


def test_an_error_of_no_class_of_ours_and_lines_off_the_page_are_not_believed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (told,) = over(monkeypatch, tmp_path, 'print(\'{"number": 1, "error": "SystemExit", "message": "m"}\')')
    assert isinstance(told, Spoiled)
    assert type(told.error).__name__ == "LoadError"
    lines = '[["in", 0, 0, 1, 1], ["off", 0, 0, 2, 1], ["nan", 0, 0, NaN, 1], [1, 0, 0, 1, 1], "x"]'
    program = f"import sys; sys.stdout.write('{{\"number\": 1}}\\n' + 'x' * 300 + '{{\"number\": 1, \"lines\": {lines}}}\\n')"
    (found,) = over(monkeypatch, tmp_path, program)
    assert isinstance(found, Print)
    assert [line.text for line in found.lines] == ["in"]


@pytest.mark.parametrize(("ending", "reason"), [("", "ended its process"), ("import time; time.sleep(600)", "took more than 2 seconds")])
def test_a_page_whose_words_cost_the_child_goes_in_without_them_and_after_three_no_more_are_looked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ending: str, reason: str
) -> None:
    program = f"""
import json, sys
request = json.load(sys.stdin)
for page in request["pages"]:
    number, (sides,) = page["number"], page["pixels"]
    sys.stdout.write(json.dumps({{"number": number}}) + "\\n" + "x" * (3 * sides[0] * sides[1]))
    sys.stdout.flush()
    if request["ocr"]:
        {ending or "raise SystemExit(1)"}
    sys.stdout.write(json.dumps({{"number": number, "lines": []}}) + "\\n")
"""
    found = over(monkeypatch, tmp_path, program, Limits(parse_seconds=2), pages=6, unread="")
    assert [type(one) for one in found] == [Print] * 6
    whys = [one.unread for one in found if isinstance(one, Print)]
    assert all(reason in why for why in whys[:3])
    assert all("given up" in why for why in whys[3:])


def test_a_stop_is_heard_while_the_child_works(tmp_path: Path) -> None:
    with pytest.raises(Cancelled):
        developed(kept(tmp_path, Image.new("RGB", (64, 64))), cancelled=lambda: True)


# -- the sample collection -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "phrase"),
    [
        ("scan_ocr_test.pdf", "Docling bundles PDF document conversion to JSON and Markdown"),
        pytest.param("page_layout_parser.jpg", "LayoutParser: A Unified Toolkit for Deep Learning", marks=pytest.mark.slow),
        pytest.param("page_chinese.jpeg", "\u65b0\u9c9c\u7518\u8349\u9ec4\u916e\u517b\u5206", marks=pytest.mark.slow),
        ("huge_page_poster.pdf", ""),
    ],
)
def test_every_picture_of_the_manifest_is_developed_whole_and_its_words_are_read(shared: Path, name: str, phrase: str) -> None:
    path = shared / "data" / "docs" / name
    document = load(path, name, "", Limits())
    # The poster's page is 18,000 x 36,000 points; its words are many, and are not what its row asks for.
    unread = why_not("auto") if phrase else "not asked for"
    (found,) = develop(path, document, A4, (72, 120), Limits(), "pymupdf", unread, lambda: False)
    assert isinstance(found, Print)
    assert all(side <= most + 0.01 for side, most in zip(found.size, (595.0, 842.0), strict=True))
    for dpi, picture in found.pictures.items():
        assert picture.size == pixels(found.size, dpi)
        assert picture.convert("L").getextrema()[0] < 100  # there is ink
    if not unread:
        # The engine leaves spaces of Latin text out.
        assert phrase.replace(" ", "") in "".join(found.text.split())
