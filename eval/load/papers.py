"""A number goes in; a small file of the records world comes out, with one fact that no other file has, the question for it, and its answer.

The same number always gives the same file. Every tenth is one that cannot be taken in: an upload that fails must say so and cost nobody else
anything.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from random import Random

from eval import formats, world
from eval.prose import Paragraph
from eval.records import build

LINES = 11
GOOD = ("txt", "md", "html", "docx", "pdf", "csv", "zip")
BAD = ("empty", "cut", "stranger", "steps-out", "bomb")
_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"


@dataclass(frozen=True)
class Paper:
    """A file to upload. `value` stands in it and nowhere else; "" where the file is one that must be refused (`kind` in `BAD`)."""

    number: int
    kind: str
    name: str
    data: bytes
    question: str
    value: str

    @property
    def bad(self) -> bool:
        return self.kind in BAD


def paper(number: int, seed: int = 1) -> Paper:
    """The file of that number: kinds in turn, every tenth a bad one."""
    rng = Random(f"{seed}-{number}")
    # Letters of the number: unique, and no word of the records world, so that finding it in an answer is no accident.
    mark = "".join(_LETTERS[number // len(_LETTERS) ** place % len(_LETTERS)] for place in (2, 1, 0))
    value = f"{mark}-{rng.randint(1000, 9999)}"
    # A name without the value: what is looked for on the disk afterwards must not be found because of a log of names.
    name = f"sheet-{mark.lower()}{rng.randint(1000, 9999)}"
    if number % 10 == 9:
        kind = BAD[number // 10 % len(BAD)]
        told, data = _bad(kind, name)
        return Paper(number, kind, told, data, "", "")
    kind = GOOD[number % len(GOOD)]
    thing = f"{world.name(rng)} {rng.choice(world.NOUNS)}"
    lines = [f"The code of {thing} is {value}.", *build(rng, 1, LINES).pages[0]]
    return Paper(number, kind, *_good(kind, name, lines), f"What is the code of {thing}?", value)


def _good(kind: str, name: str, lines: list[str]) -> tuple[str, bytes]:
    match kind:
        case "md":
            return f"{name}.md", formats.markdown(lines)
        case "html":
            return f"{name}.html", formats.html_page(lines)
        case "docx":
            return f"{name}.docx", _undated(formats.docx([Paragraph(line) for line in lines]))
        case "pdf":
            return f"{name}.pdf", formats.pdf([Paragraph(line) for line in lines], gap=2.0)
        case "csv":
            return f"{name}.csv", ("number,line\n" + "".join(f'{n},"{line}"\n' for n, line in enumerate(lines))).encode()
        case "zip":
            return f"{name}.zip", _zip({f"{name}-inner.txt": formats.txt([lines]), f"{name}-empty.txt": b""})
    return f"{name}.txt", formats.txt([lines])


def _bad(kind: str, name: str) -> tuple[str, bytes]:
    match kind:
        case "empty":
            return f"{name}.txt", b""
        case "cut":
            return f"{name}.docx", formats.docx([Paragraph("A line.")])[:400]
        case "stranger":
            return f"{name}.exe", b"MZ\x90\x00" + bytes(200)
        case "steps-out":
            return f"../../{name}.txt", b"A line.\n"
    return f"{name}.docx", _zip({"[Content_Types].xml": b"", "word/document.xml": bytes(8_000_000)})


def _undated(container: bytes) -> bytes:
    """The same members without the time of day that they were packed at."""
    with zipfile.ZipFile(io.BytesIO(container)) as archive:
        return _zip({name: archive.read(name) for name in archive.namelist()})


def _zip(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()
