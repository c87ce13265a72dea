"""A question's words go in; ids of the chunks that have them come out, best first by BM25 (SQLite's FTS5). Runs inside a transaction of the caller.

`unicode61` makes a word of what stands between spaces and marks, in small letters and without diacritics. Chinese and Japanese put no spaces between
words, so their characters are kept one by one, and a question asks for each two that stand together; two are a word more often than not. Other
scripts without spaces (Thai, Khmer) are left to the vectors.

FTS5 weighs a word by how many chunks of the whole house have it, not of the collection alone: the order within a collection can change a little
when another one grows.
"""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from .types import Chunk
from .vectors import Vectors

# Distinct terms of a question that are looked for; each costs a walk over all chunks that have it.
TERMS = 64
# FTS5 gives a word that half of all chunks have a millionth of weight (times 2.2 at most): a chunk that has no other is no find.
_SOMETHING = -1e-3

# A change here changes what is stored: raise the catalogue's format, and fill the table again.
_HAN_KANA = "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_CHARACTER = re.compile(f"([{_HAN_KANA}])")
_WORD = re.compile(f"[{_HAN_KANA}]+|[^\\W_{_HAN_KANA}]+")


def spaced(text: str) -> str:
    """The text as it is stored for FTS5: a space on either side of each Chinese or Japanese character."""
    return _CHARACTER.sub(r" \1 ", text)


def expression(question: str) -> str:
    """The question as an expression of FTS5: its terms, each quoted, any of which may be there; "" where it has no words.

    What is written without a space, such as WR-1842 or 3.5.2, is looked for as a whole too. Nothing of a question is syntax.
    """
    terms: dict[str, None] = {}
    for piece in unicodedata.normalize("NFC", question).lower().split():
        words = _WORD.findall(piece)
        for word in words:
            terms.update(dict.fromkeys(_pairs(word) if _CHARACTER.match(word) else [word]))
        if len(words) > 1:
            terms[" ".join(spaced(word).strip() for word in words)] = None
    # No term has a quotation mark: `_WORD` finds letters and digits alone.
    return " OR ".join(f'"{term}"' for term in list(terms)[:TERMS])


def search(connection: sqlite3.Connection, collection: str, question: str, limit: int) -> list[tuple[int, Vectors]]:
    """Up to `limit` chunks of the collection that have a word of the question, best first, equal ones by id; each with its unit vector
    float32 [dimension]. None for a question without words; words that half of the house's chunks have count for nothing."""
    wanted = expression(question)
    if not wanted:
        return []
    found = connection.execute(
        "SELECT chunks.id, vector FROM words JOIN chunks ON chunks.id = words.rowid JOIN documents ON documents.id = document "
        "WHERE words MATCH ? AND bm25(words) < ? AND collection = ? ORDER BY bm25(words), chunks.id LIMIT ?",
        (wanted, _SOMETHING, collection, limit),
    )
    return [(chunk_id, np.frombuffer(vector, dtype="<f4")) for chunk_id, vector in found]


def add(connection: sqlite3.Connection, chunks: Sequence[Chunk]) -> None:
    connection.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", [(chunk.id, spaced(chunk.text)) for chunk in chunks])


def forget(connection: sqlite3.Connection, document_id: str) -> None:
    """Take a document's words out, while its chunks are still there. `merge` then leaves no byte of them."""
    connection.execute("DELETE FROM words WHERE rowid IN (SELECT id FROM chunks WHERE document = ?)", (document_id,))


def merge(connection: sqlite3.Connection) -> None:
    """Write the index anew as one piece. FTS5 only notes that a word is gone, and the note has the word in it, until pieces are merged.

    Its time grows with the whole index (a third of a second at ten thousand chunks). FTS5's own `secure-delete` would be quicker, but needs
    SQLite 3.42, and an older one cannot read the file afterwards.
    """
    connection.execute("INSERT INTO words (words) VALUES ('optimize')")


def index_faults(connection: sqlite3.Connection) -> list[str]:
    """Where the words and their index differ. For FTS5 its check is a write, so the transaction must be one that may."""
    try:
        connection.execute("INSERT INTO words (words) VALUES ('integrity-check')")
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_CORRUPT:
            raise
        return [f"the words do not agree with their index ({error})"]
    return []


def faults(connection: sqlite3.Connection) -> list[str]:
    """Where the words and the chunks differ, in sentences."""
    found = []
    pairs = connection.execute("SELECT chunks.text, words.text FROM chunks LEFT JOIN words ON words.rowid = chunks.id")
    wrong = sum(stored != spaced(text) for text, stored in pairs)
    if wrong:
        found.append(f"the words of {wrong} chunks are not those of their text")
    strangers = connection.execute("SELECT count(*) FROM words WHERE rowid NOT IN (SELECT id FROM chunks)").fetchone()[0]
    if strangers:
        found.append(f"there are words of {strangers} chunks that are not there")
    return found


def _pairs(run: str) -> list[str]:
    """Each two characters that stand together, as a phrase; the one of a run of one."""
    return [f"{first} {second}" for first, second in pairwise(run)] or [run]
