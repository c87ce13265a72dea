"""The page in a headless Chromium against a running Quire: what a person does, and what they then see. Screenshots go to artefacts/web/."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

ESCAPE, ENTER, LEFT, RIGHT = "\ue00c", "\ue007", "\ue012", "\ue014"
HOSTILE = "<img src=x onerror=alert(1)>.txt"
MARKS = """
const stage = document.getElementById('viewer-stage');
const image = stage.querySelector('img'), at = image.getBoundingClientRect();
return [...stage.querySelectorAll('.mark')].map((mark) => {
  const box = mark.getBoundingClientRect();
  const scale = image.naturalWidth / at.width, tall = image.naturalHeight / at.height;
  return {line: Number(mark.dataset.line), pixels: [(box.left - at.left) * scale, (box.top - at.top) * tall,
          (box.right - at.left) * scale, (box.bottom - at.top) * tall], scale};
});
"""


@pytest.fixture(scope="module")
def told(visitor: Any) -> dict[str, Any]:
    """The server's answer to the page's own first example, asked past the page. Decoding is greedy: the page must show the same."""
    visitor.open()
    example = visitor.until(lambda: visitor.all(".example"), "an example question")[0].text
    return dict(visitor.api("/v1/ask", {"question": example, "collection": "default"}))


@pytest.fixture(scope="module")
def question(told: dict[str, Any]) -> str:
    return str(told["question"])


def test_the_page_opens_with_the_shelf_and_what_the_reader_can_answer(page: Any):
    documents = page.api("/v1/documents?collection=default")["documents"]
    assert page.texts(".document-name") == [one["name"] for one in documents]
    assert page.text("#says") == page.api("/v1/model")["says"]
    for node, one in zip(page.all(".document-facts"), documents, strict=True):
        assert node.text.startswith(f"{one['pages']:,} page")
    page.picture("start-1280")
    assert page.complaints() == []


def test_the_reader_s_card_says_in_words_what_the_doctor_found(page: Any):
    page.one("#about-open").click()
    said = page.text("#about-body")
    assert page.text("#about-body .verdict").startswith("Trusted: ")
    for arm, found in page.api("/v1/model")["verdict"]["figures"]["agreement"].items():
        assert f"{arm[0].upper()}{arm[1:]}{found['same']} of {found['n']}" in said
    page.picture("about-1280")
    assert page.complaints() == []


def test_an_answer_comes_with_the_pages_it_was_read_from_in_context_order(page: Any, question: str, told: dict[str, Any]):
    page.ask(question)
    assert page.text("#answer-text") == told["text"].strip()
    cards = page.js(
        "return [...document.querySelectorAll('#pages .card')].map((card) => ({page: card.querySelector('.sheet').dataset.page,"
        " badge: card.querySelector('.dpi').textContent, why: card.querySelector('.why').textContent,"
        " score: card.querySelector('.score').textContent, name: card.querySelector('.card-name').textContent}))"
    )
    picks = told["plan"]["picks"]
    assert [card["page"] for card in cards] == [one["page"] for one in told["citations"]]
    assert [card["badge"] for card in cards] == [f"{one['dpi']} DPI" for one in told["citations"]]
    assert [card["name"] for card in cards] == [one["name"] for one in told["citations"]]
    assert [card["why"] for card in cards] == [pick["why"] for pick in picks]
    assert [card["score"] for card in cards] == [f"{pick['score']:.2f}" for pick in picks]
    page.picture("answer-1280")
    assert page.complaints() == []


def test_the_strip_tells_every_page_s_rows_and_the_parts_of_the_first_word_s_time(page: Any, question: str, told: dict[str, Any]):
    page.ask(question)
    rows = page.js("return [...document.querySelectorAll('.leaf-rows')].map((node) => Number(node.textContent))")
    assert rows == [pick["rows"] for pick in told["plan"]["picks"]]
    assert f"{told['plan']['rows']:,} rows" in page.text("#made-count")
    parts = page.js("return [...document.querySelectorAll('.time-parts dt')].map((node) => node.textContent.trim())")
    assert parts == ["retrieve", "plan", "load", "place", "prefill", "first token"]
    tiers = page.js("return [...document.querySelectorAll('.leaf')].map((node) => node.className.split(' ')[1])")
    assert set(tiers) <= {"ram", "disk", "compiled"}
    assert len(tiers) == len(told["provenance"])


def test_a_marked_line_lies_on_its_very_pixels_at_both_resolutions_and_any_width(page: Any, question: str, told: dict[str, Any]):
    cited = [(at, one) for at, one in enumerate(told["citations"]) if one["lines"]]
    if not cited:
        pytest.skip("this answer marks no line")
    page.ask(question)
    at, citation = cited[0]
    page.all("#pages .card")[at].click()
    page.until(lambda: page.all("#viewer .sheet:not(.waiting)"), "the page image")
    assert f"dpi={citation['dpi']}" in page.js("return document.querySelector('#viewer-stage img').src")
    page.picture("viewer-1280")
    for width in (1280, 360):
        page.look(width)
        for dpi in page.api("/v1/model")["dpis"]:
            page.js("document.querySelector(`#viewer-dpis input[value='${arguments[0]}']`).click()", str(dpi))
            page.until(lambda: page.js("return !!document.querySelector('#viewer-stage .mark')"), "the marks")
            marks = page.js(MARKS)
            assert [mark["line"] for mark in marks] == [line["index"] for line in citation["lines"]]
            for mark, line in zip(marks, citation["lines"], strict=True):
                wanted = [point * dpi / 72 for point in line["box"]]
                # Half a screen pixel of the browser's own rounding, in image pixels.
                assert mark["pixels"] == pytest.approx(wanted, abs=0.5 * mark["scale"] + 0.1)
    page.picture("viewer-360")
    assert page.texts("#viewer-lines q") == [line["text"].strip() for line in citation["lines"]]


def test_the_viewer_turns_by_arrow_keys_and_escape_gives_the_focus_back(page: Any, question: str):
    page.ask(question)
    cards = page.all("#pages .card")
    cards[0].click()
    page.until(lambda: page.all("#viewer"), "the viewer")
    assert page.text("#viewer-folio") == f"1 of {len(cards)}"
    if len(cards) > 1:
        page.keys(RIGHT)
        assert page.text("#viewer-folio") == f"2 of {len(cards)}"
        page.keys(LEFT)
    assert page.text("#viewer-folio") == f"1 of {len(cards)}"
    page.keys(ESCAPE)
    assert not page.all("#viewer")
    assert page.js("return document.activeElement.classList.contains('card')")


def test_a_document_opens_with_every_page_at_every_resolution_side_by_side(page: Any):
    first = page.api("/v1/documents?collection=default")["documents"][0]
    whole = page.api(f"/v1/documents/{first['id']}")
    page.one(".document-open").click()
    page.until(lambda: page.all("#gallery .spread"), "the pages")
    shown = page.js(
        "return [...document.querySelectorAll('#gallery .sheet')].slice(0, 8).map((node) => [node.dataset.page, node.dataset.dpi])"
    )
    wanted = [[one["page"], dpi] for one in whole["page_list"] for dpi in sorted(one["rows"], key=int)]
    assert shown == wanted[: len(shown)]
    page.until(lambda: page.js("return document.querySelector('#gallery img').naturalWidth > 0"), "the first image")
    page.picture("gallery-1280")


def test_a_name_that_is_markup_shows_as_the_text_it_is(page: Any, tmp_path: Path):
    (tmp_path / HOSTILE).write_text("The owner of Brobo tower is Ana Bel.\n", encoding="utf-8")
    page.js("window.alerted = false; window.alert = () => { window.alerted = true; };")
    page.driver.find_element("id", "files").send_keys(str(tmp_path / HOSTILE))

    def shown() -> bool:
        # On the shelf, or turned away at the door: its name is shown in both.
        names = "return [...document.querySelectorAll('.document-name, .press-row.failed .press-name')].map((n) => n.textContent)"
        return HOSTILE in page.js(names)

    page.until(shown, "the document, or its refusal")
    assert page.js("return document.querySelectorAll('img[src=\"x\"]').length") == 0
    assert page.js("return window.alerted") is False
    page.picture("hostile-name")
    for one in page.api("/v1/documents?collection=default")["documents"]:
        if one["name"] == HOSTILE:
            page.later("await fetch('documents/' + encodeURIComponent(given[0]), {method: 'DELETE'})", one["id"])
    assert page.complaints() == []


def test_a_file_goes_through_the_press_onto_the_shelf_and_leaves_a_receipt_when_removed(page: Any, tmp_path: Path):
    name = "press-trial.txt"
    (tmp_path / name).write_text("The keeper of Ostrel mill is Ana Bel.\nOstrel mill has gate 41.\n", encoding="utf-8")
    page.js(
        "window.said = new Set(); new MutationObserver(() => { for (const node of document.querySelectorAll('.press-status'))"
        " window.said.add(node.textContent); })"
        ".observe(document.getElementById('press-list'), {subtree: true, childList: true, characterData: true});"
    )
    page.driver.find_element("id", "files").send_keys(str(tmp_path / name))
    page.until(lambda: name in page.texts(".document-name"), "the document on the shelf")
    assert page.js("return window.said.size") > 0
    page.until(lambda: not page.all(".press-row:not(.failed)"), "the press to be empty")
    page.one(f"button[aria-label='Remove {name}']").click()
    assert page.js("return document.activeElement.textContent") == "Keep"
    page.one(".document .danger").click()
    page.until(lambda: page.all(".receipt"), "the receipt")
    receipt = page.text(".receipt")
    assert name in receipt
    assert "1 passage, 1 vector, 1 page" in receipt
    # A page leaves its images and its caches behind; a receipt without them has left them on the disk.
    assert " 0 files" not in receipt
    assert "; 0 bytes freed" not in receipt
    page.until(lambda: name not in page.texts(".document-name"), "the document to be gone")
    page.picture("receipt")
    assert page.complaints() == []


def test_a_file_that_is_not_read_says_why_and_can_be_dismissed(page: Any, tmp_path: Path):
    (tmp_path / "thing.exe").write_bytes(b"MZ\x90\x00" * 16)
    page.driver.find_element("id", "files").send_keys(str(tmp_path / "thing.exe"))
    row = page.until(lambda: page.all(".press-row.failed"), "the refusal")[0]
    assert row.find_element("css selector", ".press-status").text != ""
    # Sent again, it would be turned away again.
    assert not row.find_element("css selector", "button[aria-label='Try thing.exe again']").is_displayed()
    page.picture("refused")
    row.find_element("css selector", "button[aria-label='Dismiss thing.exe']").click()
    assert not page.all(".press-row.failed")


def test_files_and_folders_can_be_dropped_anywhere(page: Any):
    page.js(
        "const files = new DataTransfer(); files.items.add(new File(['x'], '.hidden'));"
        "for (const type of ['dragover', 'drop'])"
        " document.dispatchEvent(new DragEvent(type, {dataTransfer: files, bubbles: true, cancelable: true}));"
    )
    page.until(lambda: "no file" in page.text("#announcer"), "the word that a hidden file is no document")
    assert not page.all(".press-row")


def test_stop_ends_an_answer_and_the_next_question_is_answered(page: Any, question: str):
    field = page.one("#question")
    field.send_keys(question, ENTER)
    page.until(lambda: page.all("#stop-button") or page.all("#answer-facts"), "the answer to begin")
    page.keys(ESCAPE)
    page.until(lambda: page.all("#ask-button"), "the answer to be stopped")
    # A short answer may have been whole before the key came.
    assert page.all("#answer-facts") or page.text("#answer-note").startswith("Stopped")
    page.ask(question)
    assert page.all("#answer-facts")


def test_an_empty_collection_says_what_to_do_and_offers_no_examples(page: Any):
    page.open("?collection=nothing-here-yet")
    page.until(lambda: "empty" in page.text("#shelf-state"), "the empty shelf")
    assert not page.all(".example")
    page.until(lambda: page.all("#elsewhere"), "the name of a shelf that has documents")
    held = len(page.api("/v1/documents?collection=default")["documents"])
    assert page.text("#elsewhere") == f"default has {held} documents: open it."
    assert page.js("return document.getElementById('collection').value") == "nothing-here-yet"
    page.picture("empty-1280")
    page.one("#question").send_keys("Who is there?", ENTER)
    page.until(lambda: page.all("#answer-note"), "the word that there is nothing to read")
    assert "nothing-here-yet” has no documents yet" in page.text("#answer-note")
    page.one("#elsewhere button").click()
    page.until(lambda: page.all(".document"), "the other shelf")
    assert page.js("return document.getElementById('collection').value") == "default"
    assert not page.all("#elsewhere")


def test_a_server_that_is_away_is_said_and_its_return_is_noticed(page: Any):
    page.driver.execute_cdp_cmd("Network.enable", {})
    gone = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    page.driver.execute_cdp_cmd("Network.emulateNetworkConditions", gone)
    page.one("#question").send_keys("Anybody there?", ENTER)
    page.until(lambda: page.all("#weather"), "the banner")
    assert "does not answer" in page.text("#weather-text")
    page.picture("away-1280")
    page.driver.execute_cdp_cmd("Network.emulateNetworkConditions", {**gone, "offline": False})
    page.one("#weather-retry").click()
    page.until(lambda: not page.all("#weather"), "the banner to go")


def test_no_width_makes_the_page_scroll_sideways(page: Any, question: str):
    page.ask(question)
    for width, dark in [(360, False), (360, True), (1280, True), (1800, False), (1800, True)]:
        page.look(width, dark=dark)
        assert page.js("return document.documentElement.scrollWidth <= window.innerWidth"), width
        page.picture(f"answer-{width}{'-dark' if dark else ''}")


def test_everything_that_can_have_the_focus_has_a_name(page: Any, question: str):
    page.ask(question)
    page.driver.execute_cdp_cmd("Accessibility.enable", {})
    tree = page.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    page.driver.execute_cdp_cmd("Accessibility.disable", {})

    def focusable(node: dict[str, Any]) -> bool:
        return any(item["name"] == "focusable" and item["value"].get("value") for item in node.get("properties", []))

    nameless = [
        node["role"]["value"]
        for node in tree
        if not node.get("ignored") and focusable(node) and node["role"]["value"] != "RootWebArea" and not node.get("name", {}).get("value")
    ]
    assert nameless == []


def test_the_page_asks_no_other_server_for_anything(page: Any, question: str):
    page.driver.get_log("performance")
    page.open()
    page.ask(question)
    sent = [json.loads(entry["message"])["message"] for entry in page.driver.get_log("performance")]
    addresses = [one["params"]["request"]["url"] for one in sent if one["method"] == "Network.requestWillBeSent"]
    assert addresses
    assert [one for one in addresses if not one.startswith((page.base + "/", "about:", "chrome:"))] == []


def test_events_are_read_alike_however_the_stream_is_cut(page: Any):
    stream = ': beat\n\nevent: token\ndata: {"text": "é"}\n\nevent: two\r\ndata: a\r\ndata: b\r\n\r\ndata:plain\n\ndata: without an end'
    read = """
      const {events} = await import(new URL('static/api.js', location.href));
      const bytes = new TextEncoder().encode(given[0]), all = [];
      for (const step of [1, 2, 3, 7, 1000]) {
        const body = new ReadableStream({start(c) {
          for (let at = 0; at < bytes.length; at += step) c.enqueue(bytes.slice(at, at + step)); c.close(); }});
        const found = [];
        for await (const event of events(body)) found.push([event.name, event.data]);
        all.push(found);
      }
      return all;"""
    for found in page.later(read, stream):
        assert found == [["token", '{"text": "é"}'], ["two", "a\nb"], ["message", "plain"]]


def test_an_answer_that_no_marked_line_holds_says_so_beside_it(page: Any, question: str, told: dict[str, Any]):
    say = """
      const real = window.fetch, answer = given[0];
      window.fetch = (path, options) => path !== 'ask' ? real(path, options) : Promise.resolve(new Response(
        `event: done\\ndata: ${JSON.stringify(answer)}\\n\\n`, {headers: {'Content-Type': 'text/event-stream'}}));
    """
    held = {**told, "text": "Ana Bel", "citations": [{**one, "lines": []} for one in told["citations"]]}
    line = {"index": 0, "text": "x", "box": [0, 0, 1, 1], "why": "holds the answer"}
    shown = {**held, "citations": [{**held["citations"][0], "lines": [line]}, *held["citations"][1:]]}
    for answer, words in [
        (held, "These words do not stand on the pages below. Check before you rely on them."),
        ({**held, "text": " not stated"}, "The reader found no answer on these pages."),
        (shown, ""),
    ]:
        page.open()
        page.later(say, answer)
        page.ask(question)
        assert page.text("#answer-check") == words
        assert bool(page.all("#answer-check")) == bool(words)
        assert page.js("return !!document.getElementById('answer-check').closest('[aria-live]')")


def test_a_page_that_was_patched_and_a_turn_of_a_conversation_say_so(page: Any, question: str, told: dict[str, Any]):
    say = """
      const real = window.fetch, answer = given[0];
      window.fetch = (path, options) => path !== 'ask' ? real(path, options) : Promise.resolve(new Response(
        `event: done\\ndata: ${JSON.stringify(answer)}\\n\\n`, {headers: {'Content-Type': 'text/event-stream'}}));
    """
    used = {"kind": "exact", "rank": 32, "match": "subset", "given": ["ab@72"], "missing": ["cd@72"], "bytes": 4096, "tier": "ram"}
    turn = {"id": "not-to-be-shown", "turn": 2, "kept": 1, "admitted": 0, "evicted": 0, "recalled": 0, "moved_rows": 0, "told": 0}
    first = {**told["provenance"][0], "patch": used, "tier": "window"}
    page.open()
    page.later(say, {**told, "provenance": [first, *told["provenance"][1:]], "conversation": turn})
    page.ask(question)
    assert "turn 2, 1 page kept" in page.text("#answer-facts")
    assert "not-to-be-shown" not in page.js("return document.body.innerHTML")
    leaf = page.js("return document.querySelector('.leaf').title").replace("\xa0", " ")
    assert "it stood there already" in leaf
    assert "patched at rank 32: formed for some of the pages before it, without 1 page of them; 4.0 KiB" in leaf
    assert "subset r32" in page.js("return document.querySelector('.numbers tbody tr').textContent")
    assert page.js("return document.querySelectorAll('.leaf.patched').length") == 1
    assert page.complaints() == []
