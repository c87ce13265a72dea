"""A text page is a page without pixels: the same walk, the same bytes on every run, and nothing left of a document that goes."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from cache_compiler.backbone import Backbone
from cache_compiler.choice import choose
from cache_compiler.condition import condition
from cache_compiler.errors import IdentityMismatch
from cache_compiler.patch import PatchKey
from cache_compiler.template import text_page_ids
from cache_compiler.tiny import random_backbone
from ingest.home import Home
from ingest.load import load
from ingest.opening import open_workshop
from ingest.patching import Encodings, make, most_rank, pages_of
from ingest.pipeline import ingest
from ingest.reading import encode
from ingest.remove import remove_document, remove_orphans
from ingest.repair import Repaired, repair
from ingest.survey import Survey
from ingest.trial import measure
from ingest.workshop import Workshop
from renderer import pages as lay_out
from retrieval.embedder import Embedder
from retrieval.errors import UnknownPage
from retrieval.types import PageRef

from .conftest import Open, files_of

Read = Callable[[Path], Workshop]


@pytest.fixture(scope="module")
def reads_text() -> Backbone:
    return random_backbone(family="llama")


@pytest.fixture
def open_text(reads_text: Backbone, embedder: Embedder) -> Iterator[Read]:
    opened = []

    def open_(home: Path) -> Workshop:
        opened.append(open_workshop(Home(home), reads_text, embedder, batch=2))
        return opened[-1]

    yield open_
    for workshop in opened:
        workshop.close()


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Two documents; of the first come two pages, of the second one."""
    folder = tmp_path / "texts"
    folder.mkdir()
    lines = [f"Brobo tower has gate {number} and Gofa tower has bell {number + 1}." for number in range(40)]
    (folder / "long.txt").write_text("\n".join(lines) + "\n")
    (folder / "short.txt").write_text("Zemi farm keeps goats.\nIts fuel is coal.\n")
    return folder


@pytest.fixture
def taken(open_text: Read, texts: Path, tmp_path: Path) -> Workshop:
    workshop = open_text(tmp_path / "home")
    report = ingest([texts], "default", workshop)
    assert [(done.pages, done.compiled, done.patches) for done in report.done] == [(2, 2, 1), (1, 1, 0)]
    return workshop


def refs(workshop: Workshop, name: str) -> list[PageRef]:
    row = workshop.catalogue.document_named("default", name)
    assert row is not None
    return pages_of(workshop.catalogue.chunks_of(row.id))


# -- what a page is -------------------------------------------------------------------------------------------------


def test_text_has_one_resolution_and_its_pages_a_style_of_their_own(taken: Workshop) -> None:
    assert (taken.dpis, taken.style.name) == ((120,), "text-a6")
    assert {dpi for ref in refs(taken, "long.txt") for dpi in ref.rows} == {120}


def test_a_page_s_rows_are_the_tokens_of_its_own_lines(taken: Workshop) -> None:
    for ref in (*refs(taken, "long.txt"), *refs(taken, "short.txt")):
        text = "\n".join(line[0] for line in taken.catalogue.page(ref.key).lines)
        canonical = taken.store.get(f"{ref.key}@120").canonical
        assert ref.rows[120] == canonical.length == len(text_page_ids(taken.backbone.tokenizer, text))
        assert (canonical.rows, canonical.columns) == (0, 0)
        assert taken.images.has(f"{ref.key}@120")  # for the person who opens the citation


def test_a_page_that_was_just_laid_out_and_one_of_the_catalogue_have_the_same_ids(taken: Workshop) -> None:
    (piece, *_) = (chunk for row in taken.catalogue.documents("default") for chunk in taken.catalogue.chunks_of(row.id))
    (page,) = lay_out(piece.text, taken.style)
    kept, fresh = Encodings(taken)(f"{page.key}@120"), encode(taken, page, 120)
    assert (fresh.key, fresh.ids) == (kept.key, kept.ids)
    assert torch.equal(fresh.embeds, kept.embeds)


def test_a_page_that_no_document_owns_has_no_text(taken: Workshop) -> None:
    with pytest.raises(UnknownPage):
        Encodings(taken)(f"{'0' * 32}@120")


# -- the walk -------------------------------------------------------------------------------------------------------


def test_two_runs_end_in_the_same_files(taken: Workshop, open_text: Read, texts: Path, tmp_path: Path) -> None:
    again = open_text(tmp_path / "again")
    ingest([texts], "default", again)
    assert files_of(again.home.root) == files_of(taken.home.root)


def test_a_page_is_patched_for_the_one_before_it_and_comes_nearer_to_a_whole_forward(taken: Workshop) -> None:
    first, second = (f"{ref.key}@120" for ref in refs(taken, "long.txt"))
    nothing, patch = choose(taken.store.patches, [first, second], missing=0)
    assert nothing is None
    assert patch is not None
    assert patch.match == "exact"
    encodings = Encodings(taken)
    whole = condition(taken.backbone, taken.prefix, [encodings(first), encodings(second)])[1]
    bare = taken.store.get(second).canonical
    full = make(taken, PatchKey(second, (first,), rank=most_rank(taken, bare.length)), encodings)
    for channel in ("rotary", "plain"):
        truth, alone = (getattr(item, channel)[1:].float() for item in (whole, bare))
        left = (alone + getattr(full, channel).product(alone.shape[1]) - truth).norm()
        assert left < 0.05 * (alone - truth).norm()


def test_a_forecast_of_text_counts_the_rows_and_the_patch_that_ingest_makes(taken: Workshop, open_text: Read, texts: Path) -> None:
    fresh = open_text(taken.home.root.with_name("fresh"))
    survey = Survey(fresh, 100, 2, None, lambda: False)
    for path in sorted(texts.iterdir()):
        survey.take(path, load(path, path.name, str(path), fresh.limits, lambda: False), lambda *_: None)
    totals = survey.totals()
    made = [ref for name in ("long.txt", "short.txt") for ref in refs(taken, name)]
    assert totals["rows@120"].value == sum(ref.rows[120] for ref in made)
    assert totals["patches"].value == 1
    rates = measure(survey.specimens, fresh, 1, lambda *_: None, lambda: False)
    assert (rates.pages, rates.patches) == (len(made), 1)
    (key,) = taken.store.patches.keys()
    assert taken.store.patches.get(key).patch.bytes == totals["patch_bytes"].value


def test_what_is_damaged_or_missing_is_made_again_to_the_same_bytes(taken: Workshop) -> None:
    before = files_of(taken.home.root)
    first, second = (f"{ref.key}@120" for ref in refs(taken, "long.txt"))
    data = bytearray(taken.store.path(first).read_bytes())
    data[len(data) // 2] ^= 1
    taken.store.path(first).write_bytes(data)
    (key,) = taken.store.patches.keys()
    taken.store.patches.remove(key)
    assert repair(taken, "default") == Repaired(pages=(first,), patches=(key,))
    assert key.page == second
    assert files_of(taken.home.root) == before


def test_of_deleted_documents_nothing_stays(taken: Workshop) -> None:
    for row in taken.catalogue.documents("default"):
        remove_document(taken, row.id)
    left = files_of(taken.home.root)
    assert not [name for name in left if "@" in name or "/patches/" in name]
    assert taken.store.ram.bytes == taken.store.patches.ram.bytes == 0
    assert remove_orphans(taken) == ()


def test_a_collection_of_text_refuses_the_reader_and_names_its_own_model(taken: Workshop, open_at: Open) -> None:
    reader = open_at(taken.home.root)
    with pytest.raises(
        IdentityMismatch, match=r"'default' \(made for --model random-llama-tiny-0\).*another model \(llama in the store, glm4v loaded\)"
    ):
        reader.collection("default")
    assert taken.catalogue.collection("default").model_name == "random-llama-tiny-0"
