"""What a person reads at a terminal: whole, aligned, and free of what a document could do to the screen."""

from dataclasses import replace

from app import printed
from ingest.remove import Removal
from ingest.types import Done, Failure, Report
from retrieval.types import DocumentRow, Receipt


def test_an_escape_sequence_in_a_document_does_not_reach_the_terminal():
    hostile = "a\x1b[2Jb\x07c\u202ed\x9b1m"
    assert printed.plain(hostile) == "a\ufffd[2Jb\ufffdc\ufffdd\ufffd1m"
    assert printed.plain("tabs\tand\nlines, ünïcode, 漢字") == "tabs\tand\nlines, ünïcode, 漢字"
    row = DocumentRow("d1", "default", "x\x1b[31m\n.txt", "", "", 5, "text/plain", 5)
    assert "\x1b" not in printed.documents([row])


def test_columns_are_as_wide_as_their_widest_cell_and_numbers_stand_to_the_right():
    assert printed.table(("name", "n"), [("a", "1"), ("longer", "1,200")]) == "name        n\na           1\nlonger  1,200"
    assert printed.table(("name", "n"), []) == "name  n"


def test_a_report_has_a_row_a_file_the_reasons_and_the_count():
    run = Report(
        "default",
        (Done("a.txt", "d1", 2, 3, 4, 2, 0.5, ("a note",)),),
        ("b.txt",),
        (Failure("c.pdf", "PasswordNeeded", "c.pdf: it is locked", "page 1"), Failure("d.txt", "FileNotFound", "there is no such file")),
        seconds=1.5,
    )
    text = printed.report(run)
    assert "done     a.txt       2      3         4       2" in text
    assert "skipped  b.txt" in text
    assert "failed  c.pdf: it is locked (page 1, PasswordNeeded)" in text
    assert "failed  d.txt: there is no such file (FileNotFound)" in text
    assert "note    a.txt: a note" in text
    assert text.endswith("1 done, 1 skipped (already there), 2 failed in 1.5 s; collection default.")


def test_a_newline_in_a_name_begins_no_line_of_its_own():
    failed = (Failure("a\ndone  b.txt", "BadName", "the name 'a\\ndone  b.txt' has control characters in it"),)
    text = printed.report(Report("default", (), (), failed))
    assert not [line for line in text.splitlines() if line.startswith("done")]


def test_a_stopped_run_says_how_to_go_on():
    assert "run the same command again to go on" in printed.report(Report("default", cancelled=True))


def test_an_empty_run_says_so():
    assert "There was no file to take in." in printed.report(Report("default"))


def test_a_receipt_lists_every_file():
    text = printed.removal(Removal(Receipt("d1", "a.txt", 2, 2, ("k1",), ("k2",)), ("images/k1.png", "store/k1.safetensors"), 2048))
    assert "deleted a.txt (d1)" in text
    assert "2 files, 2.0 KiB" in text
    assert "    images/k1.png\n    store/k1.safetensors" in text
    assert "2 chunks, 2 vectors, 1 page\n" in text
    assert "kept, for another document has them too: 1 page" in text


def test_sizes_have_the_unit_that_a_person_would_use():
    assert [printed.size(n) for n in (0, 1023, 1024, 5 * 1024**2, 3 * 1024**4)] == [
        "0 bytes",
        "1,023 bytes",
        "1.0 KiB",
        "5.0 MiB",
        "3072.0 GiB",
    ]


def test_files_of_kinds_that_are_not_read_are_named_and_counted_but_did_not_fail():
    text = printed.report(Report("default", passed=("data.json",), seconds=0.5))
    assert "passed  data.json" in text
    assert "0 failed, 1 passed over (kinds that are not read)" in text


def test_an_answer_whose_words_stand_on_no_page_is_doubted(house):
    from app.ask import answer
    from app.types import Done as Answered

    example = house.question("What is Brobo tower's staff?")
    *_, last = answer(example, house)
    assert isinstance(last, Answered)
    held = any(line.why == "has the answer's words" for citation in last.answer.citations for line in citation.lines)
    assert (printed.doubt(last.answer) == "") is held
    lost = replace(last.answer, citations=tuple(replace(citation, lines=()) for citation in last.answer.citations))
    assert "do not stand on the pages" in printed.doubt(lost)


def test_a_column_says_the_patch_where_some_page_has_one_and_a_line_what_a_turn_cost(house):
    from app.ask import answer
    from app.types import Done as Answered
    from app.types import PatchUse, Turn

    *_, last = answer(house.question("What is Brobo tower's staff?", top_k=2), house)
    assert isinstance(last, Answered)
    bare = replace(last.answer, provenance=tuple(replace(origin, patch=None) for origin in last.answer.provenance))
    assert "patch" not in printed.pages(bare).splitlines()[0]
    used = PatchUse("exact", 32, "subset", ("ef@72",), ("cd@72", "ab@72"), 1000, "ram")
    patched = replace(bare, provenance=(bare.provenance[0], replace(bare.provenance[1], patch=used)))
    head, first, second = printed.pages(patched).splitlines()
    assert head.endswith("patch")
    assert not first.endswith("r32")
    assert second.endswith("subset r32, lacks 2 pages")
    assert "turn" not in printed.sources(bare, show_lines=False)
    told = printed.sources(replace(bare, conversation=Turn("i" * 8, 3, 1, 2, 3, 4, 1, 0)), show_lines=False)
    assert "turn 3: 1 kept, 2 admitted, 4 recalled, 3 evicted; 1 row moved" in told
    assert "iiiiiiii" not in told


def test_a_page_is_read_at_a_dpi_or_as_text(house):
    from app.ask import answer
    from app.types import Done as Answered

    *_, last = answer(house.question("What is Brobo tower's staff?", top_k=1), house)
    assert isinstance(last, Answered)
    assert "at 120 DPI" in printed.pages(last.answer).splitlines()[1]
    read = replace(last.answer, citations=tuple(replace(one, read_as="text") for one in last.answer.citations))
    assert "as text" in printed.pages(read)
    assert "DPI" not in printed.pages(read)


def test_a_closing_receipt_says_that_its_uploads_brought_no_document() -> None:
    text = printed.removal(Removal(Receipt("", "default", 0, 0, (), (), ("j1", "j2"), ("j1.txt",)), ("spool/j1.txt",), 11))
    assert text.splitlines()[0] == "deleted 2 uploads of no document"
    assert "spool/j1.txt" in text
