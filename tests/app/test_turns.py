"""Who stays, who goes and who comes between two questions of a conversation."""

import pytest

from app.turns import Limits, Standing, arrange
from cache_compiler.errors import WindowTooSmall
from retrieval.types import Chunk, PageRef, Pick, Plan, Why

ROWS = {72: 10, 120: 25}
ROOMY = Limits(pages=8, bytes=10**9, row_bytes=1)


def pick(page: str, dpi: int = 72, why: Why = "context", score: float = 0.5, chunk: int = 0) -> Pick:
    ref = PageRef(page, ROWS)
    return Pick(Chunk(chunk or ord(page), "d1", 0, "text", 0, 4, pages=(ref,)), ref, dpi, score, why)


def window(*items: tuple[str, int, int]) -> dict[str, Standing]:
    """(page, dpi, turn that found it last), from left to right."""
    return {f"{page}@{dpi}": Standing(pick(page, dpi), found) for page, dpi, found in items}


def plan(*picks: Pick) -> Plan:
    return Plan(picks, tuple(one.chunk.id for one in picks))


def shown(standing: dict[str, Standing], wanted: Plan, limits: Limits = ROOMY) -> tuple[list[str], list[str], list[str]]:
    found = arrange(standing, wanted, limits)
    return [f"{one.page.key}@{one.dpi} {one.why}" for one in found.picks], list(found.gone), list(found.new)


def test_the_first_question_admits_its_plan_in_context_order() -> None:
    assert shown({}, plan(pick("a", 120, "relevant"), pick("b"))) == (["a@120 relevant", "b@72 context"], [], ["a@120", "b@72"])


def test_pages_that_stand_there_stay_in_their_places_and_new_ones_come_at_the_right() -> None:
    standing = window(("a", 72, 1), ("b", 72, 1))
    assert shown(standing, plan(pick("c", 120, "relevant"), pick("b"))) == (
        ["a@72 kept", "b@72 context", "c@120 relevant"],
        [],
        ["c@120"],
    )


def test_a_page_that_stands_at_a_higher_dpi_stays_and_one_at_a_lower_gives_way() -> None:
    standing = window(("a", 120, 1), ("b", 72, 1))
    assert shown(standing, plan(pick("a", 72), pick("b", 120, "relevant"))) == (
        ["a@120 kept", "b@120 relevant"],
        ["b@72"],
        ["b@120"],
    )


def test_a_found_page_has_its_new_score_and_chunk_and_a_page_that_was_not_found_its_last() -> None:
    standing = window(("a", 120, 1), ("b", 72, 1))
    found = arrange(standing, plan(pick("a", 72, score=0.9, chunk=7)), ROOMY)
    assert (found.picks[0].score, found.picks[0].chunk.id, found.picks[0].dpi) == (0.9, 7, 120)
    assert (found.picks[1].score, found.picks[1].why) == (0.5, "kept")


def test_beyond_the_limit_those_go_that_no_question_has_found_for_the_longest_time() -> None:
    standing = window(("a", 72, 3), ("b", 72, 1), ("c", 72, 2), ("d", 72, 1))
    wanted = plan(pick("e"), pick("a"))
    assert shown(standing, wanted, Limits(4, 10**9, 1))[1] == ["b@72"]
    assert shown(standing, wanted, Limits(3, 10**9, 1))[1] == ["b@72", "d@72"]
    assert shown(standing, wanted, Limits(2, 10**9, 1))[0] == ["a@72 context", "e@72 context"]


def test_bytes_and_rows_are_limits_too() -> None:
    standing = window(("a", 72, 1), ("b", 120, 2))
    wanted = plan(pick("c"))
    assert shown(standing, wanted, Limits(8, 45 * 4, 4))[1] == []
    assert shown(standing, wanted, Limits(8, 45 * 4 - 1, 4))[1] == ["a@72"]
    assert shown(standing, wanted, Limits(8, 10**9, 4, rows=34))[1] == ["a@72", "b@120"]


def test_the_plans_own_pages_always_come_even_where_the_setting_says_fewer() -> None:
    assert shown(window(("a", 72, 1)), plan(pick("b"), pick("c")), Limits(1, 10**9, 1)) == (
        ["b@72 context", "c@72 context"],
        ["a@72"],
        ["b@72", "c@72"],
    )


def test_a_page_that_stands_at_a_higher_dpi_than_there_is_room_for_comes_again_at_the_lower() -> None:
    standing = window(("a", 120, 1), ("b", 120, 1))
    assert shown(standing, plan(pick("a"), pick("b")), Limits(8, 35, 1)) == (["b@120 kept", "a@72 context"], ["a@120"], ["a@72"])


def test_a_plan_that_is_larger_than_a_window_may_be_is_refused_with_the_setting() -> None:
    with pytest.raises(WindowTooSmall, match="window_bytes"):
        arrange(window(("a", 72, 1)), plan(pick("b", 120), pick("c", 120)), Limits(8, 49, 1))


def test_a_page_of_two_chunks_is_read_once_at_the_higher_dpi() -> None:
    assert shown({}, plan(pick("a", chunk=1), pick("a", 120, "relevant", chunk=2)))[0] == ["a@120 relevant"]
