"""What an answer was spared: measured on a stored page when nobody waits, and then told in proportion."""

import threading
import time

from app.spared import Spared


def measured(spared: Spared, seconds: float = 60.0):
    end = time.monotonic() + seconds
    while spared.of(1) is None and time.monotonic() < end:
        time.sleep(0.02)
    return spared.of(1)


def test_it_is_measured_once_somebody_wants_it_and_told_in_proportion(house):
    spared = Spared(house.workshop, house.lane)
    assert spared.of(100) is None
    spared.wanted()
    assert measured(spared).seconds > 0
    spared.close()
    assert spared.of(2000).seconds == 2 * spared.of(1000).seconds
    assert "rows, encoded and prefilled in" in spared.of(1).basis


def test_nobody_is_kept_waiting_by_it(house):
    spared = Spared(house.workshop, house.lane)
    with house.lane.turn():
        spared.wanted()
        time.sleep(1.2)  # two looks
        assert spared.of(1) is None
    assert measured(spared) is not None
    spared.close()


def test_a_house_without_pages_is_left_alone_and_closes_at_once(house, tmp_path):
    from dataclasses import replace

    from retrieval.catalogue import Catalogue

    empty = replace(house.workshop, catalogue=Catalogue(tmp_path / "catalogue.sqlite"))
    spared = Spared(empty, house.lane)
    spared.wanted()
    time.sleep(0.6)
    spared.close()
    assert spared.of(1) is None
    empty.catalogue.close()


def test_a_page_that_cannot_be_read_is_passed_over(house, caplog):
    from dataclasses import replace

    from ingest.images import ImageStore

    class Damaged(ImageStore):
        def get(self, key, cell):
            if not seen:
                seen.append(key)
                raise OSError("damaged")
            return super().get(key, cell)

    seen: list[str] = []
    spared = Spared(replace(house.workshop, images=Damaged(house.workshop.images.root)), house.lane)
    spared.wanted()
    assert measured(spared) is not None
    assert "another one is tried" in caplog.text
    spared.close()


def test_where_there_is_no_page_it_looks_less_and_less_often(house, tmp_path):
    from dataclasses import replace

    from app.spared import LONGEST, LOOK
    from retrieval.catalogue import Catalogue

    class Told(threading.Event):
        def wait(self, timeout=None):
            pauses.append(timeout)
            return len(pauses) > 12

    pauses: list[float] = []
    empty = replace(house.workshop, catalogue=Catalogue(tmp_path / "catalogue.sqlite"))
    spared = Spared(empty, house.lane)
    spared._stopping = Told()
    spared._wait()
    assert pauses[0] == LOOK
    assert pauses == sorted(pauses)
    assert pauses[-1] == LONGEST
    empty.catalogue.close()
