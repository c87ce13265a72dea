"""The style sheet is whole, fetches nothing, and names every class that the page uses."""

import re

from eval.report.find import find
from eval.report.page import page
from eval.report.style import STYLE


def test_braces_are_even_and_nothing_is_fetched() -> None:
    assert STYLE.count("{") == STYLE.count("}")
    assert "url(" not in STYLE
    assert "@import" not in STYLE
    assert "</" not in STYLE


def test_every_class_of_the_page_is_styled(results) -> None:
    body = page(find(results)).partition("<body>")[2]
    used = {name for names in re.findall(r' class="([^"]*)"', body) for name in names.split()}
    assert {name for name in used if f".{name}" not in STYLE} == set()
