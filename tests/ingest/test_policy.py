"""Which patches are worth forming: every neighbour at every pair of DPIs, and nothing twice."""

from ingest.policy import Policy, Wanted, adjacent, neighbours

DPIS = (72, 120)


def test_every_page_is_given_the_one_before_it_at_every_pair_of_dpis() -> None:
    wanted = adjacent(["a", "b", "c"], DPIS)
    assert len(wanted) == 8
    assert set(wanted) == {
        Wanted(f"{page}@{dpi}", (f"{before}@{other}",)) for before, page in ("ab", "bc") for dpi in DPIS for other in DPIS
    }


def test_the_patches_of_one_page_image_follow_one_another_so_that_it_is_encoded_once() -> None:
    pages = [want.page for want in adjacent(["a", "b", "c"], DPIS)]
    assert pages == [page for page in dict.fromkeys(pages) for _ in DPIS]


def test_a_pair_that_stands_twice_is_wanted_once_and_a_double_behind_itself_too() -> None:
    assert len(adjacent(["a", "b", "a", "b"], (72,))) == 2
    assert adjacent(["a", "a"], (72,)) == [Wanted("a@72", ("a@72",))]


def test_a_document_of_one_page_or_none_wants_nothing() -> None:
    assert adjacent(["a"], DPIS) == adjacent([], DPIS) == []
    assert neighbours(["a", "b"], DPIS, 3) == []


def test_of_every_run_of_neighbours_each_is_given_the_others_at_one_dpi() -> None:
    wanted = neighbours(["a", "b", "c", "d"], DPIS, 3)
    assert len(wanted) == 2 * 3 * 2
    assert Wanted("b@72", ("a@72", "c@72")) in wanted
    assert Wanted("d@120", ("b@120", "c@120")) in wanted
    assert all(len({key.partition("@")[2] for key in (want.page, *want.given)}) == 1 for want in wanted)


def test_a_run_with_a_page_twice_is_left_out() -> None:
    assert neighbours(["a", "b", "a"], (72,), 3) == []
    assert len(neighbours(["a", "b", "a", "c"], (72,), 3)) == 3


def test_the_defaults_are_the_papers() -> None:
    assert Policy() == Policy("adjacent", 32, 9)
