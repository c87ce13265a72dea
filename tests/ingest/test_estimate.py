"""A forecast: what it says is what ingest then does, and it leaves nothing behind."""

from dataclasses import replace
from pathlib import Path

import pytest

from ingest import estimate as estimating
from ingest.errors import Cancelled
from ingest.estimate import Sample, estimate
from ingest.pipeline import ingest
from ingest.policy import Policy
from ingest.survey import Standing
from ingest.workshop import Workshop

from .conftest import Open, files_of

SAMPLES = Path(__file__).resolve().parent.parent.parent / "samples"
# One of each kind; the second has pages that stand behind others.
CORPUS = [SAMPLES / name for name in ("records-1.txt", "rye-bread.md", "records-3.html", "records-4.docx", "museum-leaflet.pdf")]
QUICK = Sample(pages=2, patched=1)


def written(home: Path, part: str) -> int:
    """Bytes of the files whose path has `part` in it."""
    return sum(len(data) for name, data in files_of(home).items() if part in name)


def rows(workshop: Workshop) -> dict[int, int]:
    pages = [workshop.catalogue.page(key) for key in workshop.catalogue.page_keys("default")]
    return {dpi: sum(page.rows[dpi] for page in pages) for dpi in workshop.dpis}


@pytest.mark.slow
def test_what_it_says_of_a_corpus_is_what_ingest_then_does(workshop: Workshop) -> None:
    said = estimate(CORPUS, workshop)
    report = ingest(CORPUS, "default", workshop)
    assert not report.failed
    assert (said.files, said.chunks.value) == (len(report.done), sum(done.chunks for done in report.done))
    assert said.pages.value == len(workshop.catalogue.page_keys("default"))
    assert {dpi: amount.value for dpi, amount in said.rows.items()} == rows(workshop)
    assert said.patches.value == sum(done.patches for done in report.done)
    home = workshop.home.root
    for dpi in workshop.dpis:
        assert said.caches[dpi].value == pytest.approx(written(home, f"@{dpi}.safetensors"), rel=0.01)
        assert said.images[dpi].value == written(home, f"@{dpi}.png")
    assert said.patch_bytes.value == pytest.approx(written(home, "/patches/"), rel=0.01)
    # Everything was drawn: only the model's own speed was sampled.
    assert all(amount.exact for amount in (said.pages, said.patches, *said.rows.values(), *said.caches.values(), said.patch_bytes))


def test_nothing_is_left_behind(workshop: Workshop, records: Path) -> None:
    before = files_of(workshop.home.root)
    said = estimate([records], workshop, QUICK)
    assert said.compiled >= 2
    assert said.formed == 4
    assert files_of(workshop.home.root) == before
    assert workshop.catalogue.collections() == []


def test_every_step_has_its_time_and_a_range_around_it(workshop: Workshop, records: Path) -> None:
    said = estimate([records], workshop, QUICK)
    assert set(said.seconds) == {"read", "cut", "draw", "compile at 72 DPI", "compile at 120 DPI", "patch", "embed"}
    assert all(0 < amount.low <= amount.value <= amount.high for amount in said.seconds.values())
    assert said.time.value == pytest.approx(sum(amount.value for amount in said.seconds.values()))


@pytest.mark.slow
def test_of_a_large_corpus_a_part_is_drawn_and_the_range_holds_the_truth(workshop: Workshop, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(12):
        (folder / f"{number:02}.txt").write_text("\n".join(f"The {number}. ledger says {line} of it." for line in range(6 + 5 * number)))
    whole = estimate([folder], workshop, QUICK)
    part = estimate([folder], workshop, replace(QUICK, files=6, sheets=18))
    assert (whole.drawn, part.drawn) == (12, 6)
    assert part.sheets <= 18 < whole.sheets
    assert part.characters == whole.characters
    assert part.files == 12
    for told, true in [(part.pages, whole.pages), *((part.rows[dpi], whole.rows[dpi]) for dpi in workshop.dpis)]:
        assert told.low < told.value < told.high
        assert told.low <= true.value <= told.high
        assert told.value == pytest.approx(true.value, rel=0.1)


def test_the_largest_files_are_always_drawn_and_of_the_others_some_of_every_size(tmp_path: Path) -> None:
    paths = []
    for number in range(20):
        paths.append(tmp_path / f"{number * 7 % 20:02}")
        paths[-1].write_bytes(b"x" * (number + 1))
    assert estimating._chosen(paths, 8) == ({16, 17, 18, 19}, {2, 6, 10, 14})
    largest, others = estimating._chosen(paths, 100)
    assert largest | others == set(range(20))
    assert largest & others == set()
    assert [len(part) for part in estimating._chosen(paths, 1)] == [0, 4]
    assert estimating._chosen([tmp_path / "gone"], 1) == (set(), {0})
    assert estimating._chosen([], 8) == (set(), set())


def test_a_file_that_cannot_be_read_is_a_line_as_in_ingest_and_the_rest_goes_on(workshop: Workshop, records: Path) -> None:
    (records / "blank.txt").write_text(" \n")
    (records / "data.json").write_text("{}")
    (records / "notes.pdf").write_text("no PDF")
    paths = [records, records / "gone.txt", records / "data.json"]
    said = estimate(paths, workshop, QUICK)
    done = ingest(paths, "default", workshop)
    assert said.failed == done.failed
    assert said.passed == done.passed
    assert said.files == len(done.done) == 3


def test_a_corpus_of_nothing_is_nothing_and_asks_nothing_of_the_model(workshop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    said = estimate([tmp_path / "none"], workshop)
    assert (said.files, said.pages.value, said.bytes.value, said.time.value, said.compiled) == (0, 0, 0, 0, 0)


def test_what_a_collection_has_already_is_told_apart(workshop: Workshop, open_at: Open, tmp_path: Path, records: Path) -> None:
    ingest([records / "a.txt", records / "b.txt"], "default", workshop)
    (records / "d.txt").write_text((records / "a.txt").read_text())
    bare = open_at(tmp_path / "bare")
    said = estimate([records], bare, QUICK, standing=Standing(workshop, "default"))
    assert said.skipped == ("a.txt", "b.txt")
    # c.txt is new; d.txt too, but all its pages are there.
    assert said.files == 2
    done = ingest([records], "default", workshop)
    assert done.skipped == said.skipped
    assert len(workshop.dpis) * said.pages.value == sum(item.compiled for item in done.done) > 0


def test_two_files_of_one_name_are_one_of_them_alone(workshop: Workshop, records: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.txt").write_text("Another text.\n")
    (tmp_path / "same").mkdir()
    (tmp_path / "same" / "a.txt").write_text((records / "a.txt").read_text())
    paths = [records / "a.txt", tmp_path / "other" / "a.txt", tmp_path / "same" / "a.txt"]
    said = estimate(paths, workshop, QUICK)
    done = ingest(paths, "default", workshop)
    assert [item.kind for item in said.failed] == [item.kind for item in done.failed] == ["NameTaken"]
    assert (said.files, said.skipped) == (len(done.done), done.skipped)


def test_without_patches_there_is_neither_time_nor_room_for_them(workshop: Workshop, records: Path) -> None:
    workshop.policy = Policy("off")
    said = estimate([records / "b.txt"], workshop, QUICK)
    assert (said.patches.value, said.patch_bytes.value, said.seconds["patch"].value, said.formed) == (0, 0, 0, 0)


@pytest.mark.parametrize("stage", ["load", "rasterise", "compile"])
def test_it_stops_at_the_next_step_when_it_is_asked_to(workshop: Workshop, records: Path, stage: str) -> None:
    reached: list[str] = []
    with pytest.raises(Cancelled):
        estimate([records], workshop, QUICK, progress=lambda at: reached.append(at.stage), cancelled=lambda: stage in reached)
    assert reached.count(stage) == 1
    assert "patch" not in reached
