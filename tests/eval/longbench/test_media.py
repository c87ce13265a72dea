"""A record's pages in a medium: relevance is asked of images alone, and what a person would wait for is told apart from drawing."""

from dataclasses import replace

from eval.longbench.house import House
from eval.longbench.media import Images, Texts
from eval.longbench.tasks import OFFICIAL
from retrieval.types import Budget


def test_only_choosing_by_relevance_takes_online_time(backbone, rows) -> None:
    house, record = House(backbone, OFFICIAL), rows["musique"][0]
    plain, none = Images(72).pages(house, record)
    chosen, planned = Images(72, Budget(cap=1)).pages(house, record)
    assert (none, set(planned)) == ({}, {"plan"})
    assert len(plain) == len(chosen) > 2
    assert [page.dpi for page in chosen].count(120) == 1
    assert {page.dpi for page in plain} == {72}


def test_chunks_of_any_size_hold_the_same_tokens(llama, rows) -> None:
    house, record = House(llama, OFFICIAL), replace(rows["musique"][0], context="One line.\nAnd another one, a little longer.\n")
    whole, cut = (Texts(size).pages(house, record)[0] for size in (512, 7))
    assert len(whole) == 1
    assert [len(page.ids) for page in cut[:-1]] == [7] * (len(cut) - 1)
    assert tuple(token for page in cut for token in page.ids) == whole[0].ids
    assert len({page.key for page in cut}) == len(cut)
