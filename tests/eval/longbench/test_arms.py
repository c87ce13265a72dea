"""Every arm answers the fixture with the real reader, under both protocols, and arms that must agree do."""

from dataclasses import replace

import pytest

from cache_compiler.errors import ContextTooLong
from eval.longbench.arms import ImageArm, arms_named, make_arm
from eval.longbench.errors import EmptyContext, UnknownArm
from eval.longbench.house import House
from eval.longbench.tasks import GLYPH, OFFICIAL, TASKS

ARMS = ("image-full@72", "image-pic@72", "image-pic@72:free", "image-pic@120:dummy-4", "qv-pic", "qv-pic:free")
WAYS = [*((OFFICIAL, name) for name in ARMS), *((GLYPH, name) for name in ("image-full@120", "image-pic@72", "qv-pic"))]


@pytest.fixture(scope="module")
def houses(backbone) -> dict[str, House]:
    return {protocol.name: House(backbone, protocol, max_length=700, max_tokens=3) for protocol in (OFFICIAL, GLYPH)}


def short(record, characters=300):
    """The first lines of a record: a page or two of the reader's."""
    return replace(record, context=record.context[:characters])


@pytest.mark.parametrize(("protocol", "name"), WAYS, ids=lambda value: getattr(value, "name", value))
def test_every_arm_answers_every_task_of_the_fixture(protocol, name, houses, rows) -> None:
    arm = make_arm(name, houses[protocol.name])
    for task in TASKS:
        reply = arm.answer(task, short(rows[task][0]))
        assert reply.error is None
        assert reply.tokens <= 3
        assert reply.rows > 50
        assert reply.first_token_seconds is not None
        assert reply.first_token_seconds > 0


def test_on_a_single_page_the_page_cache_answers_what_full_prefill_does(backbone, rows) -> None:
    house = House(backbone, OFFICIAL, max_tokens=8)
    for task in ("hotpotqa", "triviaqa"):
        record = short(rows[task][0], 200)
        full, cached = (make_arm(name, house).answer(task, record) for name in ("image-full@120", "image-pic@120"))
        assert (full.text, full.rows) == (cached.text, cached.rows)
        assert full.text


def test_relevance_decides_which_pages_are_sharp(backbone, rows) -> None:
    house = House(backbone, OFFICIAL, max_tokens=1)
    record = rows["hotpotqa"][0]
    low, high, mixed = (make_arm(name, house).answer("hotpotqa", record).rows for name in ("image-pic@72", "image-pic@120", "qv-pic"))
    assert low < mixed < high
    assert make_arm("qv-pic@72-72", house).answer("hotpotqa", record).rows == low


def test_names_are_taken_apart_as_they_are_written(backbone) -> None:
    house = House(backbone, OFFICIAL)
    arm = make_arm("image-pic@96:dummy-16", house)
    assert isinstance(arm, ImageArm)
    assert (arm.name, arm.condition, arm.dpi, arm.budget) == ("image-pic@96:dummy-16", "dummy-16", 96, None)
    mixed = make_arm("qv-pic@60-144:free", house)
    assert isinstance(mixed, ImageArm)
    assert mixed.budget is not None
    assert (mixed.condition, mixed.budget.low, mixed.budget.high, mixed.budget.cap) == ("free", 60, 144, 4)
    with pytest.raises(UnknownArm, match="low DPI stands first"):
        make_arm("qv-pic@120-72", house)


@pytest.mark.parametrize("text", ["image", "image-pic@", "image-pic@0", "image-full@72:free", "qv-pic:nonsense", "", "image-pic,,nonsense"])
def test_a_name_that_is_no_arms_is_refused_with_what_there_is(text) -> None:
    with pytest.raises(UnknownArm, match="image-pic"):
        arms_named(text)


def test_arms_are_taken_once_each() -> None:
    assert arms_named("qv-pic, image-pic,qv-pic") == ("qv-pic", "image-pic")


@pytest.mark.parametrize("protocol", ["official", "glyph"])
def test_an_empty_context_says_so(protocol, houses, rows) -> None:
    for context in ("", " \n\n\t", "\u200b"):
        with pytest.raises(EmptyContext, match="context is empty"):
            make_arm("image-pic", houses[protocol]).answer("musique", replace(rows["musique"][0], context=context))


def test_a_context_of_two_megabytes_is_too_long_for_the_reader_and_says_so_before_it_is_read(backbone, rows) -> None:
    record = replace(rows["musique"][0], context=("A line that nobody will ever read to its end. " * 8 + "\n\n") * 5600)
    assert len(record.context) > 2_000_000
    house = House(backbone, GLYPH, max_tokens=1)
    with pytest.raises(ContextTooLong, match="characters takes more than"):
        make_arm("image-pic", house).answer("musique", record)


@pytest.mark.slow
def test_a_context_of_two_megabytes_is_cut_in_the_middle_under_the_official_protocol(backbone, rows) -> None:
    record = replace(rows["musique"][0], context=("A line that nobody will ever read to its end. " * 8 + "\n\n") * 5600)
    house = House(backbone, OFFICIAL, max_length=700, max_tokens=1)
    assert make_arm("image-pic", house).answer("musique", record).rows < 1000
