"""The page where things go otherwise: hostile files, taken names, cancelled work, many documents, a busy, a locked and an absent server."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.keys import KeyRing

ENTER = "\ue007"
HOSTILE = "<img src=x onerror=alert(1)>"
SCRIPT = f"<script>alert(2)</script>{HOSTILE}<svg onload=alert(3)>"
ALARM = "window.alerted = []; window.alert = (what) => window.alerted.push(what);"


@pytest.fixture
def shelf(page: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The page on a collection of this test's own, which is gone behind it."""
    name = f"t-{zlib.crc32(request.node.name.encode())}"
    page.open(f"?collection={name}")
    page.collection = name
    yield page
    page.api(f"/v1/collections/{name}", method="DELETE")


def names(page: Any) -> list[str]:
    return page.texts("#documents .document-name")


# -- files -----------------------------------------------------------------------------------------------------------------


def test_documents_full_of_script_are_shown_as_the_text_they_are(shelf: Any, tmp_path: Path):
    shelf.js(ALARM)
    body = f"The owner of Brobo tower is {SCRIPT}.\n"
    files = {
        f"{HOSTILE}.txt": body,
        "script.md": f"# {SCRIPT}\n\n{body}",
        "script.html": f"<html><body><p>{body}</p><p>&lt;script&gt;alert(4)&lt;/script&gt;</p></body></html>",
        "script.csv": f'name,"{HOSTILE}"\n"{HOSTILE}",2\n',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    shelf.upload(*(tmp_path / name for name in files))
    shelf.until(lambda: not shelf.all(".press-row:not(.failed):not(.ready)") and len(names(shelf)) >= 3, "the documents")
    assert f"{HOSTILE}.txt" in names(shelf)
    for at in range(len(names(shelf))):
        shelf.js("document.querySelectorAll('.document-open')[arguments[0]].click()", at)
        shelf.until(lambda: shelf.all("#gallery .card"), "its pages")
        shelf.one("#gallery .card").click()
        shelf.until(lambda: shelf.text("#viewer-text") != "", "its words")
        shelf.js("document.getElementById('viewer-words').open = true")
        shelf.js("document.getElementById('viewer').close(); document.getElementById('gallery').close()")
    shelf.ask(f"Who is the owner of Brobo tower? {HOSTILE}")
    shelf.picture("hostile-1280")
    assert shelf.text("#answer-question").endswith(HOSTILE)
    assert shelf.js("return window.alerted") == []
    assert shelf.js("return document.querySelectorAll('img[src=\"x\"], main script, dialog script, svg[onload]').length") == 0
    assert [complaint for complaint in shelf.complaints() if "Content Security Policy" in complaint] == []


def test_a_file_whose_name_is_taken_can_take_the_other_s_place(shelf: Any, tmp_path: Path):
    for folder, owner in (("a", "Ana Bel"), ("b", "Rici Freazodrou")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "tower.txt").write_text(f"The owner of Brobo tower is {owner}.\n", encoding="utf-8")
    shelf.upload(tmp_path / "a" / "tower.txt")
    shelf.until(lambda: names(shelf) == ["tower.txt"], "the first")
    (first,) = shelf.api(f"/v1/documents?collection={shelf.collection}")["documents"]
    shelf.upload(tmp_path / "b" / "tower.txt")

    def taken() -> bool:
        # Uploads of one name may count as a newer version of the same file, and replace it at once.
        shelves = shelf.api(f"/v1/documents?collection={shelf.collection}")["documents"]
        if shelf.all("button[aria-label='Replace the other tower.txt']"):
            shelf.press("button[aria-label='Replace the other tower.txt']")
        return len(shelves) == 1 and shelves[0]["id"] != first["id"]

    shelf.until(taken, "the second in its place")
    shelf.until(lambda: names(shelf) == ["tower.txt"] and not shelf.all(".press-row.failed"), "one document, and no failure")


def test_the_shelf_makes_a_short_page_no_longer_and_stays_beside_a_long_one(shelf: Any):
    shelf.look(1280, 900)
    assert shelf.js("return document.documentElement.scrollHeight <= innerHeight")
    shelf.js("document.querySelector('main').style.minHeight = '4000px'; scrollTo(0, 2000)")
    top, height = shelf.js("const box = document.querySelector('.shelf').getBoundingClientRect(); return [box.top, box.height]")
    assert (top, height) == (0, 900)


def test_a_file_that_is_not_read_says_why_and_is_not_sent_again(shelf: Any, tmp_path: Path):
    (tmp_path / "thing.exe").write_bytes(b"MZ\x90\x00" * 16)
    shelf.upload(tmp_path / "thing.exe")
    row = shelf.until(lambda: shelf.all(".press-row.failed"), "the refusal")[0]
    why = row.find_element("css selector", ".press-status").text
    assert why != ""
    assert "thing.exe" not in why, "its name stands above"
    assert not shelf.all("button[aria-label='Try thing.exe again']")
    shelf.picture("refused-1280")
    shelf.press("button[aria-label='Dismiss thing.exe']")
    shelf.until(lambda: not shelf.all(".press-row"), "it to be put away")
    shelf.reload()
    assert not shelf.all(".press-row"), "what was put away stays away"


def test_a_zip_says_of_every_file_in_it_what_became_of_it(shelf: Any, tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "box.zip", "w") as archive:
        archive.writestr("letters/one.txt", "The owner of Brobo tower is Ana Bel.\n")
        archive.writestr("letters/two.txt", "")
    shelf.upload(tmp_path / "box.zip")
    shelf.until(lambda: shelf.all(".press-row.partly"), "the zip to be done, in part")
    said = dict(zip(shelf.texts(".member-name"), shelf.texts(".member-state"), strict=True))
    assert said["letters/one.txt"] == "ready"
    assert said["letters/two.txt"].startswith("failed: ")
    shelf.until(lambda: len(names(shelf)) == 1, "the one document on the shelf")
    shelf.js("document.querySelector('.members').open = true")
    shelf.picture("zip-1280")


def test_cancel_stops_a_file_for_good(shelf: Any, tmp_path: Path):
    # Text that no other page has: nothing of it is compiled yet.
    text = "\n\n".join(f"Entry {n}: the gate of mill {n} is {n * 7919 % 4096}." for n in range(1500))
    (tmp_path / "ledger.txt").write_text(text, encoding="utf-8")
    shelf.upload(tmp_path / "ledger.txt")
    shelf.until(lambda: "compiling" in shelf.text(".press-status") or "rendering" in shelf.text(".press-status"), "its pages to be at work")
    shelf.picture("compiling-1280")
    shelf.press("button[aria-label='Cancel ledger.txt']")
    shelf.until(lambda: not shelf.all(".press-row"), "the row to go")
    (job,) = shelf.api(f"/v1/jobs?collection={shelf.collection}")["jobs"]
    assert job["state"] == "cancelled"
    assert names(shelf) == []


def test_files_and_folders_can_be_dropped_anywhere_and_hidden_ones_are_left_out(page: Any):
    page.js(
        "const files = new DataTransfer(); files.items.add(new File(['x'], '.hidden'));"
        "for (const type of ['dragover', 'drop'])"
        " document.dispatchEvent(new DragEvent(type, {dataTransfer: files, bubbles: true, cancelable: true}));"
    )
    page.until(lambda: "no file" in page.text("#announcer"), "the word that a hidden file is no document")
    assert not page.all(".press-row")


# -- shelves ---------------------------------------------------------------------------------------------------------------


def test_an_empty_collection_says_what_to_do_and_points_to_one_that_is_not(page: Any):
    page.open("?collection=nothing-here-yet")
    page.until(lambda: page.all("#elsewhere"), "the name of a shelf that has documents")
    assert "no collection “nothing-here-yet” yet: it begins with its first document" in page.text("#shelf-state")
    assert not page.all(".example")
    page.picture("empty-1280")
    page.type("Who is there?")
    page.until(lambda: page.all("#answer-note"), "the word that there is nothing to read")
    assert "nothing-here-yet” has no documents yet" in page.text("#answer-note")
    page.one("#elsewhere button").click()
    page.until(lambda: page.all(".document"), "the other shelf")
    assert page.js("return document.getElementById('collection').value") == "default"


@pytest.mark.slow
def test_two_hundred_documents_come_piece_by_piece_and_are_found_by_name(shelf: Any, quire: Any, tmp_path: Path):
    # The same two pages under many names: a page is compiled once, so this many are quickly there.
    for n in range(100):
        for side in "ab":
            (tmp_path / f"box-{n:03}-side-{side}-of-a-name-that-does-not-end-soon.txt").write_text(
                f"The owner of Brobo tower is {'Ana' if side == 'a' else 'Ida'} Bel.\n", encoding="utf-8"
            )
    quire.take_in(tuple(sorted(tmp_path.iterdir())), shelf.collection)
    shelf.reload()
    assert shelf.text("#shelf-count") == "200, with 2 pages"
    first = len(names(shelf))
    assert first < 200
    shelf.press("#shelf-more")
    shelf.until(lambda: len(names(shelf)) > first, "more of them")
    shelf.one("#filter").send_keys("box-077")
    shelf.until(lambda: len(names(shelf)) == 2, "the two that are meant")
    shelf.picture("many-1280")
    shelf.look(360)
    assert shelf.fits()


def test_a_collection_is_pinned_and_stays_pinned(page: Any):
    page.one("#collections-open").click()
    page.until(lambda: page.all("#collections .pin"), "the list")
    page.press("button[aria-label='Pin default']")
    page.until(lambda: page.api("/v1/collections/default")["pinned"], "the server to know")
    # Asked in one step: between two the list may be drawn anew.
    pressed = "return document.querySelector(\"button[aria-label='Pin default']\")?.getAttribute('aria-pressed')"
    page.until(lambda: page.js(pressed) == "true", "the pin to be in")
    page.picture("collections-1280")
    page.press("button[aria-label='Pin default']")
    page.until(lambda: not page.api("/v1/collections/default")["pinned"], "the pin to be out")


def test_the_room_the_stock_takes_is_told_and_adds_up(page: Any):
    held = page.api("/v1/stats")["bytes"]
    widths = "return [...document.querySelectorAll('#storage-bar .stock')].map((node) => node.getBoundingClientRect().width)"
    shares = page.until(lambda: page.js(widths), "the bar")
    bar = page.js("return document.getElementById('storage-bar').getBoundingClientRect().width")
    assert held["total"] > 0
    assert sum(shares) == pytest.approx(bar, abs=2)
    page.press("#storage summary")
    assert "caches at 72 DPI" in page.text("#storage-parts")


# -- the server ------------------------------------------------------------------------------------------------------------


def test_stop_ends_an_answer_and_the_next_question_is_answered(page: Any, quire: Any):
    example = page.until(lambda: page.texts(".example"), "a question for example")[0]
    with quire.house.lane.turn():
        page.type(example)
        page.until(lambda: page.all("#stop-button"), "the answer to begin")
        page.keys("\ue00c")
        page.until(lambda: page.all("#ask-button"), "the answer to be stopped")
    assert page.text("#answer-note") == "Stopped."
    page.ask(example)
    assert page.text("#answer-text") != ""


def test_a_busy_reader_is_waited_for_and_asked_again(page: Any, quire: Any, monkeypatch: pytest.MonkeyPatch):
    example = page.until(lambda: page.texts(".example"), "a question for example")[0]
    monkeypatch.setattr(quire.house.lane, "waiting", 0)
    with quire.house.lane.turn():
        page.type(example)
        page.until(lambda: "Asked again in" in page.text("#answer-state"), "the countdown")
        page.picture("busy-1280")
    page.until(lambda: page.text("#answer-facts"), "the answer, without another key pressed")
    assert page.text("#answer-text") != ""


def test_a_question_under_way_is_asked_again_when_the_page_is_loaded_anew(page: Any, quire: Any):
    example = page.until(lambda: page.texts(".example"), "a question for example")[0]
    with quire.house.lane.turn():
        page.type(example)
        page.until(lambda: page.all("#stop-button"), "the answer to begin")
        page.reload()
        page.until(lambda: page.text("#answer-question") == example, "the question to be asked again")
    page.until(lambda: page.text("#answer-facts"), "its answer")


@pytest.fixture
def locked(new_quire: Callable[..., Any], records: tuple[Path, ...]) -> Any:
    """A server of its own for what cannot be undone on a shared one: it is stopped, gets keys, and rations questions."""
    server = new_quire(ask_rate=2)
    server.take_in(records[:1], "default")
    return server


def test_an_absent_server_is_waited_for_and_a_locked_one_opens_by_its_key(visit: Callable[[str], Any], locked: Any, tmp_path: Path):
    page = visit(locked.url)
    page.look(1280)
    page.open()
    example = page.until(lambda: page.texts(".example"), "a question for example")[0]

    # It goes; a question is refused with a reason, and a file waits for its return.
    locked.stop()
    page.until(lambda: page.all("#weather"), "the banner")
    (tmp_path / "late.txt").write_text("The owner of Brobo tower is Ana Bel.\n", encoding="utf-8")
    page.upload(tmp_path / "late.txt")
    page.until(lambda: "waiting for the server" in page.text(".press-status"), "the file to wait")
    page.type(example)
    page.until(lambda: "does not answer" in page.text("#answer-note"), "what became of the question")
    page.picture("away-1280")

    # It is back: the banner goes by itself, and the file is taken in.
    locked.start()
    page.until(lambda: not page.all("#weather"), "the banner to go")
    page.until(lambda: "late.txt" in names(page), "the file that had waited")

    # A key is made: from now on the door is locked. A wrong key is said to be wrong; the right one opens, for images too.
    _, token = KeyRing(locked.home).create("page", ["read", "ask", "write"])
    page.open(wait=False)
    page.until(lambda: page.all("#locked-key"), "the question for a key")
    page.picture("locked-1280")
    page.one("#locked-key").send_keys("qk_not-a-key", ENTER)
    page.until(lambda: page.text("#locked-trouble"), "the word that it is wrong")
    page.one("#locked-key").send_keys(token, ENTER)
    page.opened()
    page.ask(example)
    assert page.js("return document.querySelector('#pages img').naturalWidth") > 0
    assert token not in page.js("return document.documentElement.outerHTML + JSON.stringify({...localStorage})")

    # The tab keeps the key over a reload. Questions are rationed: the third within the minute is waited for, and can be stopped.
    page.reload()
    page.ask(example)
    page.type(example)
    page.until(lambda: "too fast" in page.text("#answer-state"), "the word to go slower")
    page.picture("rationed-1280")
    page.keys("\ue00c")
    page.until(lambda: page.text("#answer-note") == "Stopped.", "it to be stopped")

    # The only collection goes: its shelf is seen to be empty, and no answer from it stays in sight.
    page.js("document.activeElement.blur()")
    page.keys("c")
    page.until(lambda: page.all("button[aria-label='Delete the collection default']"), "the collections")
    page.press("button[aria-label='Delete the collection default']")
    page.press(".collection-row .danger")
    page.until(lambda: "empty" in page.text("#shelf-state") and not page.all("#documents li"), "the empty shelf")
    assert not page.all("#answer")
