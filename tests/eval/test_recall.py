"""Real files are taken in, the right page is looked for among the hits, and what was not found is told as it is."""

import json

import pytest

from eval.command import main
from eval.recall import Found, summary

PAGES = ["The river Elde begins at a mill.", "The keeper of the bees is Hanna Brodt.", "The tower was built of red sandstone."]


@pytest.fixture
def asked(tmp_path):
    (tmp_path / "notes.txt").write_text("\f".join(f"{page}\n" for page in PAGES))
    rows = [
        ("Who keeps the bees?", 2, ["Hanna Brodt"]),
        ("Where does the river begin?", 1, ["a mill"]),
        ("What is the tower made of?", 2, ["red  sandstone"]),
    ]
    lines = [{"doc": "notes.txt", "page": page, "input": text, "answers": answers, "language": "en"} for text, page, answers in rows]
    lines.append({"doc": "gone.pdf", "page": 1, "input": "Wo?", "answers": ["hier"], "language": "de"})
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return ["eval", "recall", "--documents", str(tmp_path), "--questions", str(tmp_path / "questions.jsonl")]


def test_the_right_page_is_found_and_a_document_that_is_not_there_costs_its_questions(asked, tmp_path, capsys) -> None:
    assert main([*asked, "--quick", "--top", "1", "--out", str(tmp_path / "out")]) == 1  # gone.pdf could not be taken in
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    ranks = [one["rank"] for one in told["questions"]]
    assert ranks[:2] == [1, 1]
    assert ranks[2:] == [None, None]  # the third names a page that it does not stand on
    assert [one["holds"] for one in told["questions"]] == [True, True, True, False]
    rows = {row["language"]: row for row in told["rows"]}
    assert (rows["en"]["right"], rows["en"]["n"], rows["de"]["right"], rows["all"]["n"]) == (2, 3, 0, 4)
    assert [failure["name"] for failure in told["failed"]] == ["gone.pdf"]
    assert "gone.pdf" in (tmp_path / "out" / "recall.md").read_text()


def test_words_find_what_the_vectors_alone_do_not(tmp_path, capsys) -> None:
    (tmp_path / "orders.txt").write_text(
        "\f".join(f"Order {number} of garden chairs came in good condition.\n" for number in range(4100, 4120))
    )
    row = {"doc": "orders.txt", "page": 18, "input": "What about order 4117?", "answers": ["4117"], "language": "en"}
    (tmp_path / "questions.jsonl").write_text(json.dumps(row) + "\n")
    run = ["eval", "recall", "--documents", str(tmp_path), "--questions", str(tmp_path / "questions.jsonl"), "--quick", "--top", "2"]
    told = {}
    for search in ("dense", "hybrid"):
        assert main([*run, "--search", search, "--home", str(tmp_path / "home")]) == 0
        told[search] = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (told["dense"]["rows"][-1]["right"], told["hybrid"]["rows"][-1]["right"]) == (0, 1)
    assert told["dense"]["settings"]["search"] == "dense"


def test_answers_need_the_real_model(asked, capsys) -> None:
    assert main([*asked, "--quick", "--answers"]) == 2
    assert "leave one" in capsys.readouterr().err


def test_the_summary_counts_by_language() -> None:
    one = Found("1", "a.pdf", 1, "en", "?", 3, True, "x", 0.5)
    rows = summary([one, Found("2", "a.pdf", 1, "ko", "?", None, False, "", 0.0)], 4)
    assert [(row["language"], row["recall"], row["f1"]) for row in rows] == [("en", 1.0, 0.5), ("ko", 0.0, 0.0), ("all", 0.5, 0.25)]
