"""Kamera's claims are judged from its figures, both ways."""

import pytest

from eval.report.claims import VERDICTS, box, kamera, tally


def verdicts(facts) -> list[str]:
    return [one["verdict"] for one in kamera(facts)]


def test_the_papers_figures_bear_out_the_papers_claims(made) -> None:
    found = kamera(made["kamera"]())
    assert [(one["says"], one["why"]) for one in found if one["verdict"] != "seen"] == []


def test_the_reverse_bears_out_none(made) -> None:
    line = made["kamera_line"]
    poor = {"eta_answer": 0.1, "eta_answer_interval": [-0.1, 0.3], "recovered": 1}
    facts = made["kamera"](
        main=[line("full"), line("blind"), line("patch r32", **poor), line("patch r64", **poor), line("epic = r32")],
        orbit=[line("orbit", "K = 3, held out", **poor), line("exact", "K = 3, held out")],
        recall=[line("fresh", "100%", **poor), line("stale", "100%")],
        survivors=[line("blind", "x"), line("keep", "x")],
        envelope=[line("rebuilt", "3", **poor), line("stale", "3")],
        depth=[line("from", str(at), **poor) for at in range(5)],
    )
    facts["items"] = []
    assert set(verdicts(facts)) == {"not seen"}


def test_where_blind_reuse_loses_nothing_no_repair_is_testable(made) -> None:
    line = made["kamera_line"]
    none = {"kl_answer": 1e-9, "eta_answer": None, "eta_answer_interval": None, "flips": 2, "recovered": 2}
    runs = {
        "main": [line(arm, **none) for arm in ("full", "blind", "patch r32", "patch r64", "epic = r32")],
        "orbit": [line(arm, "K = 3, held out", **none) for arm in ("orbit", "exact")],
        "recall": [line(arm, "100%", **none) for arm in ("fresh", "stale")],
        "survivors": [line(arm, "x", **none) for arm in ("blind", "keep")],
        "envelope": [line(arm, "3", **none) for arm in ("rebuilt", "stale")],
        "depth": [line("from", str(at), **none) for at in range(5)],
    }
    facts = made["kamera"](**runs)
    facts["items"] = []
    assert verdicts(facts) == ["not seen"] + ["not testable"] * 8


def test_two_antecedents_test_no_orbit(made) -> None:
    line = made["kamera_line"]
    assert verdicts(made["kamera"](orbit=[line("orbit", "K = 2, held out"), line("exact", "K = 2, held out")])).count("not testable") == 1


def test_a_run_that_is_not_there_is_not_measured(made) -> None:
    facts = made["kamera"]()
    del facts["summary"]["orbit"]
    assert verdicts(facts).count("not measured") == 1


def test_a_claims_box_marks_the_papers_figures_and_refuses_an_unknown_verdict(made, hostile: str) -> None:
    (finding,) = made["question"]()["findings"]
    said = box(finding, several=True)
    assert '<div class="plate">' in said
    assert "54.3" in said
    assert "<script" not in said
    with pytest.raises(ValueError, match="splendid"):
        box({**finding, "verdict": "splendid"}, several=False)


def test_the_tally_counts_each_verdict_that_occurs() -> None:
    said = tally([{"verdict": verdict} for verdict in (*VERDICTS[:2], VERDICTS[0])])
    assert said.count("<li>") == 2
    assert "</span>2</li>" in said
