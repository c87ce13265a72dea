"""Progress tells how many are done, how fast, and how long it will take; what an earlier run did is not in the rate."""

import io

from eval.longbench.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_rate_and_time_left_come_from_this_run_alone() -> None:
    now = iter([0.0, 10.0, 20.0])
    stream = Terminal()
    progress = Progress(102, before=90, stream=stream, clock=lambda: next(now))
    progress.step()
    progress.step()
    assert stream.getvalue().endswith("92 of 102 samples, 6.0 a minute, 1 min 40 s left")


def test_a_log_gets_a_line_every_half_minute_and_the_last() -> None:
    times = iter([0.0, *range(10, 110, 10)])
    stream = io.StringIO()
    progress = Progress(10, stream=stream, clock=lambda: float(next(times)))
    for _ in range(10):
        progress.step()
    assert [line.split(" of ")[0] for line in stream.getvalue().splitlines()] == ["3", "6", "9", "10"]


def test_hours_and_fast_rates_are_readable() -> None:
    assert Progress(20_001, before=1, stream=io.StringIO(), clock=lambda: 0.0).line(1.0).startswith("1 of 20,001")
    slow = Progress(1_000, stream=io.StringIO(), clock=lambda: 0.0)
    slow.done = slow._now = 1
    assert slow.line(30.0) == "1 of 1,000 samples, 2.0 a minute, 8 h 19 min left"
    assert "100.0 a second, 10 s left" in slow.line(0.01)
