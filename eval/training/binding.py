"""Pages and questions of the records world in; where each value stands, and the thing and the attribute that it belongs to or is asked by, out.

A reader that joins a value to its subject only when the question comes has to look for the subject first and from there for the value; over several
pages it takes the wrong line, and a page that is compiled without the one before it loses nothing (Kamera's deficit is not there to be
seen). Heads that are drawn, while it reads, from each value to what it belongs to (`guide.py`) join the two on the page. The same heads are drawn
from an answer's rows to the same parts of its question, so that what is looked for is put in the form in which it lies on the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from eval.world import ATTRIBUTES, LINK

_WORDS = "|".join((*ATTRIBUTES, *LINK))
_ROW = re.compile(rf"  (?:its )?(?P<attribute>{_WORDS})(?:: | is )(?P<value>.+)")
_SENTENCES = [
    re.compile(form.format(a=rf"(?P<attribute>{_WORDS})", e=r"(?P<subject>.+?)", v=r"(?P<value>.+)") + r"\.")
    for form in ("The {a} of {e} is {v}", "{e} has {a} {v}", "{e}: {a} {v}", "{e}, {a}: {v}", "{e}'s {a} is {v}")
]
_QUESTIONS = [
    re.compile(form.format(a=rf"(?P<attribute>{_WORDS})", e=r"(?P<subject>.+?)"))
    for form in (
        r"\w+ is the {a} of {e}\?",
        r"\w+ is {e}'s {a}\?",
        r"Which {a} does {e} have\?",
        r"Tell me the {a} of {e}\.",
        r"{e} {a}\?",
    )
]
# "the supplier of Clifai": what is asked of is not named.
_THROUGH = re.compile(rf"the (?:{'|'.join(LINK)}) of ")


class Range(NamedTuple):
    """Characters [start, end) of a page's text."""

    page: int
    start: int
    end: int


class Statement(NamedTuple):
    """Where a line says its value, of what (a row under a heading: the heading, on whichever page it stands) and which attribute of it."""

    value: Range
    subject: Range
    attribute: Range


def statements(pages: Sequence[Sequence[str]]) -> Iterator[Statement]:
    """Those of all lines in the forms of `eval.world`, in their order; other lines state nothing."""
    heading = None
    for page, lines in enumerate(pages):
        start = 0
        for line in lines:
            if line.endswith(":"):
                heading = Range(page, start, start + len(line) - 1)
            elif found := _ROW.fullmatch(line) if line.startswith("  ") else _sentence(line):
                parts = {name: Range(page, start + found.start(name), start + found.end(name)) for name in found.groupdict()}
                subject = parts.get("subject", heading)
                if subject:
                    yield Statement(parts["value"], subject, parts["attribute"])
            start += len(line) + 1


def asked(question: str) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """The characters of a question that name the subject and the attribute; None where it has none, or asks through another fact."""
    found = next((found for form in _QUESTIONS if (found := form.fullmatch(question))), None)
    if not found or _THROUGH.match(found["subject"]):
        return None
    return found.span("subject"), found.span("attribute")


def _sentence(line: str) -> re.Match[str] | None:
    return next((found for form in _SENTENCES if (found := form.fullmatch(line))), None)
