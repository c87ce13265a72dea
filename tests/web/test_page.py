"""The page in a headless Chromium against a running Quire: what a person does, and what they then see. Screenshots go to artefacts/web/."""

from __future__ import annotations

import json
from typing import Any

import pytest

ESCAPE, LEFT, RIGHT, DOWN = "\ue00c", "\ue012", "\ue014", "\ue015"
# Puts an answer that the embedded reader does not give into the page's own hands: as if the server had streamed it.
SAY = """
  const real = window.fetch, answer = given[0];
  window.fetch = (path, options) => path !== 'v1/ask' ? real(path, options) : Promise.resolve(new Response(
    `event: done\\ndata: ${JSON.stringify(answer)}\\n\\n`, {headers: {'Content-Type': 'text/event-stream'}}));
"""
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
    assert page.texts("#documents .document-name") == [one["name"] for one in documents]
    assert page.text("#says") == page.api("/v1/model")["says"]
    for node, one in zip(page.all(".document-facts"), documents, strict=True):
        assert node.text.startswith(f"{one['pages']:,} page")
    page.picture("start-1280")
    assert page.complaints() == []


def test_the_reader_s_card_says_in_words_what_the_doctor_found_and_what_the_house_has_done(page: Any):
    page.one("#about-open").click()
    said = page.until(lambda: "Running for" in page.text("#about-body") and page.text("#about-body"), "the card with its figures")
    assert page.text("#about-body .verdict").startswith("Trusted: ")
    model, stats = page.api("/v1/model"), page.api("/v1/stats")
    for arm, found in model["verdict"]["figures"]["agreement"].items():
        assert f"{arm[0].upper()}{arm[1:]}{found['same']} of {found['n']}" in said
    assert all(value in said for value in model["identity"].values())
    assert f"{stats['documents']} documents, {stats['pages']} pages" in said
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


def test_the_strip_shows_the_context_row_by_row_and_the_first_word_part_by_part(page: Any, question: str, told: dict[str, Any]):
    page.ask(question)
    rows = page.js("return [...document.querySelectorAll('.leaf-rows')].map((node) => Number(node.textContent))")
    assert rows == [pick["rows"] for pick in told["plan"]["picks"]]
    assert f"{told['plan']['rows']:,} rows" in page.text("#made-count")
    assert page.texts(".time-parts dt")[:6] == ["retrieve", "plan", "load", "place", "prefill", "first token"]
    tiers = page.js("return [...document.querySelectorAll('.leaf')].map((node) => node.className.split(' ')[1])")
    assert set(tiers) <= {"ram", "disk", "compiled"}
    assert len(tiers) == len(told["provenance"])


def test_a_full_prefill_stands_beside_the_answer_s_own_time_on_one_scale(page: Any, question: str, told: dict[str, Any]):
    timings = {**dict.fromkeys(told["timings"], 0.0), "retrieve": 0.02, "load": 0.01, "place": 0.01, "prefill": 0.06, "first_token": 0.1}
    full = {"seconds": 0.92, "basis": "2,000 rows a second, measured on one page"}
    page.later(SAY, {**told, "timings": timings, "full_prefill": full})
    page.ask(question)
    ours, theirs = page.js("return [...document.querySelectorAll('.time-bar')].map((node) => node.getBoundingClientRect().width)")
    # Retrieval and the question are needed either way: 0.02 + 0.92 + 0.06 against 0.1 seconds.
    assert ours / theirs == pytest.approx(0.1, abs=0.01)
    parts = page.js("return [...document.querySelectorAll('.time-bar')[1].children].map((node) => node.getBoundingClientRect().width)")
    assert sum(parts) == pytest.approx(theirs, rel=0.05)
    assert "at least 10 times sooner" in page.text(".first-word figcaption")
    assert full["basis"] in page.text(".basis")
    page.picture("full-prefill-1280")


def test_a_marked_line_lies_on_its_very_pixels_at_both_resolutions_and_any_width(page: Any, question: str, told: dict[str, Any]):
    cited = [(at, one) for at, one in enumerate(told["citations"]) if one["lines"]]
    assert cited, "the reader's own example marks a line"
    page.ask(question)
    at, citation = cited[0]
    page.all("#pages .card")[at].click()
    page.until(lambda: page.all("#viewer .sheet:not(.waiting)"), "the page image")
    assert page.js("return document.querySelector('#viewer-stage .sheet').dataset.dpi") == str(citation["dpi"])
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
    # A mark is no proof, and nothing beside it says that it is.
    assert "no proof" in page.text("#viewer-proof")
    said = page.js("return document.body.innerText")
    assert not [claim for claim in ("holds the answer", "has the answer's words") if claim in said]


def test_the_viewer_shows_an_image_pixel_for_pixel_and_larger_by_keys(page: Any, question: str):
    page.ask(question)
    page.one("#pages .card").click()
    page.until(lambda: page.all("#viewer .sheet:not(.waiting)"), "the page image")
    size = "const image = document.querySelector('#viewer-stage img'); return image.getBoundingClientRect().width / image.naturalWidth"
    for times in (1, 2):
        page.keys("+")
        assert page.js(size) == pytest.approx(times, abs=0.01)
    page.keys("0")
    assert page.text("#viewer-zoom .zoom-word") == "fit"


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


def test_a_document_opens_with_every_page_at_every_resolution_and_arrows_go_through_them(page: Any):
    first = page.api("/v1/documents?collection=default")["documents"][0]
    whole = page.api(f"/v1/documents/{first['id']}")
    page.one(".document-open").click()
    page.until(lambda: page.all("#gallery .spread"), "the pages")
    shown = page.js("return [...document.querySelectorAll('#gallery .sheet')].map((node) => [node.dataset.page, node.dataset.dpi])")
    assert shown == [[one["page"], dpi] for one in whole["page_list"] for dpi in sorted(one["rows"], key=int)]
    page.until(lambda: not page.all("#gallery .sheet.waiting"), "the images")
    page.picture("gallery-1280")
    focused = "return document.activeElement.getAttribute('aria-label')"
    assert page.js(focused) == "Open page 1 at 72 DPI"
    page.keys(RIGHT)
    assert page.js(focused) == "Open page 1 at 120 DPI"
    page.js(
        "document.querySelector('#gallery-zoom button:last-child').click(); document.querySelector('#gallery-zoom button:last-child').click()"
    )
    page.keys(DOWN)
    assert page.js(focused) == "Open page 2 at 120 DPI"


def test_what_is_opened_at_once_behind_what_was_closed_is_shown(page: Any):
    # The browser says that a dialog was closed some time after it was: the next one may be open by then.
    page.js("const open = document.querySelector('.document-open'); open.click(); document.getElementById('gallery').close(); open.click()")
    page.until(lambda: page.all("#gallery .card"), "the document's pages")
    page.js("const card = document.querySelector('#gallery .card'); card.click(); document.getElementById('viewer').close(); card.click()")
    page.until(lambda: page.text("#viewer-text"), "the page's words")


def test_images_that_nothing_shows_any_more_are_let_go_of(page: Any, question: str):
    holding = "return (await import(new URL('static/images.js', location.href))).holding()"
    assert page.later(holding) == 0
    page.ask(question)
    shown = page.later(holding)
    assert shown > 0
    page.one(".document-open").click()
    page.until(lambda: page.all("#gallery .sheet:not(.waiting)"), "the pages")
    assert page.later(holding) > shown
    page.one("#gallery-pages .card").click()
    page.until(lambda: page.all("#viewer-stage .sheet:not(.waiting)"), "the page")
    # Closed is enough: what a deleted document looked like must not wait for the next one to be opened.
    page.js("document.getElementById('viewer').close(); document.getElementById('gallery').close()")
    page.until(lambda: page.later(holding) == shown, "the document's images to be let go of")


def test_what_was_asked_before_stays_in_this_browser_until_it_is_forgotten(page: Any):
    examples = page.until(lambda: len(page.all(".example")) > 1 and page.texts(".example"), "two questions for example")
    page.ask(examples[0])
    first = page.text("#answer-text")
    page.ask(examples[1])
    page.reload()
    assert page.text("#answer-question") == examples[1]
    assert page.texts("#earlier-list .earlier-question") == [examples[0]]
    page.one("#earlier-list .earlier-one").click()
    assert page.text("#answer-text") == first
    page.one("#earlier-clear").click()
    page.one("#earlier-tools .danger").click()
    assert not page.all("#earlier")
    assert not page.all("#answer")
    page.reload()
    assert not page.all("#earlier")


def test_a_conversation_s_id_is_made_by_chance_kept_by_the_tab_and_let_go_of_on_the_server(page: Any, question: str, quire: Any):
    page.one("#talk").click()
    page.ask(question)
    talk = page.js("return JSON.parse(sessionStorage.getItem('quire-talk:default'))")
    assert len(talk["id"]) == 32
    assert talk["id"] not in page.js("return document.documentElement.outerHTML + JSON.stringify({...localStorage})")
    assert len(quire.house.conversations) == 1
    page.one("#talk-new").click()
    page.until(lambda: len(quire.house.conversations) == 0, "the server to let go of it")
    assert page.js("return sessionStorage.getItem('quire-talk:default')") is None


def test_an_answer_that_no_marked_line_holds_says_so_beside_it(page: Any, question: str, told: dict[str, Any]):
    held = {**told, "text": "Ana Bel", "citations": [{**one, "lines": []} for one in told["citations"]]}
    first, *others = held["citations"]
    line = {"index": 0, "text": "x", "box": [0, 0, 1, 1], "why": "has the answer's words"}
    picture = {"index": 0, "text": "(the whole page)", "box": [0, 0, first["width"], first["height"]], "why": "closest to the question"}
    for answer, words in [
        (held, "These words do not stand on the pages below. Check before you rely on them."),
        ({**held, "citations": [{**first, "lines": [picture]}, *others]}, "Pages below are pictures without known text"),
        ({**held, "text": " not stated"}, "The reader found no answer on these pages."),
        ({**held, "citations": [{**first, "lines": [line]}, *others]}, ""),
    ]:
        page.open()
        page.later(SAY, answer)
        page.ask(question)
        assert page.text("#answer-check").startswith(words)
        assert bool(page.all("#answer-check")) == bool(words)
        assert page.js("return !!document.getElementById('answer-check').closest('[aria-live]')")


def test_a_page_that_was_patched_or_compiled_again_and_a_turn_of_a_conversation_say_so(page: Any, question: str, told: dict[str, Any]):
    used = {"kind": "exact", "rank": 32, "match": "subset", "given": ["ab@72"], "missing": ["cd@72"], "bytes": 4096, "tier": "ram"}
    turn = {"id": "not-to-be-shown", "turn": 2, "kept": 1, "admitted": 0, "evicted": 0, "recalled": 0, "moved_rows": 0, "told": 0}
    first = {**told["provenance"][0], "patch": used, "tier": "window"}
    second = {**told["provenance"][0], "patch": None, "tier": "compiled", "note": "its patch is damaged, and was passed over"}
    page.later(
        SAY,
        {
            **told,
            "provenance": [first, second],
            "citations": [told["citations"][0]] * 2,
            "plan": {**told["plan"], "picks": [told["plan"]["picks"][0]] * 2},
            "conversation": turn,
        },
    )
    page.ask(question)
    assert "turn 2, 1 page kept" in page.text("#answer-facts")
    assert "not-to-be-shown" not in page.js("return document.body.innerHTML + JSON.stringify({...localStorage})")
    leaves = [title.replace("\xa0", " ") for title in page.js("return [...document.querySelectorAll('.leaf')].map((node) => node.title)")]
    assert "it stood there already" in leaves[0]
    assert "patched at rank 32: formed for some of the pages before it, without 1 page of them; 4.0 KiB" in leaves[0]
    assert "compiled for this answer" in leaves[1]
    rows = page.texts(".numbers tbody tr")
    assert "exact r32, subset" in rows[0]
    # What was passed over is not hidden in a tip.
    assert page.all(".ledger-note")[0].text == "its patch is damaged, and was passed over"
    assert page.js("return document.querySelectorAll('.leaf.patched').length") == 1
    page.picture("strip-1280")
    assert page.complaints() == []


def test_no_width_makes_the_page_scroll_sideways(page: Any, question: str):
    page.ask(question)
    for width, dark in [(360, False), (360, True), (1280, True), (1920, False), (1920, True)]:
        page.look(width, dark=dark)
        assert page.fits(), width
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


@pytest.mark.parametrize("dark", [False, True])
def test_text_stands_out_from_what_is_behind_it(page: Any, dark: bool):
    """WCAG 2.2, 1.4.3: 4.5 to 1, for every colour that text has on every ground that it is set on."""
    page.look(1280, dark=dark)
    pairs = [("--ink", ground) for ground in ("--paper", "--paper-deep", "--leaf")]
    pairs += [(ink, ground) for ink in ("--soft", "--rubric", "--ochre", "--verdigris") for ground in ("--paper", "--paper-deep", "--leaf")]
    pairs.append(("--rubric-ink", "--rubric"))
    ratios = page.js(
        """
        const probe = document.body.appendChild(document.createElement('i'));
        const light = (name) => {
          probe.style.color = `var(${name})`;
          const [r, g, b] = getComputedStyle(probe).color.match(/[0-9.]+/g).slice(0, 3)
            .map((n) => n / 255).map((n) => (n <= 0.04045 ? n / 12.92 : ((n + 0.055) / 1.055) ** 2.4));
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const told = arguments[0].map((pair) => { const [a, b] = pair.map(light).sort((x, y) => y - x); return (a + 0.05) / (b + 0.05); });
        probe.remove();
        return told;""",
        pairs,
    )
    assert not [(pair, round(ratio, 2)) for pair, ratio in zip(pairs, ratios, strict=True) if ratio < 4.5]


def test_keys_do_what_their_sheet_says_and_can_be_switched_off(page: Any):
    focused = "return document.activeElement.id"
    page.keys("/")
    assert page.js(focused) == "question"
    page.keys("?")
    assert page.one("#question").get_attribute("value") == "?", "within a field a sign is a sign"
    page.js("document.activeElement.blur()")
    page.keys("?")
    assert page.all("#keys")
    page.picture("keys-1280")
    page.one("#keys-on").click()
    page.keys(ESCAPE)
    page.js("document.activeElement.blur()")
    page.keys("/")
    assert page.js(focused) != "question"


def test_the_page_asks_no_other_server_for_anything(page: Any, question: str):
    page.driver.get_log("performance")
    page.open()
    page.ask(question)
    sent = [json.loads(entry["message"])["message"] for entry in page.driver.get_log("performance")]
    addresses = [one["params"]["request"]["url"] for one in sent if one["method"] == "Network.requestWillBeSent"]
    assert addresses
    assert [one for one in addresses if not one.startswith((page.base + "/", f"blob:{page.base}/", "about:", "chrome:"))] == []
