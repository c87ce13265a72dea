"""The contract's JSON: every field is there, nothing of the home is, and boxes and addresses are what the page draws with."""

import json
from dataclasses import replace

from app import wire
from app.types import Answer, Citation, Done, Failed, MarkedLine, PatchUse, Planned, Provenance, Timings, Token, Turn
from cache_compiler.verdict import Verdict
from retrieval.types import Chunk, CollectionRow, DocumentRow, JobRow, PageRef, PageRow, Pick, Plan, Receipt

KEY = "ab" * 16
REF = PageRef(KEY, {72: 100, 120: 250})
CHUNK = Chunk(7, "d1", 3, "text", 0, 4, "Heading", 2, (REF,))
PLAN = Plan((Pick(CHUNK, REF, 120, 0.5, "relevant"),), (7, 9), (9,))
CITATION = Citation(
    "d1", "notes.txt", KEY, 120, "Heading", 2, 3, 144.0, 72.0, (MarkedLine(4, "a line", (1.0, 2.0, 3.0, 4.0), "has the answer's words"),)
)
ANSWER = Answer(
    "why?",
    "default",
    "because",
    "stop",
    3,
    "reader",
    PLAN,
    (CITATION,),
    (Provenance(KEY, 120, "disk", 4096, 4, 254, 4),),
    Timings(first_token=0.25),
)


def sent(body) -> dict:
    return json.loads(body.model_dump_json())


def test_an_answer_is_as_the_contract_says():
    assert sent(wire.answer(ANSWER)) == {
        "question": "why?",
        "collection": "default",
        "text": "because",
        "finish": "stop",
        "tokens": 3,
        "model": "reader",
        "plan": {
            "rows": 250,
            "picks": [{"page": KEY, "document": "d1", "dpi": 120, "score": 0.5, "why": "relevant", "rows": 250}],
            "ranking": [7, 9],
            "dropped": [9],
        },
        "citations": [
            {
                "document": "d1",
                "name": "notes.txt",
                "page": KEY,
                "dpi": 120,
                "image": f"/v1/pages/{KEY}.png?dpi=120",
                "heading": "Heading",
                "source_page": 2,
                "ordinal": 3,
                "width": 144.0,
                "height": 72.0,
                "read_as": "image",
                "lines": [{"index": 4, "text": "a line", "box": [1.0, 2.0, 3.0, 4.0], "why": "has the answer's words"}],
            }
        ],
        "provenance": [
            {"page": KEY, "dpi": 120, "tier": "disk", "bytes_read": 4096, "first": 4, "last": 254, "position": 4, "patch": None, "note": ""}
        ],
        "conversation": None,
        "full_prefill": None,
        "prompt_tokens": 0,
        "timings": {"retrieve": 0.0, "plan": 0.0, "load": 0.0, "place": 0.0, "prefill": 0.0, "first_token": 0.25, "rest": 0.0},
    }


def test_a_page_says_its_patch_and_a_turn_what_it_cost():
    used = PatchUse("exact", 32, "subset", ("ef@72",), ("cd@72",), 1000, "ram")
    told = sent(
        wire.answer(
            replace(ANSWER, provenance=(replace(ANSWER.provenance[0], patch=used),), conversation=Turn("i" * 8, 2, 3, 1, 0, 1, 500, 0))
        )
    )
    assert told["provenance"][0]["patch"] == {
        "kind": "exact",
        "rank": 32,
        "match": "subset",
        "given": ["ef@72"],
        "missing": ["cd@72"],
        "bytes": 1000,
        "tier": "ram",
    }
    assert told["conversation"] == {
        "id": "iiiiiiii",
        "turn": 2,
        "kept": 3,
        "admitted": 1,
        "evicted": 0,
        "recalled": 1,
        "moved_rows": 500,
        "told": 0,
    }


def test_every_event_has_its_name_and_its_data():
    name, data = wire.event(Planned(PLAN, (CITATION,)))
    assert (name, sorted(sent(data))) == ("planned", ["citations", "plan"])
    assert wire.event(Token("be"))[0] == "token"
    assert sent(wire.event(Token("be"))[1]) == {"text": "be"}
    name, data = wire.event(Done(ANSWER))
    assert (name, sent(data)) == ("done", sent(wire.answer(ANSWER)))
    name, data = wire.event(Failed("CacheMiss", "no cache"))
    assert (name, sent(data)) == ("failed", {"error": {"type": "CacheMiss", "message": "no cache", "detail": {}}})


def test_a_job_does_not_say_where_its_upload_waits():
    told = sent(wire.job(JobRow("j1", "default", "a.txt", "secret-spool.txt", "running", "compile", 2, 8, detail={"replace": False})))
    assert "secret-spool" not in json.dumps(told)
    assert sorted(told) == sorted(
        ["id", "collection", "name", "state", "stage", "done", "total", "document", "error", "detail", "created", "updated"]
    )
    assert told["created"] == "1970-01-01T00:00:00Z"


def test_a_document_lists_its_pages_in_reading_order_with_rows_by_dpi():
    row = DocumentRow("d1", "default", "notes.txt", "/secret/notes.txt", "f" * 64, 10, "text/plain", 9, 1, 1, ("a note",))
    pages = {KEY: PageRow(KEY, 144.0, 72.0, (), REF.rows)}
    told = sent(wire.document_pages(row, [CHUNK], pages))
    assert "/secret" not in json.dumps(told)
    assert told["notes"] == ["a note"]
    assert told["page_list"] == [
        {
            "page": KEY,
            "ordinal": 3,
            "heading": "Heading",
            "source_page": 2,
            "width": 144.0,
            "height": 72.0,
            "rows": {"72": 100, "120": 250},
            "kind": "text",
        }
    ]


def test_a_page_gives_each_line_its_box():
    told = sent(wire.page(PageRow(KEY, 144.0, 72.0, (("a line", 1.0, 2.0, 3.0, 4.0),), REF.rows), ["d1"]))
    assert told == {
        "key": KEY,
        "width": 144.0,
        "height": 72.0,
        "lines": [{"text": "a line", "box": [1.0, 2.0, 3.0, 4.0]}],
        "rows": {"72": 100, "120": 250},
        "documents": ["d1"],
        "kind": "text",
    }


def test_a_receipt_lists_what_went():
    told = sent(wire.receipt(Receipt("d1", "notes.txt", 1, 1, (KEY,), ()), ("images/ab/x.png",), 42))
    assert told == {
        "document": "d1",
        "name": "notes.txt",
        "chunks": 1,
        "vectors": 1,
        "removed_pages": [KEY],
        "shared_pages": [],
        "removed_files": ["images/ab/x.png"],
        "artefacts": {},
        "left": [],
        "jobs": [],
        "uploads": 0,
        "bytes": 42,
    }


def test_a_collection_names_its_model():
    assert sent(wire.collection(CollectionRow("default", {"model": "Glm4v"}, "minilm", 384), 2, 5, 99)) == {
        "name": "default",
        "documents": 2,
        "pages": 5,
        "model": "Glm4v",
        "pinned": False,
        "bytes": 99,
    }
    named = CollectionRow("default", {"model": "llama"}, "minilm", 384, "smollm2")
    assert sent(wire.collection(named, 2, 5, 99))["model"] == "smollm2"
    assert sent(wire.citation(replace(CITATION, read_as="text")))["read_as"] == "text"


def test_a_verdict_is_told_whole_and_its_absence_by_a_word_of_its_own():
    found = Verdict("degraded", ("two pages lose much",), {"dpi": 120}, {"model": "glm4v"}, "2026-01-02T03:04:05+00:00", {"torch": "2"})
    told = sent(wire.verdict(found))
    assert told == {
        "word": "degraded",
        "reasons": ["two pages lose much"],
        "figures": {"dpi": 120},
        "when": "2026-01-02T03:04:05+00:00",
        "versions": {"torch": "2"},
    }
    assert sent(wire.verdict(None)) == {"word": "unchecked", "reasons": [], "figures": {}, "when": "", "versions": {}}
