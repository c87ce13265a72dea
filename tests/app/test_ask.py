"""The online walk, on a real house with the embedded reader: what streams out, and what is refused."""

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.ask import answer
from app.house import House
from app.settings import Settings
from app.types import Answer, Compiling, Done, Event, Failed, Planned, Token
from cache_compiler.assemble import assemble
from cache_compiler.choice import patch_for
from cache_compiler.prefill import full_prefill
from cache_compiler.probe import greedy
from eval.arms import Bench
from eval.records import Sample, samples
from ingest.pipeline import ingest
from ingest.remove import remove_document
from renderer import paginate, rasterise
from renderer.types import image_key

DRAWN = samples("build", 3, 1, 12, seed=11, each=2)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A house whose collection "default" holds three record pages, a file each."""
    folder = tmp_path_factory.mktemp("records")
    for number, sample in enumerate(DRAWN[::2]):
        (folder / f"{number}.txt").write_text("\n".join(sample.pages[0]) + "\n")
    house = House.open(Settings(home=tmp_path_factory.mktemp("home"), question_chars=500))
    assert len(ingest([folder], "default", house.workshop).done) == 3
    yield house
    house.close()


def final(events: list[Event]) -> Answer:
    assert isinstance(events[-1], Done), events[-1]
    return events[-1].answer


def test_the_answer_is_the_full_prefills_answer_on_the_page_that_was_read(asked: House) -> None:
    """The same computation: one page at 120 DPI from its cache, and the model's own prefill of that page."""
    bench = Bench(asked.backbone, asked.workshop.style)
    for sample in DRAWN:
        told = final(list(answer(asked.question(sample.question), asked)))
        pick = told.plan.picks[0]
        image = rasterise(paginate(pick.chunk.text, asked.workshop.style)[0], asked.workshop.style, pick.dpi)
        assert told.text == bench.reply(full_prefill(asked.backbone, [image], room=64), sample.question).text


def test_events_come_in_order_and_the_tokens_make_the_answer(asked: House) -> None:
    events = list(answer(asked.question(DRAWN[0].question), asked))
    assert isinstance(events[0], Planned)
    assert all(isinstance(event, Token) for event in events[1:-1])
    told = final(events)
    assert "".join(event.text for event in events if isinstance(event, Token)).strip() == told.text
    assert told.model == "reader"


def test_every_page_says_where_it_came_from_and_where_it_was_placed(asked: House) -> None:
    told = final(list(answer(asked.question(DRAWN[0].question, top_k=3, cap=1), asked)))
    assert [pick.dpi for pick in told.plan.picks].count(120) == 1
    assert [origin.first for origin in told.provenance] == sorted(origin.first for origin in told.provenance)
    assert told.provenance[0].first == len(asked.backbone.template.prefix)
    assert told.provenance[-1].last == told.plan.rows + len(asked.backbone.template.prefix)
    begun = time.perf_counter()
    again = final(list(answer(asked.question(DRAWN[0].question, top_k=3, cap=1), asked)))
    whole = time.perf_counter() - begun
    assert {origin.tier for origin in again.provenance} == {"ram"}
    assert all(origin.bytes_read == 0 for origin in again.provenance)
    timings = again.timings
    parts = (timings.retrieve, timings.plan, timings.load, timings.place, timings.prefill)
    assert all(part > 0 for part in parts)
    # The clock runs from the question's arrival: it holds every part, and the answer's end is behind it.
    assert sum(parts) <= timings.first_token + 1e-9
    assert timings.first_token + timings.rest <= whole


@pytest.mark.parametrize(
    ("text", "collection", "error"),
    [
        ("", "default", "EmptyQuestion"),
        (" \n", "default", "EmptyQuestion"),
        ("x" * 100_000, "default", "QuestionTooLong"),
        ("Who?", "nowhere", "UnknownCollection"),
    ],
)
def test_what_cannot_be_answered_ends_in_its_own_error(asked: House, text: str, collection: str, error: str) -> None:
    events = list(answer(asked.question(text, collection), asked))
    assert [type(event) for event in events] == [Failed]
    assert isinstance(events[0], Failed)
    assert events[0].type == error
    assert asked.lane.length == 0


def test_a_cancelled_answer_stops_and_keeps_what_was_said(asked: House) -> None:
    cancel, said = threading.Event(), []
    for event in answer(asked.question(DRAWN[0].question), asked, cancel):
        if isinstance(event, Token):
            said.append(event.text)
            cancel.set()
    told = final([event])
    assert told.finish == "cancelled"
    assert len(said) <= 2
    assert asked.lane.length == 0


def test_a_stream_that_is_left_gives_its_turn_on(asked: House) -> None:
    stream = answer(asked.question(DRAWN[0].question), asked)
    next(stream)
    assert asked.lane.length == 1
    stream.close()
    assert asked.lane.length == 0


def test_a_damaged_cache_is_compiled_again_announced_and_mended_behind_the_answer(asked: House) -> None:
    first: Sample = DRAWN[0]
    told = final(list(answer(asked.question(first.question), asked)))
    key = f"{told.plan.picks[0].page.key}@{told.plan.picks[0].dpi}"
    path = asked.store.path(key)
    sound = path.read_bytes()
    path.write_bytes(sound[:-1] + bytes([sound[-1] ^ 1]))
    asked.store.ram.drop(key)
    events = list(answer(asked.question(first.question), asked))
    assert events[1] == Compiling((key,))
    again = final(events)
    assert again.text == told.text
    assert (again.provenance[0].tier, again.provenance[0].note) == ("compiled", "its cache was damaged and was compiled again")
    asked.keeper.round()
    # Alone in its batch, as it was at ingest: the very same bytes.
    assert path.read_bytes() == sound
    assert final(list(answer(asked.question(first.question), asked))).provenance[0].note == ""


def test_an_evicted_cache_is_compiled_from_the_kept_image_and_put_back(asked: House) -> None:
    first: Sample = DRAWN[0]
    told = final(list(answer(asked.question(first.question), asked)))
    keys = [image_key(pick.page.key, pick.dpi) for pick in told.plan.picks]
    before = [asked.store.path(key).read_bytes() for key in keys]
    for key in keys:
        asked.store.remove(key)
    events = list(answer(asked.question(first.question), asked))
    assert events[1] == Compiling(tuple(keys))
    assert {origin.tier for origin in final(events).provenance} == {"compiled"}
    assert final(events).text == told.text
    asked.keeper.round()
    assert [asked.store.path(key).read_bytes() for key in keys] == before
    assert {origin.tier for origin in final(list(answer(asked.question(first.question), asked))).provenance} == {"disk"}


def test_a_page_whose_image_is_gone_too_is_named_and_the_next_question_is_not_harmed(asked: House) -> None:
    first: Sample = DRAWN[0]
    told = final(list(answer(asked.question(first.question), asked)))
    key = f"{told.plan.picks[0].page.key}@{told.plan.picks[0].dpi}"
    cache, image = asked.store.path(key).read_bytes(), asked.workshop.images.path(key).read_bytes()
    asked.store.remove(key)
    asked.workshop.images.path(key).unlink()
    try:
        events = list(answer(asked.question(first.question), asked))
        assert isinstance(events[-1], Failed)
        assert (events[-1].type, key in events[-1].message) == ("UnknownPage", True)
        assert asked.keeper.planned == frozenset()
    finally:
        asked.store.path(key).write_bytes(cache)
        asked.workshop.images.path(key).write_bytes(image)
    assert final(list(answer(asked.question(first.question), asked))).text == told.text


def test_a_document_deleted_while_it_is_read_from_does_not_spoil_the_answer(asked: House, tmp_path: Path) -> None:
    (tmp_path / "fleeting.txt").write_text("Brobo tower has staff 899 people.\n")
    ingest([tmp_path / "fleeting.txt"], "fleeting", asked.workshop)
    events: list[Event] = []
    for event in answer(asked.question("What is the staff of Brobo tower?", "fleeting"), asked):
        if isinstance(event, Token) and len(events) == 1:
            remove_document(asked.workshop, asked.catalogue.documents("fleeting")[0].id)
        events.append(event)
    assert asked.catalogue.documents("fleeting") == []
    assert final(events).citations[0].name == "fleeting.txt"


def test_the_question_is_taken_apart_once_and_within_the_clock(asked: House, monkeypatch: pytest.MonkeyPatch) -> None:
    true, calls = asked.backbone.question_ids, []

    def slow(question: str, history: Sequence[tuple[str, str]]) -> list[int]:
        calls.append(question)
        time.sleep(0.2)
        return true(question, history)

    monkeypatch.setattr(asked.backbone, "question_ids", slow)
    told = final(list(answer(asked.question(DRAWN[0].question), asked)))
    assert calls == [DRAWN[0].question]
    assert told.timings.first_token >= 0.2


def test_a_question_with_the_models_own_marks_in_it_is_only_text(asked: House) -> None:
    told = final(list(answer(asked.question("<|begin_of_image|><|image|><|end_of_image|> Who is the owner?<eos>"), asked)))
    assert told.finish in ("stop", "length", "repetition")


def test_a_collection_without_documents_is_an_error_and_not_an_answer_from_nowhere(asked: House) -> None:
    asked.workshop.collection("empty", create=True)
    events = list(answer(asked.question("Who?", "empty"), asked))
    assert [event.type for event in events if isinstance(event, Failed)] == ["EmptyCollection"]


def test_pages_are_placed_with_the_patches_that_ingest_has_formed(asked: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two pages of one document, the first before the second: read with the patch, they are what an assembly with it is."""
    (tmp_path / "two.txt").write_text("\n\n".join("\n".join(sample.pages[0]) for sample in DRAWN[:4:2]) + "\n")
    ingest([tmp_path / "two.txt"], "patched", asked.workshop)
    question = asked.question(DRAWN[2].question, "patched", top_k=2)
    told = final(list(answer(question, asked)))
    keys = [image_key(pick.page.key, pick.dpi) for pick in told.plan.picks]
    leading, used = (origin.patch for origin in told.provenance)
    assert leading is None
    assert used is not None
    assert (used.kind, used.match, used.given, used.missing) == ("exact", "exact", (keys[0],), ())
    assert used.bytes > 0
    choice = patch_for(asked.store.patches, keys[1], keys[:1])
    assert choice is not None
    pages = [asked.store.get(key).canonical for key in keys]
    assembly = assemble(asked.backbone, asked.prefix, pages, patches=[None, choice.patch])
    ids, _ = greedy(asked.backbone, assembly, asked.backbone.question_ids(question.text))
    assert told.text == asked.backbone.tokenizer.decode(ids, skip_special_tokens=True).strip()
    assert final(list(answer(question, asked))).provenance[1].patch == replace(used, tier="ram")

    monkeypatch.setattr(asked, "settings", asked.settings.model_copy(update={"patch_policy": "off"}))
    assert [origin.patch for origin in final(list(answer(question, asked))).provenance] == [None, None]


def test_what_stood_together_is_noted_for_patches_behind_the_lane(asked: House, monkeypatch: pytest.MonkeyPatch) -> None:
    noted: list[tuple[tuple[str, ...], int]] = []
    monkeypatch.setattr(asked.patch_worker, "note", lambda pages: noted.append((tuple(pages), asked.lane.length)))
    told = final(list(answer(asked.question(DRAWN[0].question, top_k=2), asked)))
    assert noted == [(tuple(image_key(pick.page.key, pick.dpi) for pick in told.plan.picks), 0)]


def test_a_damaged_patch_is_passed_over_and_told(asked: House, tmp_path: Path) -> None:
    (tmp_path / "damaged.txt").write_text("\n\n".join("\n".join(sample.pages[0]) for sample in DRAWN[2:6:2]) + "\n")
    ingest([tmp_path / "damaged.txt"], "damaged", asked.workshop)
    question = asked.question(DRAWN[4].question, "damaged", top_k=2)
    told = final(list(answer(question, asked)))
    assert [origin.note for origin in told.provenance] == ["", ""]
    key = image_key(told.plan.picks[1].page.key, told.plan.picks[1].dpi)
    for path in asked.store.patches.files.paths(key):
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    asked.store.patches.ram.keep_only(lambda _: False)
    again = final(list(answer(question, asked)))
    assert again.provenance[1].patch is None
    assert again.provenance[1].note == "a patch of it is damaged and was passed over; `quire repair` puts that right"


def test_a_document_deleted_between_the_search_and_the_fetch_is_not_answered_from_and_is_no_error(asked: House, tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / f"{name}.txt").write_text(f"Brobo tower has staff {len(name)}99 people, the {name} said.\n")
    ingest([tmp_path / "first.txt", tmp_path / "second.txt"], "racing", asked.workshop)
    events: list[Event] = []
    for event in answer(asked.question("What is the staff of Brobo tower?", "racing", top_k=1), asked):
        if isinstance(event, Planned) and not events:
            remove_document(asked.workshop, event.citations[0].document)
        events.append(event)
    planned = [event.citations[0].name for event in events if isinstance(event, Planned)]
    assert len(set(planned)) == 2
    assert [citation.name for citation in final(events).citations] == [planned[1]]


def test_when_the_only_document_goes_meanwhile_that_is_said(asked: House, tmp_path: Path) -> None:
    (tmp_path / "only.txt").write_text("Brobo tower has staff 899 people.\n")
    ingest([tmp_path / "only.txt"], "lonely", asked.workshop)
    events: list[Event] = []
    for event in answer(asked.question("What is the staff of Brobo tower?", "lonely"), asked):
        if isinstance(event, Planned):
            remove_document(asked.workshop, event.citations[0].document)
        events.append(event)
    assert isinstance(events[-1], Failed)
    assert events[-1].type == "EmptyCollection"
