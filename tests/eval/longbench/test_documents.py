"""Windows of real documents as LongBench's rows: the answer is in it, it is as long as was asked, and nothing is made up."""

import json
from pathlib import Path

import pytest

from eval.longbench.documents import TASK, rows_of, window, write
from eval.longbench.errors import BadRecord, NoData
from eval.longbench.records import read
from ingest.types import Block, Document

TEXT = " ".join(f"w{n}" for n in range(100)) + "\n\n" + "The  answer\nstands here. " + " ".join(f"v{n}" for n in range(100))


def document(text: str = TEXT, blocks: tuple[Block, ...] = ()) -> Document:
    return Document("a.txt", "a.txt", "0", len(text), "text/plain", text, blocks)


@pytest.mark.parametrize("words", [1, 2, 7, 30, 150, 1000])
def test_a_window_holds_the_answer_and_so_many_words_as_there_are(words):
    found = window(document(), None, ["answer stands"], words)
    assert found in TEXT
    assert "answer" in found
    assert len(found.split()) == min(words, len(TEXT.split()))


def test_a_window_at_an_edge_gives_what_it_lacks_to_the_other_side():
    assert len(window(document(), None, ["w0"], 40).split()) == 40
    assert len(window(document(), None, ["v99"], 40).split()) == 40


def test_an_answer_is_looked_for_on_its_page():
    middle = TEXT.index("The")
    blocks = (Block(0, middle, page=1), Block(middle, len(TEXT), page=2))
    assert window(document(blocks=blocks), 2, ["w5", "v5"], 3).split()[1] == "v5"
    assert window(document(blocks=blocks), 1, ["v5"], 3) is None
    assert window(document(), None, ["nowhere"], 3) is None


def test_questions_become_rows_that_the_reader_of_longbench_takes(tmp_path):
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    asked = [
        {"_id": "one", "doc": "a.txt", "page": None, "input": "What?", "answers": ["answer stands"], "language": "en"},
        {"doc": "a.txt", "page": None, "input": "Nowhere?", "answers": ["nowhere"], "language": "en"},
        {"doc": "../a.txt", "page": None, "input": "Gone?", "answers": ["x"], "language": "en"},
        {"doc": "b.txt", "page": None, "input": "No file?", "answers": ["x"], "language": "en"},
        {"doc": "a.txt", "page": None, "input": "Korean?", "answers": ["answer"], "language": "ko"},
    ]
    questions = tmp_path / "qa.jsonl"
    questions.write_text("".join(json.dumps(row) + "\n" for row in asked), encoding="utf-8")
    found = rows_of(questions, tmp_path, 20)
    assert [row["_id"] for row in found.rows] == ["one"]
    assert len(found.passed) == 3
    assert "line 4" in found.passed[-1]
    write(tmp_path / "out.jsonl", found.rows)
    (record,) = read(tmp_path / "out.jsonl")[TASK]
    assert (record.id, record.answers, record.length) == ("one", ("answer stands",), 20)


@pytest.mark.parametrize("line", ["{", "[]", '{"doc": "a.txt", "input": "?", "answers": "x", "language": "en"}'])
def test_a_line_that_is_no_question_is_named(tmp_path, line):
    questions = tmp_path / "qa.jsonl"
    questions.write_text("\n" + line, encoding="utf-8")
    with pytest.raises(BadRecord, match=r"qa\.jsonl, line 2"):
        rows_of(questions, tmp_path, 20)
    with pytest.raises(NoData, match="no"):
        rows_of(tmp_path / "none.jsonl", tmp_path, 20)


def test_the_english_questions_of_the_shared_documents_have_their_windows(shared: Path):
    found = rows_of(shared / "data" / "docs_qa.jsonl", shared / "data" / "docs", 300)
    assert len(found.rows) >= 12
    for row in found.rows:
        flat = " ".join(row["context"].split())
        assert any(" ".join(answer.split()) in flat for answer in row["answers"]), row["input"]
