"""A dead child's last words: where and of what it died, and nothing of what it was reading."""

import io

from ingest.complaints import last_words

SAID = b"""MuPDF error: syntax error in 'the will of Aunt Ada'
Traceback (most recent call last):
  File "/quire/ingest/worker.py", line 40, in main
    raise ValueError(f"no: {text}")
ValueError: no: the house goes to Tom
lxml.etree.XMLSyntaxError: line 1 <secret>
KeyboardInterrupt
"""


def test_places_and_types_stay_and_words_go(monkeypatch):
    monkeypatch.delenv("QUIRE_DEBUG", raising=False)
    told = last_words(io.BytesIO(SAID))
    assert 'File "/quire/ingest/worker.py", line 40, in main' in told
    for kind in ("ValueError", "lxml.etree.XMLSyntaxError", "KeyboardInterrupt"):
        assert f"{kind} (its words are left out)" in told
    assert not [word for word in ("Ada", "Tom", "secret", "text") if word in told]


def test_words_that_are_no_traceback_are_only_counted(monkeypatch):
    monkeypatch.delenv("QUIRE_DEBUG", raising=False)
    assert last_words(io.BytesIO(b"the house goes to Tom")) == "21 characters, which are left out"


def test_whoever_looks_for_a_fault_sees_all_of_the_end(monkeypatch):
    monkeypatch.setenv("QUIRE_DEBUG", "1")
    assert last_words(io.BytesIO(b"x" * 9000 + b" Tom")).endswith(" Tom")
    assert len(last_words(io.BytesIO(b"x" * 9000))) == 4000
