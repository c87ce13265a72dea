"""Questions on real documents go in, with the documents' folder; LongBench's rows come out, each over a window of its document's text.

    {"doc", "page", "input", "answers", "language"} a line  ->  a row of task multifieldqa_en: "read and answer briefly"

The window stands for a good retriever, so that what is measured is reading: it lies around the first place where an answer stands on the
question's page, and holds so many words as a small machine can prefill. A question whose answer stands nowhere in the text (in a picture
alone) has no such window and is passed over by name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ingest.errors import IngestError
from ingest.load import load
from ingest.types import Document, Limits

from .errors import BadRecord, NoData

TASK = "multifieldqa_en"


@dataclass(frozen=True)
class Written:
    """The rows, and a sentence for each question that has none."""

    rows: tuple[dict[str, Any], ...]
    passed: tuple[str, ...]


def rows_of(questions: Path, folder: Path, words: int, language: str = "en") -> Written:
    """Questions of one language as rows, each over at most `words` words.

    Raises:
        NoData: there is no such file of questions.
        BadRecord: a line is no question: names the file, the line and the field.
    """
    rows, passed = [], []
    loaded: dict[str, Document | None] = {}
    for number, asked in questions_of(questions):
        if asked["language"] != language:
            continue
        name = str(asked["doc"])
        if name not in loaded:
            loaded[name] = _document(folder, name)
        document = loaded[name]
        said = f"{questions.name}, line {number} ({asked['input']})"
        if document is None:
            passed.append(f"{said}: {name} is not in the folder, or cannot be read")
        elif (found := window(document, asked.get("page"), asked["answers"], words)) is None:
            passed.append(f"{said}: none of its answers stands in the text of {name}")
        else:
            rows.append(_row(asked, number, found))
    return Written(tuple(rows), tuple(passed))


def window(document: Document, page: int | None, answers: Sequence[str], words: int) -> str | None:
    """`words` words of a document around an answer's first place, on `page` where the document has pages; None where no answer stands."""
    held = [(block.start, block.end) for block in document.blocks if page is None or block.page in (page, None)]
    low, high = (held[0][0], held[-1][1]) if held else (0, len(document.text))
    places = [at for answer in answers if (at := _find(document.text, answer, low, high)) is not None]
    if not places:
        return None
    spans = [word.span() for word in re.finditer(r"\S+", document.text)]
    here = next(number for number, (_, end) in enumerate(spans) if end > min(places))
    # A window at the document's edge gives what it lacks to the other side.
    first = max(0, min(here - words // 2, len(spans) - words))
    return document.text[spans[first][0] : spans[first : first + words][-1][1]]


def _find(text: str, answer: str, low: int, high: int) -> int | None:
    """Where an answer stands, whatever white space parts its words."""
    found = re.compile(r"\s+".join(map(re.escape, answer.split()))).search(text, low, high)
    return found.start() if found else None


def questions_of(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, question) of a jsonl file. Raises NoData and BadRecord, as `rows_of`."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise NoData(f"{path}: {error.strerror or error}; give a jsonl file of questions on documents") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            asked = json.loads(line)
        except ValueError as error:
            raise BadRecord(f"{path.name}, line {number}: no JSON ({error})") from error
        for name, kind in (("doc", str), ("input", str), ("answers", list), ("language", str)):
            if not isinstance(asked, dict) or not isinstance(asked.get(name), kind):
                raise BadRecord(f"{path.name}, line {number}: field {name!r} is missing or no {kind.__name__}")
        yield number, asked


def _document(folder: Path, name: str) -> Document | None:
    # The last part alone: a question must not name a file elsewhere.
    path = folder / Path(name).name
    try:
        return load(path, path.name, str(path), Limits())
    except (IngestError, OSError):
        return None


def _row(asked: dict[str, Any], number: int, context: str) -> dict[str, Any]:
    return {
        "input": asked["input"],
        "context": context,
        "answers": asked["answers"],
        "length": len(context.split()),
        "dataset": TASK,
        "language": asked["language"],
        "all_classes": None,
        "_id": str(asked.get("_id", number)),
    }


def write(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
