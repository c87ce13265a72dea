"""The samples in the repository are those the program makes, and their records come out of ingest as the very pages that were drawn."""

import json
from pathlib import Path

import pytest

from eval import samples
from ingest.chunk import chunk
from ingest.parsers import docx, html, markdown, pdf, text
from ingest.types import Document, Limits
from renderer import preset

PARSERS = {".txt": text, ".md": markdown, ".html": html, ".docx": docx, ".pdf": pdf}
DOCUMENTS = [path for path in sorted(samples.FOLDER.iterdir()) if path.suffix in PARSERS]


def parsed(path):
    return PARSERS[path.suffix].parse(path.read_bytes(), Limits())


@pytest.mark.parametrize(("name", "seed", "pages"), samples.RECORDS)
def test_records_are_ingested_as_the_pages_that_were_drawn(name, seed, pages):
    found = parsed(samples.FOLDER / name)
    document = Document(name, name, "0" * 64, 0, "", found.text, found.blocks)
    chunks = chunk(document, "id", preset("reader"), Limits())
    drawn = samples.drawn(seed, pages)[0].pages
    assert [piece.text for piece in chunks] == ["\n".join(line.rstrip() for line in page) for page in drawn]


def test_the_repository_holds_what_the_program_makes(tmp_path):
    for path in samples.write(tmp_path):
        kept = samples.FOLDER / path.name
        if path.suffix == ".docx":
            # A Word file is a ZIP with the hour it was made in it.
            assert parsed(path).text == parsed(kept).text
        else:
            assert path.read_bytes() == kept.read_bytes(), path.name


def test_twenty_questions_each_have_their_answer_on_one_line_of_their_document():
    rows = [json.loads(line) for line in (samples.FOLDER / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 20
    for row in rows:
        assert set(row) == {"question", "answer", "document"}
        assert any(row["answer"] in line for line in parsed(samples.FOLDER / row["document"]).text.split("\n"))


def test_there_are_a_dozen_documents_and_each_can_be_read():
    assert len(DOCUMENTS) == 12
    for path in DOCUMENTS:
        assert len(parsed(path).text) > 200


def test_the_program_writes_where_it_is_told(tmp_path, capsys):
    assert samples.main([str(tmp_path)]) == 0
    assert {Path(line).name for line in capsys.readouterr().out.split()} == {path.name for path in tmp_path.iterdir()}
