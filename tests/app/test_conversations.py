"""Conversations on a real house: pages that stay are not placed again, what was deleted leaves nothing, and ids are secrets."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.ask import answer
from app.errors import BadConversation, UnknownConversation
from app.house import House
from app.settings import Settings
from app.types import Answer, Done, Event, Failed, Token, Turn
from cache_compiler.assemble import assemble
from cache_compiler.form import cut, exact_deficit
from cache_compiler.patch import Patch
from cache_compiler.probe import greedy
from eval.records import samples
from ingest.pipeline import ingest
from ingest.remove import remove_document
from renderer.types import image_key

DRAWN = samples("build", 8, 1, 12, seed=5, each=1)
# Of the records: those whose question finds their own page, and these questions.
PAGES: list[tuple[str, ...]] = []
QUESTIONS: list[str] = []
TALK = "a-secret-of-mine"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A house whose collection "default" holds eight record pages, two a file; no patch is formed."""
    folder = tmp_path_factory.mktemp("records")
    for number in range(0, len(DRAWN), 2):
        (folder / f"{number}.txt").write_text("\n\n".join("\n".join(sample.pages[0]) for sample in DRAWN[number : number + 2]) + "\n")
    house = House.open(Settings(home=tmp_path_factory.mktemp("home"), patch_policy="off", conversations=2))
    assert len(ingest([folder], "default", house.workshop).done) == len(DRAWN) // 2
    for sample in DRAWN:
        (found,) = house.retriever.search(sample.question, "default", 1)
        if found.chunk.text.startswith(sample.pages[0][0]):
            PAGES.append(sample.pages[0])
            QUESTIONS.append(sample.question)
    assert len(QUESTIONS) >= 5
    yield house
    house.close()


@pytest.fixture
def house(built: House, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """The same house without a conversation, and with settings of its own."""
    monkeypatch.setattr(built, "settings", built.settings)
    yield built
    built.conversations.close()


def final(events: list[Event]) -> Answer:
    assert isinstance(events[-1], Done), events[-1]
    return events[-1].answer


def ask(house: House, text: str, talk: str | None = TALK, **choices: object) -> Answer:
    options: dict[str, Any] = {"top_k": 1, "conversation": talk, **choices}
    return final(list(answer(house.question(text, **options), house)))


def turn(told: Answer) -> Turn:
    assert told.conversation is not None
    return told.conversation


def read(told: Answer) -> list[str]:
    return [image_key(pick.page.key, pick.dpi) for pick in told.plan.picks]


def reads_page(house: House, number: int) -> str:
    """The page that a question finds."""
    return ask(house, QUESTIONS[number], None).plan.picks[0].page.key


def test_a_follow_up_keeps_its_pages_and_places_only_what_is_new(house: House) -> None:
    first, second = ask(house, QUESTIONS[0]), ask(house, QUESTIONS[1])
    assert read(second)[:1] == read(first)
    assert [pick.why for pick in second.plan.picks] == ["kept", "relevant"]
    assert [origin.tier == "window" for origin in second.provenance] == [True, False]
    assert second.provenance[0] == replace(first.provenance[0], tier="window", bytes_read=0)
    assert turn(first) == Turn(TALK, 1, 0, 1, 0, 0, 0, 0)
    assert turn(second) == Turn(TALK, 2, 1, 1, 0, 0, 0, 0)
    assert len(second.citations) == len(second.plan.picks) == len(second.provenance) == 2
    assert second.plan.rows == sum(pick.rows for pick in second.plan.picks)


def test_the_answer_is_that_of_a_fresh_context_of_the_same_pages(house: House) -> None:
    """Behind evictions and returns the window is what an assembly of its pages is."""
    for number in (0, 1, 2, 0, 3):
        told = ask(house, QUESTIONS[number])
    assert turn(told).evicted == 1
    assert turn(told).moved_rows > 0
    fresh = assemble(house.backbone, house.prefix, [house.store.get(key).canonical for key in read(told)])
    ids, _ = greedy(house.backbone, fresh, house.backbone.question_ids(QUESTIONS[3]))
    assert told.text == house.backbone.tokenizer.decode(ids, skip_special_tokens=True).strip()


def test_without_an_id_an_answer_stands_alone(house: House) -> None:
    ask(house, QUESTIONS[0], None)
    told = ask(house, QUESTIONS[1], None)
    assert told.conversation is None
    assert len(told.plan.picks) == 1
    assert len(house.conversations) == 0


def test_pages_beyond_the_window_go_and_come_back_when_they_are_found_again(house: House) -> None:
    told = [ask(house, QUESTIONS[number]) for number in (0, 1, 2, 0)]  # window_pages: twice top_k, which is 2
    assert [(turn(one).kept, turn(one).admitted, turn(one).recalled, turn(one).evicted) for one in told] == [
        (0, 1, 0, 0),
        (1, 1, 0, 0),
        (1, 1, 0, 1),
        (1, 0, 1, 1),
    ]
    assert read(told[3]) == [read(told[2])[-1], read(told[0])[0]]


def test_the_setting_says_how_many_pages_stay(house: House) -> None:
    house.settings = house.settings.model_copy(update={"window_pages": 4})
    told = [ask(house, QUESTIONS[number]) for number in range(5)]
    assert [len(one.plan.picks) for one in told] == [1, 2, 3, 4, 4]


def test_a_page_is_promoted_in_place_of_its_lower_version(house: House) -> None:
    low = ask(house, QUESTIONS[0], cap=0)
    high = ask(house, QUESTIONS[0])
    again = ask(house, QUESTIONS[0], cap=0)
    assert [pick.dpi for one in (low, high, again) for pick in one.plan.picks] == [72, 120, 120]
    assert (turn(high).evicted, turn(high).admitted) == (1, 1)
    assert (turn(again).kept, again.plan.picks[0].why) == (1, "kept")


def test_a_window_too_small_for_the_question_is_refused_and_the_conversation_goes_on(house: House) -> None:
    ask(house, QUESTIONS[0])
    house.settings = house.settings.model_copy(update={"window_bytes": 1000})
    events = list(answer(house.question(QUESTIONS[1], conversation=TALK), house))
    assert isinstance(events[-1], Failed)
    assert (events[-1].type, "window_bytes" in events[-1].message) == ("WindowTooSmall", True)
    house.settings = house.settings.model_copy(update={"window_bytes": 2**28})
    assert turn(ask(house, QUESTIONS[1])).kept == 1


def test_a_conversation_is_over_one_collection_and_its_id_is_no_short_word(house: House) -> None:
    house.workshop.collection("another", create=True)
    ask(house, QUESTIONS[0])
    for talk, collection in (
        (TALK, "another"),
        ("short", "default"),
        ("with space", "default"),
        ("x" * 65, "default"),
        ("ä" * 9, "default"),
    ):
        events = list(answer(house.question("Who?", collection, conversation=talk), house))
        assert isinstance(events[-1], Failed)
        assert events[-1].type == "BadConversation"
        assert talk not in events[-1].message
    with pytest.raises(BadConversation, match="'default'"):
        house.conversations.require(TALK, "another")


def test_the_least_recently_used_conversation_goes(house: House) -> None:
    for talk in ("conversation-1", "conversation-2"):
        ask(house, QUESTIONS[0], talk)
    window = house.conversations._kept["conversation-2"].window
    ask(house, QUESTIONS[1], "conversation-1")
    ask(house, QUESTIONS[1], "conversation-3")
    assert len(house.conversations) == 2
    with pytest.raises(Exception, match="closed"):
        _ = window.keys
    assert turn(ask(house, QUESTIONS[1], "conversation-1")).turn == 3
    assert turn(ask(house, QUESTIONS[1], "conversation-2")).turn == 1  # it begins anew, and says so


def test_a_dropped_conversation_is_forgotten(house: House) -> None:
    ask(house, QUESTIONS[0])
    house.conversations.drop(TALK)
    with pytest.raises(UnknownConversation):
        house.conversations.drop(TALK)
    assert turn(ask(house, QUESTIONS[0])) == Turn(TALK, 1, 0, 1, 0, 0, 0, 0)


def test_a_conversation_that_is_dropped_while_it_is_answered_ends_its_answer_and_then_goes(house: House) -> None:
    events: list[Event] = []
    for event in answer(house.question(QUESTIONS[0], conversation=TALK), house):
        if isinstance(event, Token) and len(events) == 1:
            window = house.conversations._kept[TALK].window
            house.conversations.drop(TALK)
        events.append(event)
    assert final(events).text
    with pytest.raises(Exception, match="closed"):
        _ = window.keys


def test_an_answer_that_fails_leaves_the_conversation_as_it_was(house: House) -> None:
    first = ask(house, QUESTIONS[0])
    key = image_key(reads_page(house, 1), 120)
    path = house.store.path(key)
    image = house.workshop.images.path(key)
    path.rename(path.with_suffix(".away"))
    image.rename(image.with_suffix(".away"))  # else the page would be compiled again
    house.store.ram.drop(key)
    try:
        events = list(answer(house.question(QUESTIONS[1], conversation=TALK, top_k=1), house))
        assert isinstance(events[-1], Failed)
        assert events[-1].type == "UnknownPage"
    finally:
        path.with_suffix(".away").rename(path)
        image.with_suffix(".away").rename(image)
    told = ask(house, QUESTIONS[1])
    assert read(told) == [*read(first), key]
    assert turn(told).turn == 2


def test_a_window_that_breaks_half_way_still_knows_what_stands_in_it(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(house, QUESTIONS[0])
    ask(house, QUESTIONS[1])
    from cache_compiler.errors import ContextTooLong
    from cache_compiler.window import Window

    def broken(*args: object) -> None:
        raise ContextTooLong("there is no room")

    with monkeypatch.context() as patch:
        patch.setattr(Window, "admit", broken)
        events = list(answer(house.question(QUESTIONS[2], conversation=TALK, top_k=1), house))
    assert isinstance(events[-1], Failed)
    told = ask(house, QUESTIONS[1])  # the oldest page had gone by then
    assert (turn(told).kept, len(told.plan.picks)) == (1, 1)


def remembering(house: House, monkeypatch: pytest.MonkeyPatch, turns: int = 4) -> list[tuple[tuple[str, str], ...]]:
    """Make the model one that is told earlier turns; returns what it is told, a list that grows."""
    told: list[tuple[tuple[str, str], ...]] = []
    monkeypatch.setattr(house.backbone, "card", replace(house.backbone.card, turns=turns))
    monkeypatch.setattr(house.backbone, "template", replace(house.backbone.template, turn="<turn>"))

    def question_ids(question: str, history: Sequence[tuple[str, str]] = ()) -> list[int]:
        told.append(tuple(history))
        return plain(question)

    plain = house.backbone.question_ids
    monkeypatch.setattr(house.backbone, "question_ids", question_ids)
    return told


def test_earlier_turns_are_told_before_the_question_as_many_as_the_card_says(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    told = remembering(house, monkeypatch, turns=2)
    answers = [ask(house, QUESTIONS[number]) for number in range(4)]
    pairs = [(one.question, one.text) for one in answers]
    assert told == [(), (pairs[0],), (pairs[0], pairs[1]), (pairs[1], pairs[2])]
    assert [turn(one).told for one in answers] == [0, 1, 2, 2]


def test_a_model_whose_template_takes_no_earlier_turns_is_told_none_and_the_reply_says_so(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = remembering(house, monkeypatch)
    monkeypatch.setattr(house.backbone, "template", replace(house.backbone.template, turn=None))
    ask(house, QUESTIONS[0])
    assert turn(ask(house, QUESTIONS[1])).told == 0
    assert told == [(), ()]


def test_a_stopped_answer_is_not_told(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    told = remembering(house, monkeypatch)
    cancel = threading.Event()
    for event in answer(house.question(QUESTIONS[0], conversation=TALK), house, cancel):
        if isinstance(event, Token):
            cancel.set()
    assert final([event]).finish == "cancelled"
    assert turn(ask(house, QUESTIONS[1])) == Turn(TALK, 2, 1, 1, 0, 0, 0, 0)
    assert told == [(), ()]


def take_in(house: House, folder: Path, number: int) -> str:
    """A document of its own for one record, in a collection "talk"; returns its id."""
    path = folder / f"{number}.txt"
    path.write_text("\n".join([*PAGES[number], f"Only here: {folder.name}."]) + "\n")
    return ingest([path], "talk", house.workshop).done[0].document


def whole_patch(house: House, key: str, given: tuple[str, ...]) -> Patch:
    """Form a full-rank patch and put it into the store."""
    encoded = {k: house.backbone.encode([house.workshop.images.get(k, house.backbone.cell)])[0] for k in (*given, key)}
    canonical = house.store.get(key).canonical
    patch = cut(exact_deficit(house.backbone, house.prefix, [encoded[k] for k in given], encoded[key], canonical), given, canonical, 8)
    house.store.patches.put(patch)
    return patch


def test_nothing_of_a_document_that_is_deleted_between_two_turns_is_used_again(
    house: House, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Neither its page, nor what another page absorbed from it, nor an answer that was read from it."""
    told = remembering(house, monkeypatch)
    fleeting, staying = take_in(house, tmp_path, 0), take_in(house, tmp_path, 1)
    house.settings = house.settings.model_copy(update={"patch_policy": "adjacent", "window_pages": 4})
    keys = [image_key(house.catalogue.chunks_of(document)[0].pages[0].key, 120) for document in (fleeting, staying)]
    whole_patch(house, keys[1], (keys[0],))
    choices = {"collection": "talk"}
    ask(house, QUESTIONS[0], **choices)
    second = ask(house, QUESTIONS[1], **choices)
    assert read(second) == keys
    used = second.provenance[1].patch
    assert used is not None
    assert (used.match, used.given, used.missing, used.rank) == ("exact", (keys[0],), (), 8)

    remove_document(house.workshop, fleeting)
    third = ask(house, QUESTIONS[1], **choices)
    assert read(third) == keys[1:]
    assert third.provenance[0].patch is None
    assert all(citation.document == staying for citation in third.citations)
    assert told[-1] == ()  # both earlier answers were read with it in the context
    window = house.conversations._kept[TALK].window
    assert keys[0] not in (*window.keys, *window.evicted)
    assert [patch for patch in window.patches if patch is not None] == []
    fresh = ask(house, QUESTIONS[1], None, **choices)
    assert third.text == fresh.text
    # What was said since is told again.
    ask(house, QUESTIONS[1], **choices)
    assert list(told[-1]) == [(QUESTIONS[1], third.text)]


def test_an_idle_conversation_lets_a_deleted_document_go_at_once(house: House, tmp_path: Path) -> None:
    fleeting = take_in(house, tmp_path, 5)
    (page,) = read(ask(house, QUESTIONS[5 % len(QUESTIONS)], collection="talk"))
    window = house.conversations._kept[TALK].window
    assert page in window.keys
    remove_document(house.workshop, fleeting)
    with house.lane.turn():
        assert house.forget_deleted(0.01) is None  # an answer may take minutes, and a deletion does not wait for it
    assert page in window.keys
    assert house.forget_deleted() == 1
    assert page not in (*window.keys, *window.evicted)


def test_what_an_answer_was_told_counts_as_read_when_a_document_goes(house: House, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The second answer stands on another page, but was told the first one."""
    told = remembering(house, monkeypatch)
    first, _ = take_in(house, tmp_path, 2), take_in(house, tmp_path, 3)
    house.settings = house.settings.model_copy(update={"window_pages": 1})
    ask(house, QUESTIONS[2], collection="talk")
    second = ask(house, QUESTIONS[3], collection="talk")
    assert len(second.plan.picks) == 1
    remove_document(house.workshop, first)
    ask(house, QUESTIONS[3], collection="talk")
    assert told[-1] == ()


def test_a_page_that_another_document_has_too_stays_and_is_cited_from_there(house: House, tmp_path: Path) -> None:
    take_in(house, tmp_path, 4)
    twin = tmp_path / "twin.txt"
    twin.write_bytes((tmp_path / "4.txt").read_bytes() + b"\n")
    other = ingest([twin], "talk", house.workshop).done[0].document
    cited = ask(house, QUESTIONS[4], collection="talk").citations[0].document
    remove_document(house.workshop, cited)
    told = ask(house, "What else is there?", collection="talk")
    page = next(one for one in told.citations if one.page == ask(house, QUESTIONS[4], None, collection="talk").citations[0].page)
    assert page.document != cited
    assert other is not None
