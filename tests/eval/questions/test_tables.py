"""Tables hold the document's figures, whatever a name is made of."""

import csv
import io
import json

import pytest

from eval.questions import tables

HOSTILE = 'a|b\n<script>alert("x")</script>'


@pytest.fixture
def made():
    theirs = {"key": "qv", "shown": "54.3", "what": "F1", "where": "QV-PIC, Q3", "derived": True}
    line = {
        "model": HOSTILE,
        "arm": "qv-pic",
        "reads": "images",
        "group": "2 pages",
        "n": 4,
        "contexts": 2,
        "failed": 0,
        "f1": 12.5,
        "f1_interval": [0.0, 25.0],
        "exact": 0.0,
        "exact_interval": None,
        "rows": 1234.0,
        "ttft": None,
        "theirs": theirs,
    }
    machine = {"parameters": 4_500_000, "dtype": "float32", "threads": 1, "cores": 2, "device": "cpu"}
    gap = {"a": "x", "b": "y", "model_a": "m", "model_b": "m", "group": "2 pages"}
    return {
        "task": "q3",
        "title": "T",
        "asks": "A?",
        "source": "S",
        "note": "N.",
        "command": "quire eval q3",
        "settings": {"n": 4, "data": False, "lines": 6},
        "models": {HOSTILE: {"machine": machine, "answers": {}}},
        "groups": ["2 pages"],
        "overall": "2 pages",
        "lines": [line],
        "pairs": [{**gap, "points": -1.0, "interval": [-2.0, 0.5], "n": 4, "ratio": 0.5, "ratio_interval": None}],
        "findings": [{"says": "says", "where": "w", "model": "m", "verdict": "not seen", "why": "why", "theirs": [theirs]}],
        "items": [{"arm": "qv-pic", "id": "1"}, {"arm": "qv-pic", "id": "2"}],
        "plots": [{"file": "f", "title": "t", "alt": "a"}],
    }


def test_markdown_keeps_a_hostile_name_in_its_cell(made) -> None:
    made["lines"].append({**made["lines"][0], "model": "other"})
    text = tables.markdown(made)
    assert text.count("| a\\|b &lt;script>") == 1
    assert "<script" not in text


def test_a_figure_that_is_not_there_is_an_empty_cell(made) -> None:
    heads, ((*cells,),) = tables.lines_table(made, "2 pages")
    cell = dict(zip(heads, cells, strict=True))
    assert cell["first token, s"] == ""
    assert (cell["F1 %"], cell["exact %"], cell["rows"]) == ("12.5 (0.0 to 25.0)", "0.0", "1,234")
    assert cell["published F1 (another model, other data)"] == "54.3 *"


def test_csv_gives_back_every_field(made) -> None:
    (row,) = csv.DictReader(io.StringIO(tables.as_csv(made["lines"])))
    assert row["model"] == HOSTILE
    assert (row["f1_interval_low"], row["f1_interval_high"], row["published"]) == ("0.0", "25.0", "54.3")
    assert tables.as_csv([]) == "\n"


def test_json_is_the_document_with_an_item_a_line(made) -> None:
    text = tables.as_json(made)
    assert json.loads(text) == made
    assert sum(line.startswith('{"arm"') for line in text.splitlines()) == 2


def test_all_files_are_written_and_no_draft_is_left(made, tmp_path) -> None:
    tables.write(tmp_path, made)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pairs.csv", "results.json", "table.csv", "table.md"]
