"""Native pages through the whole walk: kept as they were seen, shared by content, mended from their pictures, and never guessed at."""

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from PIL import Image, ImageDraw, ImageFont

from cache_compiler.tiny import random_backbone
from ingest.errors import NoText
from ingest.estimate import estimate
from ingest.home import Home
from ingest.leaves import native_of
from ingest.load import load
from ingest.natives import take_natives
from ingest.ocr import why_not
from ingest.opening import open_workshop
from ingest.pipeline import ingest
from ingest.reading import compile_stored
from ingest.remove import remove_document, remove_orphans
from ingest.repair import repair
from ingest.types import Limits
from ingest.workshop import Workshop
from renderer import image_key, native_image, native_page, pixels
from renderer.styles import FONT
from retrieval.embedder import Embedder
from retrieval.types import Chunk

from .conftest import Open, files_of


def sign(words: str) -> Image.Image:
    picture = Image.new("RGB", (220, 60), "white")
    ImageDraw.Draw(picture).text((6, 12), words, fill="black", font=ImageFont.truetype(FONT, 28))
    return picture


def pictures(path: Path, *words: str) -> Path:
    first, *others = map(sign, words)
    first.save(path, save_all=True, append_images=others) if others else first.save(path)
    return path


def mixed(path: Path) -> Path:
    """A PDF of four pages: text, a scan, text, a scan."""
    pymupdf = pytest.importorskip("pymupdf")
    document = pymupdf.open()
    for number in range(1, 5):
        page = document.new_page(width=300, height=200)
        if number % 2:
            page.insert_text((20, 40), f"Printed page {number} has words.")
        else:
            out = io.BytesIO()
            sign(f"Scan {number}").save(out, "PNG")
            page.insert_image((20, 20, 240, 80), stream=out.getvalue())
    document.save(path)
    return path


def chunks(workshop: Workshop, name: str) -> list[Chunk]:
    row = workshop.catalogue.document_named("default", name)
    assert row is not None
    return workshop.catalogue.chunks_of(row.id)


def images(workshop: Workshop) -> list[str]:
    return [name for name in files_of(workshop.home.root) if name.endswith(".png")]


@pytest.fixture
def blind(open_at: Open, tmp_path: Path) -> Workshop:
    """A workshop that looks for no text on pictures: to do so takes seconds."""
    workshop = open_at(tmp_path / "home")
    workshop.ocr = "off"
    return workshop


# -- going in ------------------------------------------------------------------------------------------------------------


def test_a_picture_is_a_page_that_is_kept_as_it_was_seen_and_found_by_its_name(blind: Workshop, tmp_path: Path) -> None:
    report = ingest([pictures(tmp_path / "sign.png", "Gate 7")], "default", blind)
    (done,) = report.done
    assert (done.chunks, done.pages, done.compiled) == (1, 1, 2)
    assert done.notes == ("no text was found on page 1 (text recognition is turned off (ocr)): found by its name and page number only",)
    (piece,) = chunks(blind, "sign.png")
    assert (piece.text, piece.source_page, piece.heading) == ("sign.png, page 1", 1, "")
    (ref,) = piece.pages
    row = blind.catalogue.page(ref.key)
    assert (row.kind, row.lines, row.width, row.height) == ("native", (), 220.0, 60.0)
    for dpi in blind.dpis:
        kept = blind.images.get(image_key(ref.key, dpi), blind.style.cell)
        assert blind.store.get(kept.key).canonical.length == ref.rows[dpi] == kept.tokens + 2
        scaled = sign("Gate 7").resize(pixels((220.0, 60.0), dpi), Image.Resampling.LANCZOS, reducing_gap=3.0)
        assert kept.image.tobytes() == native_image(ref.key, scaled, (220.0, 60.0), dpi, blind.style).image.tobytes()


def test_scans_stand_between_the_pages_of_text_as_in_the_source(blind: Workshop, tmp_path: Path) -> None:
    report = ingest([mixed(tmp_path / "mixed.pdf")], "default", blind)
    assert not report.failed
    found = chunks(blind, "mixed.pdf")
    assert [piece.text for piece in found] == [
        "Printed page 1 has words.",
        "mixed.pdf, page 2",
        "Printed page 3 has words.",
        "mixed.pdf, page 4",
    ]
    assert [piece.source_page for piece in found] == [1, 2, 3, 4]
    assert [blind.catalogue.page(piece.pages[0].key).kind for piece in found] == ["text", "native"] * 2
    assert [piece.ordinal for piece in found] == [0, 1, 2, 3]
    # Every page given the one before it, whatever the two are: at two DPIs four patches a page.
    assert report.done[0].patches == 12


def test_both_pdf_engines_find_the_same_scans(blind: Workshop, tmp_path: Path) -> None:
    path = mixed(tmp_path / "mixed.pdf")
    told = [load(path, path.name, "", Limits(), pdf_engine=engine).scans for engine in ("pymupdf", "pypdfium2")]
    assert told[0] == told[1]
    assert [scan.number for scan in told[0]] == [2, 4]


def test_the_text_on_a_picture_finds_it_and_is_marked_in_its_points(workshop: Workshop, tmp_path: Path) -> None:
    if why_not("auto"):
        pytest.skip(why_not("auto"))
    ingest([pictures(tmp_path / "sign.png", "Gate 77312")], "default", workshop)
    (piece,) = chunks(workshop, "sign.png")
    assert piece.text.replace(" ", "") == "Gate77312"
    (line,) = workshop.catalogue.page(piece.pages[0].key).lines
    assert 0 <= line[1] < 20 < 150 < line[3] <= 220
    assert 0 <= line[2] < 25 < 35 < line[4] <= 60
    row = workshop.catalogue.document_named("default", "sign.png")
    assert row is not None
    assert (row.notes, row.chars) == ((), len(piece.text))


def test_a_page_that_cannot_be_developed_is_a_note_and_a_file_of_such_alone_is_refused(blind: Workshop, tmp_path: Path) -> None:
    good = pictures(tmp_path / "two.tiff", "one", "two")
    whole = good.read_bytes()
    noise = tmp_path / "noise.png"
    Image.effect_noise((90, 90), 70).save(noise)
    noise.write_bytes(noise.read_bytes()[:4000])
    report = ingest([noise, good], "default", blind)
    assert [(failed.name, failed.kind) for failed in report.failed] == [("noise.png", "DamagedFile")]
    assert report.failed[0].reason.startswith("noise.png: ")
    assert [done.pages for done in report.done] == [2]
    assert good.read_bytes() == whole


def test_a_bomb_is_a_line_and_nothing_else_is_kept_out(blind: Workshop, tmp_path: Path) -> None:
    blind.limits = replace(blind.limits, image_pixels=15_000)
    Image.new("1", (200, 100)).save(tmp_path / "bomb.png")
    report = ingest([tmp_path / "bomb.png", pictures(tmp_path / "sign.png", "ok")], "default", blind)
    assert [(failed.name, failed.kind) for failed in report.failed] == [("bomb.png", "TooLarge")]
    assert [done.name for done in report.done] == ["sign.png"]


def test_a_first_run_in_which_all_fails_leaves_no_collection(blind: Workshop, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    report = ingest([tmp_path / "empty.txt"], "default", blind)
    assert len(report.failed) == 1
    assert list(blind.catalogue.collections()) == []
    ingest([pictures(tmp_path / "sign.png", "ok")], "default", blind)
    assert [row.name for row in blind.catalogue.collections()] == ["default"]


# -- staying, and going --------------------------------------------------------------------------------------------------


def test_the_same_picture_in_two_documents_is_one_page_and_goes_with_the_last(blind: Workshop, tmp_path: Path) -> None:
    one, two = pictures(tmp_path / "one.png", "same"), pictures(tmp_path / "two.tiff", "same", "other")
    report = ingest([one, two], "default", blind)
    assert [(done.pages, done.compiled, done.reused) for done in report.done] == [(1, 2, 0), (2, 2, 2)]
    shared = chunks(blind, "one.png")[0].pages[0].key
    assert chunks(blind, "two.tiff")[0].pages[0].key == shared
    remove_document(blind, chunks(blind, "two.tiff")[0].document)
    assert len(images(blind)) == 2
    assert all(blind.store.has(image_key(shared, dpi)) for dpi in blind.dpis)
    remove_document(blind, chunks(blind, "one.png")[0].document)
    assert images(blind) == []
    assert list(blind.store.keys()) == []


def test_a_lost_picture_is_told_with_the_file_to_ingest_again_and_that_brings_back_the_same_bytes(blind: Workshop, tmp_path: Path) -> None:
    path = pictures(tmp_path / "two.tiff", "one", "two")
    ingest([path], "default", blind)
    before = files_of(blind.home.root)
    first, second = (piece.pages[0].key for piece in chunks(blind, "two.tiff"))
    blind.images.path(image_key(first, 72)).unlink()
    blind.store.remove(image_key(second, 120))
    mended = repair(blind, "default")
    assert mended.pages == (image_key(second, 120),)
    (lost,) = mended.lost
    assert lost.startswith("two.tiff, page 1: its picture")
    assert "ingest two.tiff again" in lost
    assert ingest([path], "default", blind).done[0].name == "two.tiff"
    assert files_of(blind.home.root).keys() == before.keys()
    assert {name: data for name, data in files_of(blind.home.root).items() if name.endswith(".png")} == {
        name: data for name, data in before.items() if name.endswith(".png")
    }
    assert ingest([path], "default", blind).skipped == ("two.tiff",)


def test_pictures_that_are_tidied_away_before_their_document_owns_them_are_developed_again(
    blind: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ingest import pipeline

    true, calls = pipeline.chunk, []

    def tidied(*args: object):  # type: ignore[no-untyped-def]
        calls.append(args)
        if len(calls) == 1:
            remove_orphans(blind)
        return true(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(pipeline, "chunk", tidied)
    assert ingest([pictures(tmp_path / "two.tiff", "one", "two")], "default", blind).done
    assert len(calls) == 2


def test_a_cache_is_made_again_from_the_picture_that_is_kept(blind: Workshop, tmp_path: Path) -> None:
    path = pictures(tmp_path / "sign.png", "Gate 9")
    ingest([path], "default", blind)
    path.unlink()
    before = files_of(blind.home.root)
    key = chunks(blind, "sign.png")[0].pages[0].key
    keys = [image_key(key, dpi) for dpi in blind.dpis]
    kept = [blind.store.get(key).canonical for key in keys]
    # The page was alone in its batch, so these are the very numbers.
    for again, one in zip(compile_stored(blind, keys), kept, strict=True):
        assert again.key == one.key
        assert torch.equal(again.rotary, one.rotary)
        assert torch.equal(again.plain, one.plain)
    for name in keys:
        blind.store.remove(name)
    assert repair(blind, "default").pages == tuple(keys)
    assert files_of(blind.home.root) == before


def test_of_a_batch_of_several_the_stored_pages_come_out_equal_to_rounding(blind: Workshop, records: Path) -> None:
    ingest([records], "default", blind)
    keys = list(blind.store.keys())
    for again, key in zip(compile_stored(blind, keys), keys, strict=True):
        kept = blind.store.get(key).canonical
        torch.testing.assert_close(again.rotary, kept.rotary, atol=2e-4, rtol=1e-3)
        torch.testing.assert_close(again.plain, kept.plain, atol=2e-4, rtol=1e-3)


def test_a_page_of_the_catalogue_is_the_page_that_went_in(blind: Workshop, tmp_path: Path) -> None:
    path = pictures(tmp_path / "sign.png", "Gate 3")
    document = load(path, path.name, "", blind.limits)
    _, _, (page,) = take_natives(path, document, blind, lambda *_: None, lambda: False)
    ingest([path], "default", blind)
    assert native_of(blind.catalogue.page(page.key)) == page
    sized = {dpi: sign("Gate 3").resize(pixels((220.0, 60.0), dpi), Image.Resampling.LANCZOS, reducing_gap=3.0) for dpi in blind.dpis}
    assert native_page(sized, (220.0, 60.0), (), blind.style).key == page.key


# -- a model of text -----------------------------------------------------------------------------------------------------


@pytest.fixture
def reads_text(embedder: Embedder, tmp_path: Path) -> Callable[[str], Workshop]:
    return lambda ocr: open_workshop(Home(tmp_path / "text"), random_backbone(family="llama"), embedder, ocr=ocr)


def test_a_model_of_text_refuses_a_picture_without_text_naming_the_cure(reads_text: Callable[[str], Workshop], tmp_path: Path) -> None:
    path = pictures(tmp_path / "sign.png", "Gate 7")
    workshop = reads_text("off")
    report = ingest([path, mixed(tmp_path / "mixed.pdf")], "default", workshop)
    (failed,) = report.failed
    assert failed.kind == NoText.__name__
    assert "load a model that reads images, or install the extra `ocr`" in failed.reason
    (done,) = report.done
    assert any("pages 2, 4" in note and "left out, for this model reads text alone" in note for note in done.notes)
    assert [piece.source_page for piece in chunks(workshop, "mixed.pdf")] == [1]
    workshop.close()


@pytest.mark.slow
def test_a_model_of_text_gets_what_was_recognised_as_a_page_of_text(reads_text: Callable[[str], Workshop], tmp_path: Path) -> None:
    if why_not("auto"):
        pytest.skip(why_not("auto"))
    workshop = reads_text("auto")
    assert not ingest([mixed(tmp_path / "mixed.pdf")], "default", workshop).failed
    (piece,) = chunks(workshop, "mixed.pdf")
    assert piece.text.replace(" ", "").split("\n\n") == ["Printedpage1haswords.", "Scan2", "Printedpage3haswords.", "Scan4"]
    assert workshop.catalogue.page(piece.pages[0].key).kind == "text"
    assert images(workshop) == [f"images/{piece.pages[0].key[:2]}/{piece.pages[0].key}@120.png"]
    workshop.close()


# -- a forecast ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_forecast_counts_the_rows_of_pictures_that_ingest_then_makes(blind: Workshop, open_at: Open, tmp_path: Path) -> None:
    paths = [pictures(tmp_path / "five.tiff", *map(str, range(5))), mixed(tmp_path / "mixed.pdf")]
    fresh = open_at(tmp_path / "fresh")
    fresh.ocr = "off"
    told = estimate(paths, fresh)
    report = ingest(paths, "default", blind)
    assert told.pages.value == sum(done.pages for done in report.done) == 9
    pages = {ref.key: ref.rows for name in ("five.tiff", "mixed.pdf") for piece in chunks(blind, name) for ref in piece.pages}
    for dpi in blind.dpis:
        assert told.rows[dpi].value == sum(rows[dpi] for rows in pages.values())
    assert told.compiled > 0
    assert told.patches.value == sum(done.patches for done in report.done)
