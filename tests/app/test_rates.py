"""Rates: a bucket a name, filled by time, and never more names than may be kept."""

from app.rates import Buckets, Recent, neighbourhood


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_is_emptied_by_use_and_filled_by_time():
    clock = Clock()
    buckets = Buckets(60, burst=2, clock=clock)
    assert [buckets.take("a"), buckets.take("a")] == [0.0, 0.0]
    assert buckets.take("a") == 1.0
    assert buckets.take("b") == 0.0
    clock.now = 0.5
    assert buckets.take("a") == 0.5
    clock.now = 1.0
    assert buckets.take("a") == 0.0


def test_to_ask_for_the_wait_takes_nothing():
    buckets = Buckets(60, burst=1, clock=Clock())
    assert buckets.wait("a") == 0.0
    assert buckets.take("a") == 0.0
    assert buckets.wait("a") == 1.0


def test_a_rate_of_nought_lets_everything_pass():
    buckets = Buckets(0)
    assert not any(buckets.take("a") for _ in range(1000))


def test_no_more_names_are_kept_than_may_be_and_full_buckets_are_forgotten():
    clock = Clock()
    buckets = Buckets(60, burst=2, clock=clock, kept=10)
    for number in range(1000):
        buckets.take(str(number))
    assert len(buckets) == 10
    clock.now = 60.0
    for number in range(990, 1000):
        buckets.wait(str(number))
    assert len(buckets) == 0
    recent = Recent(kept=2)
    for name in "abc":
        recent.note((name, ""))
    assert [(name, "") in recent for name in "abc"] == [False, True, True]


def test_an_address_of_the_newer_kind_counts_with_its_neighbours():
    assert neighbourhood("192.0.2.7") == neighbourhood("::ffff:192.0.2.7") == "192.0.2.7"
    assert neighbourhood("2001:db8::1") == neighbourhood("2001:db8::ffff:2") != neighbourhood("2001:db8:0:1::1")
    assert neighbourhood("fe80::1%eth0") == "fe80::/64"
    assert neighbourhood("testclient") == "testclient"
