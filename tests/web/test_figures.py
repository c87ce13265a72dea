"""Numbers in words, run by Node."""

from collections.abc import Callable
from typing import Any

SAID = {
    "it.size(1)": "1 byte",
    "it.size(904)": "904 bytes",
    "it.size(1188160)": "1.1 MiB",
    "it.size(10737418240)": "10 GiB",
    "it.count(1, 'patch', 'patches')": "1 patch",
    "it.count(4277, 'page')": "4,277 pages",
    "it.seconds(0.0001)": "< 1 ms",
    "it.seconds(0.142)": "142 ms",
    "it.seconds(1.25)": "1.25 s",
    "it.span(271233)": "3 days 3 hours",
    "it.span(59)": "59 seconds",
    "it.span(0)": "a moment",
    "it.moment('not a time')": "",
}


def test_numbers_are_told_as_a_person_reads_them(node: Callable[..., Any]):
    told = node("figures.js", f"[{', '.join(SAID)}]")
    assert dict(zip(SAID, (one.replace("\u00a0", " ") for one in told), strict=True)) == SAID
