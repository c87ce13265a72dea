"""What was found in a folder goes in; the one HTML page comes out, with nothing to fetch: figures and style are inside."""

from __future__ import annotations

from collections.abc import Sequence

from eval.errors import EvalError

from . import claims
from .explain import explain
from .find import TASKS, Found, Result
from .markup import Html, document, items, join, paragraph, tag
from .sections import NAMES, findings, missing, section
from .style import STYLE

TITLE = "Answers from page caches: what was measured"


def page(found: Found) -> str:
    """Raises EvalError on a document that another version wrote."""
    parts: list[Html] = []
    said: list[dict[str, object]] = []
    for task in TASKS:
        held = [result for result in found.results if result.task == task]
        if not held:
            parts.append(missing(task))
        for number, result in enumerate(held, 1):
            try:
                parts.append(section(result, number))
                said += findings(result)
            except (KeyError, TypeError, ValueError, IndexError, StopIteration, AttributeError) as error:
                raise EvalError(
                    f"{result.place}: not a document of {task} as this version writes it ({type(error).__name__}: {error}); "
                    "run its command again, or take the file away"
                ) from error
    links = tag("nav", tag("ul", *(tag("li", tag("a", NAMES[task], href=f"#{task}")) for task in TASKS)), aria_label="Parts")
    return document(
        TITLE,
        STYLE,
        tag("h1", TITLE),
        explain(),
        tag("h3", "In short"),
        claims.tally(said) if said else paragraph("No claim was judged yet."),
        _small(found.results),
        *([paragraph("Files that could not be read: "), items(*found.unreadable)] if found.unreadable else []),
        links,
        *parts,
    )


def _small(results: Sequence[Result]) -> Html:
    """What must be known of the models before a figure is read."""
    asked = [result for result in results if result.task in ("q1", "q2", "q3", "q4")]
    models = {name: facts for result in asked for name, facts in result.facts["models"].items()}
    if not models:
        return Html("")
    said = "; ".join(f"{name}, {facts['machine']['parameters'] / 1e6:,.1f} million" for name, facts in models.items())
    note = f"Parameters of the models that answered: {said}. The paper's main model has 9,000 million."
    if "reader" in models:
        note += (
            " The reader was taught one thing: to read pages of made-up facts, and to answer a question about them in a few words. What it can show is time, "
            "exactness, and large differences; nothing it does says how a large model answers questions about real documents. Where it or these pages "
            "cannot show what a paper claims, the verdict says so."
        )
    return join(paragraph(tag("strong", "Before you read on. "), note))
