"""A card's rows are drawn by the commands that stand under them, and the embedded reader's weights are those that its card speaks of."""

import json
import re
import shlex

import pytest

from cache_compiler.load import READER, load_backbone
from eval import card, command
from eval.arms import Bench
from eval.experiment import run
from eval.records import HELD_OUT, ONLY
from renderer import preset

# Of a row's questions these are asked again; one may come out otherwise where another machine rounds otherwise.
_AGAIN, _SPARED = 32, 1


@pytest.mark.parametrize("row", card.ROWS, ids=lambda row: row.title)
def test_a_rows_command_draws_the_very_questions(row, tmp_path, capsys):
    file = tmp_path / "questions.jsonl"
    words = shlex.split(row.command("120", 5, "reader"))[1:]
    assert command.main([*words, "--write", str(file)]) == 0
    capsys.readouterr()
    asked = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [(a["input"], a["answers"]) for a in asked] == [(s.question, [s.answer]) for s in row.samples(5)]
    assert {a["hops"] for a in asked} == {ONLY[row.only]}


def test_a_sort_that_no_context_holds_is_an_error_that_says_so(capsys):
    assert command.main(["eval", "records", "--only", "carried", "--n", "1"]) != 0
    assert "no question of this sort" in capsys.readouterr().err


def test_the_table_has_a_line_for_each_row_and_every_command():
    line = {"n": 4, "exact_percent": 75.0, "exact_interval": [30.1, 95.4], "f1_percent": 80.0, "mean_rows": 98.0, "refused": 1}
    lines = [{"row": "a", "dpi": "72", "arm": arm, "questions": "one-hop", "command": "quire x", **line} for arm in ("full", "free")]
    found = card.markdown({"seed": HELD_OUT, "lines": [*lines, {**lines[0], "row": "b", "questions": "absent"}]})
    assert "| a | 4 | 72 | 75.0 (30 to 95) | 75.0 (30 to 95) | 80.0 | 98 |" in found
    assert "| b | 4 | 72 | 75.0 (30 to 95) |  | 80.0 | 98 |" in found
    assert "a at 72: 1 of 4." in found
    assert found.count("quire x") == 1


def test_weights_without_a_file_are_an_error_that_names_the_directory(tmp_path):
    with pytest.raises(ValueError, match="safetensors"):
        card.weights_of(tmp_path)


def test_rows_and_dpis_of_the_same_weights_stay_and_those_of_others_go(tmp_path):
    def document(weights, row, dpi="72"):
        line = {"n": 4, "exact_percent": 75.0, "exact_interval": [30.1, 95.4], "f1_percent": 80.0, "mean_rows": 98.0, "refused": 1}
        made = {"row": row.title, "dpi": dpi, "arm": "full", "questions": row.only, "command": "quire x", **line}
        return {"weights": weights, "n": 4, "seed": HELD_OUT, "lines": [made]}

    def kept():
        return [(line["row"], line["dpi"]) for line in json.loads((tmp_path / card.FILE).read_text())["lines"]]

    last, first = card.ROWS[-1], card.ROWS[0]
    card.write(tmp_path, document("a", last, "120"))
    card.write(tmp_path, document("a", last, "72"))
    card.write(tmp_path, document("a", first))
    card.write(tmp_path, document("a", first))
    assert kept() == [(first.title, "72"), (last.title, "72"), (last.title, "120")]
    card.write(tmp_path, document("b", last))
    assert kept() == [(last.title, "72")]


def test_a_dpi_at_which_no_row_is_asked_is_an_error_that_names_those_that_are(capsys):
    assert command.main(["eval", "card", "--rows", "four pages", "--dpi", "96"]) != 0
    assert "72, 120, promote" in capsys.readouterr().err


@pytest.fixture(scope="module")
def figures():
    return json.loads((READER / card.FILE).read_text(encoding="utf-8"))


def test_the_readers_weights_are_those_its_card_speaks_of(figures):
    assert card.weights_of(READER) == figures["weights"], (
        "the weights changed: measure them again (quire eval card --out cache_compiler/reader)"
    )


@pytest.mark.parametrize("dpi", ["72", "120"])
def test_the_reader_answers_as_its_card_says(figures, dpi):
    (line,) = (line for line in figures["lines"] if (line["row"], line["dpi"], line["arm"]) == (card.ROWS[0].title, dpi, "full"))
    bench = Bench(load_backbone("reader", device="cpu"), preset("reader"))
    outcomes = run(card.ROWS[0].samples(line["n"])[:_AGAIN], ["full"], dpi, bench, None)
    differing = sum(outcome.exact != (said == "1") for outcome, said in zip(outcomes, line["right"][:_AGAIN], strict=True))
    assert differing <= _SPARED


def test_the_figures_in_the_readmes_are_those_of_the_card(figures):
    said = {(line["row"], line["dpi"], line["arm"]): line for line in figures["lines"]}
    table = (READER.parents[1] / "README.md").read_text(encoding="utf-8")
    for arm in ("full", "template", "free", "dummy-4"):
        line = said[card.ROWS[0].title, "120", arm]
        low, high = line["exact_interval"]
        (row,) = (row for row in table.splitlines() if row.startswith(f"| `{arm}`"))
        assert f"| {line['exact_percent']:.1f} % | {low:.1f} to {high:.1f} | {line['f1_percent']:.1f} % |" in row
    short = (READER / "README.md").read_text(encoding="utf-8")
    aims = short[short.index("| reached | aimed at |") : short.index("first token on two cores")]
    told = {f"{line['exact_percent']:.1f}" for key, line in said.items()}
    assert set(re.findall(r"\d+\.\d", aims)) <= told
    assert len(re.findall(r"\d+\.\d", aims)) == 20
    assert f"gets about {said[card.ROWS[0].title, '120', 'full']['exact_percent']:.0f} in 100" in (READER / "quire.json").read_text(
        encoding="utf-8"
    )
