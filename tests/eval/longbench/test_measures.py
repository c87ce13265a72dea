"""What an answer cost stands beside it: synced line by line, whole after a crash, the last line of a sample counting."""

import pytest

from eval.longbench.arms import Reply
from eval.longbench.errors import BadResults
from eval.longbench.measures import Measure, Measured, Measures, summarise, text

PATCHED = {"compile": 3.0, "compiled": 3, "form": 2.0, "formed": 4, "patch_share": 0.25}


def line(name: str, kl: float | None = None, offline: dict | None = None) -> Measure:
    return Measure("image-pic", "musique", name, {"place": 0.5, "question": 0.25}, offline or {}, kl)


def test_lines_are_read_again_and_the_last_of_a_sample_counts(tmp_path) -> None:
    with Measures(tmp_path) as measures:
        for measure in (line("a", 0.5), line("b"), line("a", 0.25)):
            measures.append(measure)
    with Measures(tmp_path) as again:
        assert {key[2]: measure.kl for key, measure in again.done.items()} == {"a": 0.25, "b": None}


def test_a_line_that_was_cut_short_is_dropped_and_a_damaged_one_is_told(tmp_path) -> None:
    with Measures(tmp_path) as measures:
        measures.append(line("a"))
    path = tmp_path / "measures.jsonl"
    path.write_bytes(path.read_bytes() + b'{"arm": "ima')
    with Measures(tmp_path) as measures:
        measures.append(line("b"))
    assert len(path.read_bytes().splitlines()) == 2
    with Measures(tmp_path) as measures:
        assert {key[2] for key in measures.done} == {"a", "b"}
    path.write_bytes(b"nonsense\n" + path.read_bytes())
    with pytest.raises(BadResults, match="line 1"):
        Measures(tmp_path)


def test_an_arm_leaves_a_line_for_each_answer_and_none_where_it_raises(tmp_path, rows, scripted) -> None:
    class Costly(scripted):
        def answer(self, task, record):
            super().answer(task, record)
            return Reply("x", online={"place": 1.0}, offline={"compiled": 2}, kl=0.125)

    def raises(record, calls):
        raise ValueError("no")

    record = rows["musique"][0]
    with Measures(tmp_path) as measures:
        arm = Measured(Costly("arm", lambda *_: ""), measures)
        assert (arm.name, arm.answer("musique", record).text) == ("arm", "x")
        with pytest.raises(ValueError, match="no"):
            Measured(scripted("other", raises), measures).answer("musique", record)
        assert list(measures.done) == [("arm", "musique", record.id)]
        assert measures.done["arm", "musique", record.id] == Measure("arm", "musique", record.id, {"place": 1.0}, {"compiled": 2}, 0.125)


def test_the_summary_counts_a_cache_and_a_patch_once_and_says_how_many_losses_were_measured(tmp_path, rows) -> None:
    group = rows["musique"]
    with Measures(tmp_path) as measures:
        measures.append(line(group[0].id, 0.5, PATCHED))
        measures.append(line(group[1].id, None, {"compile": 0.0, "compiled": 0, "form": 1.0, "formed": 2, "patch_share": 0.75}))
        summary = summarise(["image-pic"], {"musique": group}, measures)
    facts = summary["image-pic"]["musique"]
    assert (facts["n"], facts["kl_n"], facts["kl_mean"], facts["patch_share"]) == (2, 1, 0.5, 0.5)
    assert facts["online"] == {"place": 0.5, "question": 0.25}
    assert facts["first_token_median"] == 0.75
    assert (facts["compile_seconds_a_page"], facts["form_seconds_a_patch"]) == (1.0, 0.5)
    assert "5.000e-01" in text(summary)


def test_without_a_loss_there_is_nothing_to_say(tmp_path, rows) -> None:
    with Measures(tmp_path) as measures:
        assert text(summarise(["image-pic"], {"musique": rows["musique"]}, measures)) == ""
