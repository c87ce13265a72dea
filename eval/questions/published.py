"""A key goes in; a figure that one of the two papers published comes out, with the place where it stands. Nothing else in Quire quotes them.

Every figure is the papers' own, on their models and their data (Glyph 9B and others on LongBench, eight A800; Kamera's on video and page streams).
They are printed beside ours and marked; they are never a target, and no rule of `claims` reads them.
"""

from __future__ import annotations

from dataclasses import dataclass

QV_PIC = "QV-PIC, arXiv 2608.12121"
KAMERA = "Kamera, arXiv 2606.23581"


@dataclass(frozen=True)
class Published:
    """`shown` is the figure as it is printed; `where` its section, figure or table. `derived`: ours by one subtraction of two of theirs."""

    shown: str
    what: str
    where: str
    paper: str = QV_PIC
    derived: bool = False


_Q1 = "Q1, figures 3 and 4"
_Q2 = "Q2, figure 5"
_Q3 = "Q3, figure 6"

PUBLISHED: dict[str, Published] = {
    # Q1: average F1 of six tasks
    "free@72": Published("32.7", "F1, images at 72 DPI, prefix-free", _Q1),
    "free@120": Published("32.9", "F1, images at 120 DPI, prefix-free", _Q1),
    "free-text": Published("44.9", "F1, text, prefix-free (12.2 points above 32.7)", _Q1, derived=True),
    "epic-2": Published("31.5", "F1, images, EPIC-2 (its DPI is not said)", _Q1),
    "epic-4": Published("33.3", "F1, images, EPIC-4 (its DPI is not said)", _Q1),
    "dummy-2@72": Published("47.8", "F1, images at 72 DPI, dummy prefix of 2", _Q1),
    "dummy-2@120": Published("48.9", "F1, images at 120 DPI, dummy prefix of 2", _Q1),
    "dummy-4@72": Published("45.8", "F1, images at 72 DPI, dummy prefix of 4 (3.0 points below 48.8)", _Q1, derived=True),
    "dummy-4@120": Published("46.9", "F1, images at 120 DPI, dummy prefix of 4 (5.2 points below 52.1)", _Q1, derived=True),
    "dummy-4-text": Published("46.6", "F1, text, dummy prefix of 4 (5.1 points below 51.7)", _Q1, derived=True),
    "template@72": Published("48.8", "F1, images at 72 DPI, template", _Q1),
    "template@120": Published("52.1", "F1, images at 120 DPI, template", _Q1),
    "template-text": Published("51.7", "F1, text, template", _Q1),
    "dummies": Published(
        "falls", "F1 drops substantially from a dummy prefix of 2 to one of 16, for images and text; no figure in words", _Q1
    ),
    "gap-free": Published("12.2", "points by which prefix-free text lies above prefix-free images at 72 DPI", _Q1),
    # Q2
    "dpi-gain": Published("3.3", "points from 72 to 120 DPI under template (48.8 to 52.1)", _Q2, derived=True),
    "dpi-unsteady": Published("unsteady", "F1 is not monotone in DPI task by task; no figure in words", _Q2),
    "dpi-time": Published("grows", "TTFT increases consistently with DPI; no figure in words", _Q2),
    "full-time": Published("about 10 x", "faster than full prefill of the same images at 120 DPI, on most tasks", _Q2),
    "full-f1": Published("match", "the best image full prefill comes close to text full prefill or matches it; no figure in words", _Q2),
    "text-tasks": Published("4 of 6", "tasks where at least one DPI reaches text PIC", _Q2),
    # Q3
    "qv": Published("54.3", "F1, QV-PIC", _Q3),
    "qv-free": Published("32.5", "F1, promotion alone, without template", _Q3),
    "qv-text-f1": Published("2.58", "points above text PIC under template", "abstract; Q3"),
    "qv-text-time": Published("17.2 %", "less TTFT than text PIC", "abstract; Q3"),
    "qv-full-time": Published("83.8 %", "less TTFT than full prefill", "abstract; conclusion"),
    "qv-vanilla": Published("21.6", "points above prefix-free images at 72 DPI", "abstract; Q3"),
    "qv-120": Published("4 of 6", "tasks with higher F1 and less TTFT than uniform 120 DPI", _Q3),
    # Q4
    "q4-template": Published(
        "higher", "template above prefix-free at 72 DPI on GLM-4.1V and LLaVA-OneVision-2; no figure in words", "Q4, figure 7"
    ),
    "q4-dpi": Published("higher", "120 DPI above 72 DPI on both models; no figure in words", "Q4, figure 7"),
    "q4-qv": Published(
        "best or near", "F1 of QV-PIC, with less TTFT than 120 DPI and text, on both models; no figure in words", "Q4, figure 7"
    ),
    # Kamera
    "k-halves": Published("0.74 to 0.38", "accuracy, full prefill to blind reuse (MM-NIAH retrieval, Qwen2.5-VL)", "table 3", KAMERA),
    "k-restores": Published("0.72", "accuracy with a patch of rank 16, where full prefill has 0.74", "table 3", KAMERA),
    "k-eta": Published("85 to 96 %", "share of the loss that a patch of rank 64 closes, six backbones", "table 7", KAMERA),
    "k-equal-bytes": Published("82 % / 55 % / 31 %", "at the bytes of rank 16: patch, oracle tokens, first rows", "table 6", KAMERA),
    "k-flips": Published("96 % / 21 to 44 %", "changed answers that come back: patch, token methods", "figure 7", KAMERA),
    "k-orbit": Published("0.92", "eta of one patch for every order of the antecedents", "section 5", KAMERA),
    "k-recall": Published("0.81 to 0.96", "eta of a fresh patch at full turnover; a stale one has -2.85 to 0.29", "table 1", KAMERA),
    "k-survivors": Published("0.015 to 0.113", "KL of a survivor that is only moved, three backbones", "table 1", KAMERA),
    "k-envelope": Published(
        "0.93 to 0.08", "eta of a patch formed without the pages that came in front, for 0 to 3 of them", "appendix D", KAMERA
    ),
    "k-deep": Published("about 95 %", "of the patch's worth lies in its deep half", "table 2", KAMERA),
}


def quoted(key: str) -> dict[str, object]:
    """A published figure as JSON holds it. Raises KeyError on a key that is none."""
    found = PUBLISHED[key]
    return {"key": key, "shown": found.shown, "what": found.what, "where": f"{found.paper}, {found.where}", "derived": found.derived}
