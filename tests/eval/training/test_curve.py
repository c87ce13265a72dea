"""Examinations of runs that followed each other become one table and one figure."""

import pytest

from eval.training.curve import main, points

FIRST = """see    0.5 min, step 20: loss 1.153, characters 72 0.799
see    6.0 min, step 217: exam 95.3 (best 95.3): characters 72 99.5, pieces 72 86.5
see    8.5 min, step 300: loss 0.9 | stopped, run again to go on: see.safetensors
"""
SECOND = "answer  11.0 min, step 300: exam 50.0 (best 50.0): 1x12 at 120 57.5, not refused 100.0\n"


@pytest.fixture
def logs(tmp_path):
    paths = [tmp_path / "see.log", tmp_path / "answer.log"]
    for path, text in zip(paths, (FIRST, SECOND), strict=True):
        path.write_text(text)
    return paths


def test_minutes_add_up_over_runs(logs):
    one, two = points(logs)
    assert (one.run, one.minutes, one.marks) == ("see", 6.0, {"characters 72": 99.5, "pieces 72": 86.5})
    assert (two.run, two.minutes, two.marks) == ("answer", 19.5, {"1x12 at 120": 57.5, "not refused": 100.0})


def test_minutes_add_up_over_the_stages_of_one_run(tmp_path):
    (tmp_path / "all.log").write_text(FIRST + SECOND)
    assert [point.minutes for point in points([tmp_path / "all.log"])] == [6.0, 19.5]


def test_a_table_stands_for_the_logs_it_was_made_of(logs, tmp_path):
    pytest.importorskip("matplotlib", reason="the extra `plots`")
    assert main(["--out", str(tmp_path), *map(str, logs)]) == 0
    again = points([tmp_path / "curve.csv", logs[1]])
    assert again[:2] == points(logs)
    assert (again[2].run, again[2].minutes) == ("answer", 30.5)
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="no table of this program"):
        points([tmp_path / "other.csv"])


def test_table_and_figure_are_written(logs, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="the extra `plots`")
    assert main(["--out", str(tmp_path / "out"), *map(str, logs)]) == 0
    rows = (tmp_path / "out" / "curve.csv").read_text().splitlines()
    assert rows[1] == "see,6.0,217,characters 72,99.5"
    assert len(rows) == 5
    assert (tmp_path / "out" / "curve.png").stat().st_size > 10_000
    assert "2 examinations" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "see 1.0 min, step 1: loss 2\n"])
def test_what_holds_no_examination_is_an_error_in_words(text, tmp_path, capsys):
    path = tmp_path / "x.log"
    path.write_text(text)
    assert main(["--out", str(tmp_path), str(path)]) == 2
    assert "Traceback" not in capsys.readouterr().err
