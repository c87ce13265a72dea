"""An upload's body goes in as it arrives; its files and words come out. What is over a limit is refused on the way, and is never on the disk.

Files wait in the home's own folder, without a name: they go with the process, whatever ends it, and a small /tmp is no limit.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import BinaryIO, cast
from urllib.parse import unquote_to_bytes

from fastapi.concurrency import run_in_threadpool
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import Request

from ingest.errors import TooLarge

from .errors import BadRequest, TooManyFiles

# Fields besides the files, and bytes of one of them; bytes of a file that are held in memory before it takes a file of its own.
WORDS = frozenset(["collection", "replace"])
WORD_BYTES, MEMORY = 1024, 1 << 20
# A name as RFC 5987 spells it. RFC 7578 wants none in a form, the parser knows none, and some clients send nothing else.
_EXTENDED = re.compile(rb";\s*filename\*\s*=\s*(utf-8|iso-8859-1)'[^';]*'([^\s;'\"]+)", re.IGNORECASE)


class Form:
    """A multipart form on its way in: `feed` it, then `finish`. Close it when its files have been read."""

    def __init__(self, boundary: bytes, folder: Path, files: int, file_bytes: int) -> None:
        """At most so many files of so many bytes; `folder` is where the larger ones wait."""
        self.files: list[tuple[str, BinaryIO]] = []
        self.words: dict[str, str] = {}
        self._folder, self._most, self._file_bytes = folder, files, file_bytes
        self._header, self._value, self._disposition = bytearray(), bytearray(), b""
        self._word, self._word_bytes, self._size, self._whole = "", bytearray(), 0, False
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin,
                "on_header_field": lambda data, start, end: self._header.extend(data[start:end]),
                "on_header_value": lambda data, start, end: self._value.extend(data[start:end]),
                "on_header_end": self._header_end,
                "on_headers_finished": self._named,
                "on_part_data": self._data,
                "on_part_end": self._end,
                "on_end": self._done,
            },
        )

    def feed(self, block: bytes) -> None:
        """Raises BadRequest and TooManyFiles. A file that is too large is kept no further, and raises TooLarge when it is read."""
        try:
            self._parser.write(block)
        except FormParserError as error:
            raise BadRequest(f"the form cannot be read: {error}") from error

    def finish(self) -> None:
        """Raises BadRequest for a form without an end (it was cut off), or without files."""
        if not self._whole:
            raise BadRequest("the form has no end: it was cut off on its way; send it again")
        if not self.files:
            raise BadRequest("the form has no files: send one or more under the name files", {"files": "missing"})
        for _, file in self.files:
            file.seek(0)

    def close(self) -> None:
        for _, file in self.files:
            file.close()

    # -- parts, as the parser calls them -----------------------------------------------------------------------------

    def _begin(self) -> None:
        self._disposition, self._word, self._size = b"", "", 0
        self._word_bytes.clear()

    def _header_end(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition = bytes(self._value)
        self._header.clear()
        self._value.clear()

    def _named(self) -> None:
        _, options = parse_options_header(self._disposition)
        if b"filename" not in options and (extended := _EXTENDED.search(self._disposition)):
            options[b"filename"] = _spelt(*extended.groups())
        name = _text(options.get(b"name", b""))
        if b"filename" not in options:
            if name not in WORDS:
                raise BadRequest(
                    f"the form has a field {name[:40]!a}; its fields are files, collection and replace", {name[:40]: "unknown"}
                )
            if name in self.words:
                raise BadRequest(f"the form has {name} twice", {name: "twice"})
            self._word = name
        elif name != "files":
            raise BadRequest(f"{name[:40]!a} is a file; files have the name files", {name[:40]: "not a file"})
        elif len(self.files) == self._most:
            raise TooManyFiles(f"more than {self._most} files in one upload, the limit (request_files); send them in several")
        else:
            file = tempfile.SpooledTemporaryFile(MEMORY, dir=str(self._folder))  # noqa: SIM115  closed with the form
            self.files.append((_text(options[b"filename"]), cast(BinaryIO, file)))

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._word:
            self._word_bytes += data[start:end]
            if len(self._word_bytes) > WORD_BYTES:
                raise BadRequest(f"{self._word} is one word of the form, not {WORD_BYTES:,} bytes and more", {self._word: "too long"})
            return
        name, file = self.files[-1]
        self._size += end - start
        if self._size <= self._file_bytes:
            file.write(data[start:end])
        elif not isinstance(file, _Over):
            file.close()
            self.files[-1] = name, cast(BinaryIO, _Over(name, self._file_bytes))

    def _end(self) -> None:
        if self._word:
            self.words[self._word] = _text(bytes(self._word_bytes))

    def _done(self) -> None:
        self._whole = True


class _Over:
    """Stands for a file that was over the limit: nothing of it is kept, and whoever reads it hears why."""

    def __init__(self, name: str, limit: int) -> None:
        self._says = f"{name}: more than {limit:,} bytes, the limit (file_bytes); split the file or raise the limit"

    def read(self, size: int = -1) -> bytes:
        raise TooLarge(self._says)

    def seek(self, place: int) -> None:
        pass

    def close(self) -> None:
        pass


async def read_form(request: Request, folder: Path, files: int, file_bytes: int) -> Form:
    """The whole form. Raises BadRequest, TooManyFiles, and what the doors raise of a body that is too large or too slow."""
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    if kind != b"multipart/form-data":
        raise BadRequest("send the files as multipart/form-data", {"files": "missing"})
    if not options.get(b"boundary"):
        raise BadRequest("the form has no boundary in its Content-Type")
    try:
        form = Form(options[b"boundary"], folder, files, file_bytes)
    except FormParserError as error:
        raise BadRequest(f"the form cannot be read: {error}") from error
    try:
        async for block in request.stream():
            # In a thread: a slow disk would hold up everybody's answers otherwise.
            await run_in_threadpool(form.feed, block)
        form.finish()
    except BaseException:
        form.close()
        raise
    return form


def _spelt(charset: bytes, name: bytes) -> bytes:
    """RFC 5987: the bytes of a name that was sent as percent signs and digits, in UTF-8."""
    raw = unquote_to_bytes(name)
    return raw.decode("latin-1").encode() if charset.lower() == b"iso-8859-1" else raw


def _text(raw: bytes) -> str:
    """Names come in UTF-8, from old clients in Latin-1."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")
