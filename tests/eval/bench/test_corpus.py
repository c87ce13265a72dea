"""The corpus: a real home with enough pages, each at hand as a cache and as pixels."""

import pytest

from eval.bench.corpus import Corpus, dpis, open_corpus
from eval.errors import EvalError


def test_every_page_has_its_cache_in_memory_and_its_image_as_pixels(corpus: Corpus) -> None:
    assert corpus.held >= corpus.pages
    keys = list(corpus.house.store.keys())
    assert sorted(corpus.images) == keys
    assert all(corpus.house.store.get(key).tier == "ram" for key in keys)
    assert all(
        image.key == key and image.tokens + 2 == corpus.house.store.get(key).canonical.length for key, image in corpus.images.items()
    )


def test_questions_come_round_again(corpus: Corpus) -> None:
    assert corpus.question(0).text == corpus.question(len(corpus.questions)).text
    assert corpus.question(0).budget.top_k == corpus.pages


def test_a_dpi_is_a_number_or_promote() -> None:
    assert dpis("96") == (96, 96)
    assert dpis("promote") == (72, 120)
    for bad in ("sharp", "0", "-72", "7200"):
        with pytest.raises(EvalError, match="promote"):
            dpis(bad)


def test_the_home_is_gone_at_the_end() -> None:
    with open_corpus("reader", 1, "36") as opened:
        home = opened.house.settings.home
        assert home.exists()
    assert not home.exists()
