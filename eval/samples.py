"""A folder in; the sample documents that are made by a program, and twenty questions about them, out: `python -m eval.samples [folder]`.

The records are what the embedded reader knows, one document a format. Seeds are 1 to 5 and the questions of each the first four that come:
nothing was chosen for being answered well. The plain files beside them were written by hand and are left alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from . import formats
from .prose import LIBRARY_RULES, MUSEUM_LEAFLET, Paragraph
from .records import Sample, samples

FOLDER = Path(__file__).resolve().parent.parent / "samples"

# File, its seed, its pages of twelve lines.
RECORDS = (("records-1.txt", 1, 2), ("records-2.md", 2, 1), ("records-3.html", 3, 1), ("records-4.docx", 4, 1), ("records-5.pdf", 5, 1))
LINES = 12
QUESTIONS_EACH = 4

_WRITERS: dict[str, Callable[[Sequence[Sequence[str]]], bytes]] = {
    ".txt": formats.txt,
    ".md": lambda pages: formats.markdown(pages[0]),
    ".html": lambda pages: formats.html_page(pages[0]),
    ".docx": lambda pages: formats.docx([Paragraph(line) for line in pages[0]]),
    ".pdf": lambda pages: formats.pdf([Paragraph(line) for line in pages[0]], gap=2.0),
}


def drawn(seed: int, pages: int) -> list[Sample]:
    """The four questions of one document; each sample carries its pages."""
    return samples("build", 1, pages, LINES, seed, each=QUESTIONS_EACH)


def write(folder: Path) -> list[Path]:
    """Write every generated file into `folder`, over what is there; returns them."""
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, bytes] = {"library-rules.docx": formats.docx(LIBRARY_RULES), "museum-leaflet.pdf": formats.pdf(MUSEUM_LEAFLET)}
    questions = []
    for name, seed, pages in RECORDS:
        found = drawn(seed, pages)
        files[name] = _WRITERS[Path(name).suffix](found[0].pages)
        questions += [{"question": sample.question, "answer": sample.answer, "document": name} for sample in found]
    files["questions.jsonl"] = "".join(json.dumps(question) + "\n" for question in questions).encode()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return [folder / name for name in files]


def main(argv: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if argv is None else argv)
    for path in write(Path(given[0]) if given else FOLDER):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
