"""Summaries of rows made up so that their measures can be worked out by hand; what the report says of them; and that figures are drawn."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from eval import plots
from eval.errors import PlotsUnavailable
from eval.kamera_report import PLOTS, as_csv, as_table, markdown, verdict
from eval.kamera_summary import by_layer, control, discordant, sign_test, summarise

RIVALS = ("epic = r32", "cacheblend = r32", "vlcache = r32", "oracle = r32")
LADDER = {"blind": 1.0, "patch r8": 0.4, "patch r16": 0.2, "patch r32": 0.1, "patch r64": 0.01, "patch full": 1e-12}


def reading(arm: str, lost: float, right: bool = True, same: bool = True, **more: Any) -> dict[str, Any]:
    return {"arm": arm, "first": lost, "answer": lost / 2, "same": same, "text": "x", "exact": right, "f1": float(right), **more}


def main_rows(n: int = 12, right_when_blind: int = 12, ladder: dict[str, float] = LADDER) -> list[dict[str, Any]]:
    """n items, three of a context; blind reuse answers the first `right_when_blind` of them, and full prefill all."""
    rows = []
    for i in range(n):
        kept = i < right_when_blind
        arms = [reading("full", 0.0, bytes=0.0, rows=1.0, forming=None)]
        for arm, lost in ladder.items():
            right, same = (kept, kept) if arm == "blind" else (True, True)
            rank = int(arm[7:]) if arm[7:].isdecimal() else 128
            arms.append(reading(arm, lost * (1 + i), right, same, bytes=rank / 100, rows=0.0, forming=0.5))
        arms += [reading(arm, 0.5 * (1 + i), same=kept, bytes=0.32, rows=0.32, forming=None) for arm in RIVALS]
        arms.append(reading("isolated", 0.9 * (1 + i), bytes=0.0, rows=1.0, forming=None))
        rows.append(
            {"run": "main", "id": f"c{i // 3}-{i}", "context": f"c{i // 3}", "readings": arms, "control": {"first": 0.01, "answer": 0.02}}
        )
    return rows


def line(rows: list[dict[str, Any]], arm: str, name: str = "main") -> dict[str, Any]:
    return next(found for found in summarise(name, rows, draws=100) if found["arm"] == arm)


def test_a_line_holds_the_measures_of_its_arm() -> None:
    found = line(main_rows(right_when_blind=9), "patch r32")
    assert (found["n"], found["contexts"], found["exact"]) == (12, 4, 12)
    assert found["kl_first"] == pytest.approx(0.1 * 6.5)
    assert found["eta_first"] == found["eta_answer"] == pytest.approx(0.9)
    # In these rows the arm keeps to one share of blind reuse's KL, so that pairing leaves the interval no width.
    assert found["eta_first_interval"] == pytest.approx((0.9, 0.9))
    assert found["kl_first_interval"][0] < found["kl_first"] < found["kl_first_interval"][1]
    assert (found["recovered"], found["flips"]) == (3, 3)
    assert (found["bytes"], found["forming"]) == (pytest.approx(0.32), 0.5)


def test_settings_are_summarised_apart_and_a_question_read_often_has_no_interval_of_its_own() -> None:
    rows = [
        {
            "id": f"{i}",
            "context": f"{i}",
            "readings": [
                reading(arm, lost, setting=s, unit=u)
                for s in ("1", "2")
                for u in (0, 1)
                for arm, lost in (("blind", 1.0), ("stale", float(s)))
            ],
        }
        for i in range(3)
    ]
    found = {(each["setting"], each["arm"]): each for each in summarise("envelope", rows, draws=50)}
    assert found["1", "stale"]["eta_first"] == 0
    assert found["2", "stale"]["eta_first"] == -1
    assert found["2", "stale"]["n"] == 6
    assert found["2", "stale"]["exact_interval"] is None


def test_a_removal_patch_is_measured_from_the_survivor_that_was_kept_as_it_is() -> None:
    arms = [reading("blind", 8.0), reading("keep", 2.0, same=False), reading("removal", 0.5)]
    found = line([{"id": "a", "context": "a", "readings": arms}], "removal", "survivors")
    assert found["eta_first"] == 0.75
    assert (found["recovered"], found["flips"]) == (1, 1)


def test_the_sign_test_is_mcnemars_exact_one() -> None:
    assert sign_test(0, 0) == sign_test(3, 3) == 1
    assert sign_test(6, 0) == pytest.approx(2 / 64)
    assert discordant(main_rows(right_when_blind=5), "full", "blind") == (7, 0)


def test_position_alone_is_the_mean_of_the_items_controls() -> None:
    assert control(main_rows()) == {"first": pytest.approx(0.01), "answer": pytest.approx(0.02)}


def test_the_verdict_says_that_exact_match_falls_only_where_the_figures_do() -> None:
    same, fallen = main_rows(), main_rows(right_when_blind=2)
    assert "Exact match does not fall measurably under blind reuse" in verdict(same, summarise("main", same, 50))
    said = verdict(fallen, summarise("main", fallen, 50))
    assert "Exact match falls under blind reuse: full prefill answers 12 of 12 exactly, blind reuse 2" in said


def test_the_verdict_says_where_kl_rises_with_rank() -> None:
    rows = main_rows(ladder={**LADDER, "patch r16": 0.9})
    said = verdict(rows, summarise("main", rows, 50))
    assert "KL at the first token does not fall with every step of rank: patch r8" in said
    assert "falls with every step of rank" in verdict(main_rows(), summarise("main", main_rows(), 50))


def test_the_verdict_says_when_a_token_method_is_ahead_at_equal_bytes() -> None:
    rows = main_rows(ladder={**LADDER, "patch r32": 0.7})
    assert "closes less of the KL" in verdict(rows, summarise("main", rows, 50))
    assert "closes more of the KL" in verdict(main_rows(), summarise("main", main_rows(), 50))


def test_a_table_leaves_out_what_a_run_does_not_have() -> None:
    rows = main_rows()
    head = as_table("main", summarise("main", rows, 50)).splitlines()[0]
    assert "bytes %" in head
    assert "setting" not in head


def test_a_csv_has_an_intervals_two_ends_and_every_line() -> None:
    lines = summarise("main", main_rows(), 50)
    read = list(csv.DictReader(io.StringIO(as_csv(lines))))
    assert len(read) == len(lines)
    assert float(read[1]["kl_first_low"]) < float(read[1]["kl_first"]) < float(read[1]["kl_first_high"])


def test_layers_are_means_over_items() -> None:
    rows = [{"norm": {"keys": [0.0, a], "values": [0.0, 1.0]}, "e90": {"keys": [0, 3], "values": [0, 5]}, "rows": 9} for a in (0.2, 0.4)]
    assert by_layer(rows)[1] == {"layer": 1, "norm_keys": pytest.approx(0.3), "norm_values": 1, "e90_keys": 3, "e90_values": 5, "rows": 9}


def test_the_papers_figures_are_marked_as_theirs_with_their_place() -> None:
    rows = main_rows()
    text = markdown({"model": "reader", "n": 12, "lines": 6, "dpi": 120}, {"main": rows}, {"main": summarise("main", rows, 50)})
    theirs = [line for line in text.splitlines() if "Table 8" in line]
    assert theirs
    assert all(line.startswith("Kamera's own") for line in theirs)


def test_figures_are_drawn_twice_each(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    steps = [{**reading(arm, 0.5), "setting": s, "unit": 0} for s in ("0", "1") for arm in ("blind", "stale", "rebuilt")]
    lines = {
        "main": summarise("main", main_rows(), 50),
        "envelope": summarise("envelope", [{"id": "a", "context": "a", "readings": steps}], 50),
        "survivors": [],
    }
    made = plots.draw(tmp_path, lines)
    names = [file for name in ("main", "envelope") for file, _ in PLOTS[name]]
    assert sorted(path.name for path in made) == sorted(f"{name}.{kind}" for name in names for kind in ("png", "svg"))
    assert all(path.stat().st_size > 2000 for path in made)


def test_every_figure_that_the_report_shows_can_be_drawn() -> None:
    assert {file for files in PLOTS.values() for file, _ in files} == set(plots._DRAWN)


def test_without_matplotlib_one_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(PlotsUnavailable, match="pip install"):
        plots.require()
