"""What is quoted stands in the papers."""

import re
from pathlib import Path

import pytest

from eval.questions.published import KAMERA, PUBLISHED, QV_PIC, quoted


@pytest.mark.parametrize(("paper", "file"), [(QV_PIC, "qv-pic.txt"), (KAMERA, "kamera.txt")])
def test_every_printed_figure_stands_in_its_papers_text(paper: str, file: str, shared: Path) -> None:
    text = (shared / "papers" / file).read_text(encoding="utf-8").replace("\\", "").replace("−", "-")
    figures = {
        (key, figure)
        for key, found in PUBLISHED.items()
        if found.paper == paper and not found.derived
        for figure in re.findall(r"\d+\.\d+", found.shown)
    }
    assert len(figures) > 8
    assert {(key, figure) for key, figure in figures if figure not in text} == set()


def test_a_derived_figure_is_the_difference_of_two_that_stand_in_its_words() -> None:
    for key, found in PUBLISHED.items():
        if found.derived:
            figures = [float(figure) for figure in re.findall(r"\d+\.\d+", found.what)]
            a, b = figures[-2:]
            assert any(float(found.shown) == pytest.approx(made) for made in (a + b, abs(a - b))), key


def test_a_quotation_names_its_paper_and_place() -> None:
    assert quoted("k-orbit")["where"] == "Kamera, arXiv 2606.23581, section 5"
    with pytest.raises(KeyError):
        quoted("none")
