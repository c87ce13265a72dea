"""A finding or a Kamera document goes in; boxes with a verdict, its figures and the paper's own come out, and for Kamera the verdicts themselves.

Kamera's rules stand here, beside its figures, as QV-PIC's stand in `eval.questions.claims`; the four verdicts are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from eval.divergence import FLOOR
from eval.kamera_summary import discordant, sign_test
from eval.questions.claims import Verdict
from eval.questions.published import quoted
from eval.score import wilson

from .explain import badge
from .markup import Html, items, paragraph, tag

Line = Mapping[str, Any]
Runs = Mapping[str, Sequence[Line]]
Outcome = tuple[Verdict, str]
VERDICTS: tuple[str, ...] = get_args(Verdict)

# Answers that blind reuse changes: of fewer, nothing can be said about how many come back.
LEAST_FLIPS = 10
# A whole patch of the deep half must keep this share, by its whole interval, to be "nearly all".
NEARLY_ALL = 0.8
# eta: an orbit patch is as good as its ordering's own when it is at most so much below.
AS_GOOD = 0.1
# Of the KL that a page loses without its patch: what a survivor may have, by its whole interval, to be near lossless.
LITTLE = 0.25


def box(finding: Mapping[str, Any], several: bool) -> Html:
    """One claim. Raises ValueError on a verdict that is none of the four."""
    if finding["verdict"] not in VERDICTS:
        raise ValueError(f"verdict {finding['verdict']!r}")
    theirs = [f"{one['shown']}{' *' if one['derived'] else ''}: {one['what']} ({one['where']})" for one in finding["theirs"]]
    model = f" ({finding['model']})" if several else ""
    return tag(
        "div",
        paragraph(badge(finding["verdict"]), tag("strong", finding["says"]), model),
        paragraph(finding["why"]),
        tag("div", tag("b", "Published by the paper"), items(*theirs), class_="plate") if theirs else "",
        class_="claim",
    )


def tally(findings: Sequence[Mapping[str, Any]]) -> Html:
    """How many claims got which verdict."""
    counts = [(verdict, sum(one["verdict"] == verdict for one in findings)) for verdict in VERDICTS]
    return tag("ul", *(tag("li", badge(verdict), str(count)) for verdict, count in counts if count), class_="tally")


def kamera(facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Findings on Kamera's claims, from the summary and items of `quire eval kamera`."""
    found = []
    for says, run, where, keys, rule in _CLAIMS:
        if run not in facts["summary"]:
            verdict, why = "not measured", f"The run {run!r} is not there."
        else:
            verdict, why = rule(facts["summary"][run], [row for row in facts["items"] if row["run"] == run], facts["summary"])
        found.append(
            {
                "says": says,
                "where": where,
                "model": facts["model"],
                "verdict": verdict,
                "why": why,
                "theirs": [quoted(key) for key in keys],
            }
        )
    return found


def _halves(lines: Sequence[Line], rows: Sequence[Any], _: Runs) -> Outcome:
    full, blind = _arm(lines, "full"), _arm(lines, "blind")
    only_full, only_blind = discordant(rows, "full", "blind")
    p = sign_test(only_full, only_blind)
    seen = p < 0.05 and only_full > only_blind
    return ("seen" if seen else "not seen"), (
        f"Full prefill answers {full['exact']} of {full['n']} exactly, blind reuse {blind['exact']}; {only_full} only full prefill, {only_blind} only "
        f"blind reuse (sign test, p = {p:.2g}). At the first token blind reuse lies {blind['kl_first']:.2g} nats from full prefill."
    )


def _closes(lines: Sequence[Line], _: Sequence[Any], __: Runs) -> Outcome:
    if reason := _nothing(lines):
        return "not testable", reason
    patch = _arm(lines, "patch r64")
    return _stands(patch["eta_answer_interval"], lambda low, high: low > 0.5), (
        f"The patch of rank 64 closes {_share(patch, 'eta_answer')} of the loss over the answer; more than half is asked for, by the whole interval."
    )


def _equal_bytes(lines: Sequence[Line], _: Sequence[Any], __: Runs) -> Outcome:
    if reason := _nothing(lines):
        return "not testable", reason
    patch = _arm(lines, "patch r32")
    rivals = [line for line in lines if line["arm"].endswith("= r32")]
    if not rivals:
        return "not measured", "No method of the same bytes was run."
    best = max(rivals, key=lambda line: line["eta_answer"] or 0.0)
    ours, theirs = patch["eta_answer_interval"], best["eta_answer_interval"]
    return ("seen" if ours and theirs and ours[0] > theirs[1] else "not seen"), (
        f"At the bytes of rank 32 the patch closes {_share(patch, 'eta_answer')} of the loss over the answer, the best token method "
        f"({best['arm']}) {_share(best, 'eta_answer')}."
    )


def _flips(lines: Sequence[Line], _: Sequence[Any], __: Runs) -> Outcome:
    patch = _arm(lines, "patch r64")
    rivals = [line for line in lines if line["arm"].endswith("= r32")]
    best = max(rivals, key=lambda line: line["recovered"], default=None)
    said = f"Blind reuse changes {patch['flips']} of {patch['n']} answers; the patch of rank 64 brings {patch['recovered']} back"
    if best is None:
        return "not measured", f"{said}; no token method was run."
    said += f", the best token method ({best['arm']}) {best['recovered']}."
    if patch["flips"] < LEAST_FLIPS:
        return "not testable", f"{said} Of fewer than {LEAST_FLIPS} nothing can be said."
    clear = wilson(patch["recovered"], patch["flips"])[0] > wilson(best["recovered"], best["flips"])[1]
    return ("seen" if clear else "not seen"), said


def _orbit(lines: Sequence[Line], _: Sequence[Any], __: Runs) -> Outcome:
    # As the paper tests it: the order under test is held out of the mean. Of two antecedents one order is then left, and no mean.
    held = [line["setting"] for line in lines if line["arm"] == "orbit"]
    settings = [setting for setting in dict.fromkeys(held) if not setting.startswith("K = 2,")]
    if not settings:
        return "not testable", "With two antecedents there is no mean of orders to test on another one."
    pairs = [(setting, _arm(lines, "orbit", setting), _arm(lines, "exact", setting)) for setting in settings]
    known = [
        (setting, orbit, exact) for setting, orbit, exact in pairs if orbit["eta_answer"] is not None and exact["eta_answer"] is not None
    ]
    if not known:
        return "not testable", "Blind reuse loses nothing here that a patch could bring back."
    near = all(exact["eta_answer"] - orbit["eta_answer"] <= AS_GOOD for _, orbit, exact in known)
    said = "; ".join(f"{setting}: {_share(orbit, 'eta_answer')} against {_share(exact, 'eta_answer')}" for setting, orbit, exact in known)
    return ("seen" if near else "not seen"), f"Share of the loss that is closed, one patch for all orders against each order's own: {said}."


def _recall(lines: Sequence[Line], _: Sequence[Any], __: Runs) -> Outcome:
    return _apart(lines, "fresh", "stale", "When the window has turned over by")


def _envelope(lines: Sequence[Line], _: Sequence[Any], __: Runs) -> Outcome:
    return _apart(lines, "rebuilt", "stale", "Pages from elsewhere in front:")


def _survivors(lines: Sequence[Line], _: Sequence[Any], __: Runs) -> Outcome:
    keep, blind = _arm(lines, "keep"), _arm(lines, "blind")
    if blind["kl_answer"] < FLOOR:
        return "not testable", f"Even a page without any context loses next to nothing here ({blind['kl_answer']:.2g} nats)."
    span = keep["kl_answer_interval"]
    return ("seen" if span and span[1] < LITTLE * blind["kl_answer"] else "not seen"), (
        f"A page that stays and is only moved lies {keep['kl_answer']:.2g} nats from full prefill over the answer, one that is put back without any "
        f"context {blind['kl_answer']:.2g}; less than a quarter of that is asked for, by the whole interval."
    )


def _deep(lines: Sequence[Line], _: Sequence[Any], __: Runs) -> Outcome:
    layers = max(int(setting) for setting in _settings(lines))
    middle = _arm(lines, "from", str(layers // 2))
    few = f" This model has {layers} layers." if layers < 12 else ""
    if middle["eta_answer"] is None:
        return "not testable", "Blind reuse loses nothing here that a patch could bring back."
    return _stands(middle["eta_answer_interval"], lambda low, high: low > NEARLY_ALL), (
        f"Given to the layers from {layers // 2} on alone, the whole of what was missed closes {_share(middle, 'eta_answer')} of the loss.{few}"
    )


def _apart(lines: Sequence[Line], good: str, bad: str, before: str) -> Outcome:
    """At the last setting the good arm's interval lies above the bad one's."""
    last = _settings(lines)[-1]
    one, other = _arm(lines, good, last), _arm(lines, bad, last)
    spans = one["eta_answer_interval"], other["eta_answer_interval"]
    if one["eta_answer"] is None:
        return "not testable", "Blind reuse loses nothing here that a patch could bring back."
    clear = bool(spans[0] and spans[1] and spans[0][0] > spans[1][1])
    return (
        "seen" if clear else "not seen"
    ), f"{before} {last}: {good} closes {_share(one, 'eta_answer')}, {bad} {_share(other, 'eta_answer')}."


def _stands(span: Sequence[float] | None, true: Callable[[float, float], bool]) -> Verdict:
    return "seen" if span and true(*span) else "not seen"


def _nothing(lines: Sequence[Line]) -> str:
    lost = _arm(lines, "blind")["kl_answer"]
    return f"Blind reuse loses next to nothing here ({lost:.2g} nats over the answer)." if lost < FLOOR else ""


def _arm(lines: Sequence[Line], name: str, setting: str | None = None) -> Line:
    return next(line for line in lines if line["arm"] == name and setting in (None, line["setting"]))


def _settings(lines: Sequence[Line]) -> list[str]:
    return list(dict.fromkeys(line["setting"] for line in lines))


def _share(line: Line, key: str) -> str:
    span = line[f"{key}_interval"]
    return f"{line[key]:.2f}" + (f" ({span[0]:.2f} to {span[1]:.2f})" if span else "") if line[key] is not None else "none"


Rule = Callable[[Sequence[Line], Sequence[Any], Runs], Outcome]
_CLAIMS: tuple[tuple[str, str, str, tuple[str, ...], Rule], ...] = (
    ("Blind reuse answers fewer questions right than full prefill.", "main", "Kamera, table 3", ("k-halves",), _halves),
    ("A thin patch brings back most of what was lost.", "main", "Kamera, tables 3 and 7", ("k-restores", "k-eta"), _closes),
    ("At the same bytes, a patch brings back more than computing rows again.", "main", "Kamera, table 6", ("k-equal-bytes",), _equal_bytes),
    (
        "Of the answers that blind reuse changes, a patch brings back more than token methods do.",
        "main",
        "Kamera, figure 7",
        ("k-flips",),
        _flips,
    ),
    ("One patch serves every order of the pages before.", "orbit", "Kamera, section 5", ("k-orbit",), _orbit),
    (
        "A page that comes back needs a fresh patch; the one it had when it left does not serve.",
        "recall",
        "Kamera, table 1",
        ("k-recall",),
        _recall,
    ),
    ("A page that stays when another leaves needs only to be moved.", "survivors", "Kamera, table 1", ("k-survivors",), _survivors),
    ("When pages from elsewhere come in front, a patch must be formed anew.", "envelope", "Kamera, appendix D", ("k-envelope",), _envelope),
    (
        "What a page misses lies deep: the deeper half of the layers holds nearly all of a patch's worth.",
        "depth",
        "Kamera, table 2",
        ("k-deep",),
        _deep,
    ),
)
