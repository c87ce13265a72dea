"""The SQLite tables of the catalogue, their format, and what brings a catalogue of each earlier format to the next one."""

from __future__ import annotations

# PRAGMA user_version. Raise it with every change of the tables, and write the change down in CHANGES.
FORMAT = 3
# PRAGMA application_id, "Quir": tells a catalogue from any other SQLite file.
APPLICATION = 0x51756972

# Content tables hold no time and no counter, so that two runs over the same files give the same rows. What is no content: jobs, whose
# `number` is the order of arrival; `uses`, when a page image was last read; `uploads`, which requests were answered with which jobs;
# and whether a collection is pinned. `words` has the text of each chunk, by its id, as `words.py` finds it. Times are seconds since 1970, UTC.
TABLES = """
CREATE TABLE collections (
    name TEXT PRIMARY KEY, identity TEXT NOT NULL, embedder TEXT NOT NULL, dimension INTEGER NOT NULL CHECK (dimension > 0),
    model TEXT NOT NULL DEFAULT '', pinned INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE documents (
    id TEXT PRIMARY KEY, collection TEXT NOT NULL REFERENCES collections (name), name TEXT NOT NULL, source TEXT NOT NULL,
    sha256 TEXT NOT NULL, bytes INTEGER NOT NULL, media TEXT NOT NULL, chars INTEGER NOT NULL, chunks INTEGER NOT NULL,
    pages INTEGER NOT NULL, notes TEXT NOT NULL, UNIQUE (collection, name)
) STRICT;
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY, document TEXT NOT NULL REFERENCES documents (id), ordinal INTEGER NOT NULL, text TEXT NOT NULL,
    start INTEGER NOT NULL, "end" INTEGER NOT NULL, heading TEXT NOT NULL, source_page INTEGER, vector BLOB NOT NULL,
    UNIQUE (document, ordinal)
) STRICT;
CREATE TABLE pages (
    key TEXT PRIMARY KEY, width REAL NOT NULL, height REAL NOT NULL, lines TEXT NOT NULL, rows TEXT NOT NULL,
    kind TEXT NOT NULL DEFAULT 'text'
) STRICT;
CREATE TABLE chunk_pages (
    chunk INTEGER NOT NULL REFERENCES chunks (id), position INTEGER NOT NULL, page TEXT NOT NULL REFERENCES pages (key),
    PRIMARY KEY (chunk, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX chunk_pages_by_page ON chunk_pages (page);
CREATE TABLE removals (key TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, collection TEXT NOT NULL, name TEXT NOT NULL,
    spool TEXT NOT NULL, state TEXT NOT NULL, stage TEXT NOT NULL, done INTEGER NOT NULL, total INTEGER NOT NULL,
    document TEXT NOT NULL, error TEXT NOT NULL, detail TEXT NOT NULL, created REAL NOT NULL DEFAULT 0, updated REAL NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE uses (key TEXT PRIMARY KEY, used REAL NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE uploads (key TEXT PRIMARY KEY, digest TEXT NOT NULL, jobs TEXT NOT NULL, at REAL NOT NULL) STRICT, WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = "unicode61 remove_diacritics 2");
"""

# By the format that a catalogue has: the statements that bring it to the next one, all in one transaction.
CHANGES: dict[int, tuple[str, ...]] = {
    1: ("ALTER TABLE collections ADD COLUMN model TEXT NOT NULL DEFAULT ''",),
    2: (
        "ALTER TABLE collections ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE pages ADD COLUMN kind TEXT NOT NULL DEFAULT 'text'",
        "ALTER TABLE jobs ADD COLUMN created REAL NOT NULL DEFAULT 0",
        "ALTER TABLE jobs ADD COLUMN updated REAL NOT NULL DEFAULT 0",
        # Nobody knows when: not in 1970, or the first collection would forget them all, and the uploads of those that failed.
        "UPDATE jobs SET created = (julianday('now') - 2440587.5) * 86400.0, updated = (julianday('now') - 2440587.5) * 86400.0",
        "CREATE TABLE uses (key TEXT PRIMARY KEY, used REAL NOT NULL) STRICT, WITHOUT ROWID",
        "CREATE TABLE uploads (key TEXT PRIMARY KEY, digest TEXT NOT NULL, jobs TEXT NOT NULL, at REAL NOT NULL) STRICT, WITHOUT ROWID",
        'CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = "unicode61 remove_diacritics 2")',
        "INSERT INTO words (rowid, text) SELECT id, spaced(text) FROM chunks",
    ),
}
