"""A memory that grows is told from one that is full, and nothing is said of a run that was too short."""

from eval.load.memory import MIB, judged


def looks(minutes: float, size, lives: int = 1) -> list[tuple[float, int, int]]:
    seconds = int(60 * minutes)
    return [(float(at), int(size(at / 60) * MIB), 1 + at * lives // (seconds + 1)) for at in range(seconds + 1)]


def test_a_leak_is_seen_and_its_slope_told() -> None:
    found = judged(looks(10, lambda minute: 500 + 10 * minute))
    assert found.flat is False
    assert round(found.slope / MIB, 1) == 10.0
    assert round(found.gain / MIB) == 67
    assert found.peak == found.last == 600 * MIB


def test_a_memory_that_fills_in_the_first_third_and_then_rests_is_flat() -> None:
    assert judged(looks(10, lambda minute: 500 + 30 * min(minute, 3))).flat is True


def test_a_short_run_and_one_of_several_lives_are_not_judged() -> None:
    assert judged(looks(2, lambda minute: 500 + 100 * minute)).flat is None
    assert judged(looks(10, lambda minute: 500, lives=3)).flat is None


def test_one_look_says_nothing() -> None:
    assert judged([(0.0, 1, 1)]) is None
