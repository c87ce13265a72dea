"""Nothing goes in; the words at the top of the page come out, for someone who has read neither paper. They say what is measured, never what came of it."""

from __future__ import annotations

from .markup import Html, join, paragraph, tag

TERMS = {
    "KV cache": "While a language model reads, it keeps two short lists of numbers (a key and a value) for every piece of what it has read, in every layer. "
    "Everything it writes later is computed from them. Kept on disk and loaded again, they spare the model a second reading.",
    "full prefill": "The usual way: the model reads all pages anew for each question. It is the judge of the other ways.",
    "page cache (PIC)": "A page's keys and values, computed once when the page is taken in, without the other pages. For a question, the "
    "caches of the pages that matter are put one behind the other, at whatever place this question "
    "needs (position-independent caching). Only the question is then read.",
    "free, dummy, template": "What stood before the page when it was read alone, and was thrown away afterwards: nothing; some meaningless tokens; or the "
    "words that the model's own chat format begins with. QV-PIC's point is that the last leaves the page's numbers as they would be in use.",
    "DPI": "How finely a page is drawn. A finer page is easier to read, and takes more rows of cache, so that it costs more time and memory.",
    "promotion (QV-PIC)": "Pages lie there at 72 and at 120 DPI. For each question, the few that seem to hold the answer are taken at 120, the others at 72.",
    "EPIC": "Another method's repair: the first few rows of every page are computed again when it is used.",
    "patch (Kamera)": "A page that was read alone has not seen the pages before it. What it missed is computed once, and kept in short form (low rank): "
    "a patch, added to the page's numbers when it is placed behind those pages again.",
    "rows": "Positions of the cache. An image takes fewer rows than the text it shows; that is why pages are drawn at all.",
    "F1, exact match": "Answers are scored by the words they share with the right one (F1, in per cent), and by being it to the letter.",
    "time to the first token": "How long a person waits for the first word of the answer. Drawing, reading and storing pages beforehand is not in it.",
    "interval": "With other questions of the same kind a figure would come out a little different. The brackets hold the range that is to be expected (95 %).",
}


def explain() -> Html:
    """What was done, in plain words, the terms, and how to read a verdict."""
    return join(
        paragraph(
            "A program that answers questions about documents makes its model read the same pages again for every question. Quire lets it read each page "
            "once, as a picture, and keeps what the model made of it. This page says what that costs in right answers, what it saves in time, and whether "
            "what two papers claim of the method can be seen on this machine and this model.",
            class_="lead",
        ),
        paragraph(
            "The papers are ",
            tag("cite", "QV-PIC"),
            " (arXiv 2608.12121), on how a page should be read beforehand and how finely it should be drawn, and ",
            tag("cite", "Kamera"),
            " (arXiv 2606.23581), on what a page misses when it is read without the pages before it.",
        ),
        tag(
            "details",
            tag("summary", "The words used here"),
            tag("dl", *(tag(k, v) for pair in TERMS.items() for k, v in zip(("dt", "dd"), pair, strict=True))),
        ),
        tag("h3", "How to read a verdict"),
        tag(
            "dl",
            *_verdict("seen", "the difference that the paper claims is there, and clear of its 95 % interval."),
            *_verdict("not seen", "it is not there, or too small for so many questions, or the opposite is."),
            *_verdict("not testable", "this model or these pages cannot show it either way; the sentence says why."),
            *_verdict("not measured", "something that it needs was not run."),
        ),
        paragraph("Verdicts are computed from the figures by rules that stand in the code. Nobody wrote them by hand."),
        tag(
            "div",
            tag("b", "Published by the papers: another model and other data, not comparable in absolute terms. "),
            "What looks like this box is the papers' own: figures of models some thousand times as large, on other questions and other hardware. "
            "Only the way a difference points can be compared. A star marks a figure that is the difference of two printed ones.",
            class_="plate",
        ),
    )


def badge(verdict: str) -> Html:
    return tag("span", verdict, class_=f"badge {verdict.replace(' ', '-')}")


def _verdict(name: str, says: str) -> tuple[Html, Html]:
    return tag("dt", badge(name)), tag("dd", says)
