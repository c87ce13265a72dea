"""The whole story in one sitting, on the embedded reader: from an empty collection to the last receipt, with the page loaded anew in the middle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SEEN = """
window.said = new Set();
new MutationObserver(() => { for (const node of document.querySelectorAll('.press-status')) window.said.add(node.textContent); })
  .observe(document.getElementById('press-list'), {subtree: true, childList: true, characterData: true});
"""


@pytest.fixture
def lines() -> list[list[str]]:
    """The lines of four pages of the reader's own world."""
    examples = json.loads((ROOT / "cache_compiler" / "reader" / "examples.json").read_text(encoding="utf-8"))
    return [list(example["lines"]) for example in examples[:4]]


def test_the_whole_story_holds_from_the_first_file_to_the_last_receipt(page: Any, tmp_path: Path, lines: list[list[str]]):
    paths = [tmp_path / f"{name}.txt" for name in ("ferries", "gardens", "lighthouses", "mills")]
    for path, page_lines in zip(paths, lines, strict=True):
        path.write_text("\n".join(page_lines) + "\n", encoding="utf-8")
    broken = tmp_path / "torn.pdf"
    broken.write_bytes(b"%PDF-1.4\nnothing of a page follows")

    # A collection is made by its name, and opens empty.
    page.one("#collections-open").click()
    page.one("#naming-name").send_keys("story")
    page.one("#naming-form button").click()
    page.until(lambda: page.js("return document.getElementById('collection').value") == "story", "the new collection")
    page.until(lambda: "empty" in page.text("#shelf-state"), "its empty shelf")
    page.picture("story-1-empty")

    # Files go in. When the server has them all, the page is loaded anew: what is under way comes back by itself.
    page.js(SEEN)
    page.upload(*paths, broken)
    page.until(lambda: len(page.api("/v1/jobs?collection=story")["jobs"]) == 5, "the server to have all files")
    page.picture("story-2-adding")
    page.reload()
    page.js(SEEN)
    page.until(lambda: sorted(page.texts("#documents .document-name")) == [path.name for path in paths], "all four on the shelf")
    page.until(lambda: page.text(".press-row.failed .press-name") == "torn.pdf", "the one that failed, with its reason")
    assert len(page.text(".press-row.failed .press-status")) > len("torn.pdf")
    page.until(lambda: page.text("#shelf-count") == "4, with 4 pages", "the collection's count, which is asked for after the shelf")
    page.picture("story-3-ready")

    # What failed is tried again, fails again, and is put away: for the server too.
    (failed,) = page.api("/v1/jobs?collection=story&state=failed")["jobs"]
    page.press("button[aria-label='Try torn.pdf again']")
    page.until(lambda: page.api(f"/v1/jobs/{failed['id']}")["updated"] > failed["updated"], "the second try")
    page.until(lambda: page.all(".press-row.failed"), "its failure")
    page.press("button[aria-label='Dismiss torn.pdf']")
    page.until(lambda: not page.all(".press-row.failed"), "the failure to be put away")
    assert page.api(f"/v1/jobs/{failed['id']}")["state"] == "cancelled"

    # A conversation: a question, and one that follows it. The page it was answered from stays in place.
    page.one("#talk").click()
    examples = page.until(lambda: len(page.texts(".example")) > 1 and page.texts(".example"), "questions for example")
    page.ask(examples[0])
    assert page.text("#answer-text") != ""
    page.ask(examples[1])
    assert "turn 2" in page.text("#answer-facts")
    assert page.text("#talk-state") == "2 turns so far"
    assert examples[0] in page.text("#thread")
    assert "in place" in page.text("#strip .legend")
    page.picture("story-4-answered")

    # A citation opens the very image that was read, at the DPI it was read at.
    citation = page.js(
        "const card = document.querySelector('#pages .card.cited .sheet'); return {page: card.dataset.page, dpi: card.dataset.dpi}"
    )
    page.one("#answer-sources .source").click()
    page.until(lambda: page.all("#viewer .sheet:not(.waiting)"), "the page image")
    opened = page.js(
        "const sheet = document.querySelector('#viewer-stage .sheet'); return {page: sheet.dataset.page, dpi: sheet.dataset.dpi}"
    )
    assert opened == citation
    assert page.text("#viewer-read") == "The very image the answer was read from"
    assert page.all("#viewer .mark")
    page.picture("story-5-cited")
    page.one("#viewer .close").click()

    # Loaded anew, the answer, the conversation and what was asked before are there.
    page.reload()
    assert page.text("#answer-question") == examples[1]
    assert page.text("#talk-state") == "2 turns so far"
    assert examples[0] in page.text("#thread")

    # The document that answered is deleted, with its receipt; the answer read from it goes, here and in the conversation.
    name = page.text("#answer-sources .source-name")
    shared = len(page.api(f"/v1/pages/{citation['page']}")["documents"]) > 1  # the collection "default" may have the same page
    kept = [path.name for path in paths if path.name != name]
    page.press(f"button[aria-label='Delete {name}']")
    page.until(lambda: page.all(".document .danger"), "to be asked whether it is meant")
    assert page.js("return document.activeElement.textContent") == "Keep"
    page.press(".document .danger")
    receipt = page.until(lambda: page.text(".receipt"), "the receipt").replace("\u00a0", " ")
    assert f"Deleted {name} with all that came of it: 1 passage, 1 vector, {'' if shared else '1 page, '}" in receipt
    assert ("1 page stays" in receipt) is shared
    assert " 0 bytes are free" not in receipt
    assert "from this browser's history too" in receipt
    page.until(lambda: sorted(page.texts("#documents .document-name")) == kept, "the others alone on the shelf")
    assert not page.all("#answer")
    assert name not in page.js("return JSON.stringify({...localStorage})")
    page.picture("story-6-receipt")

    # A new conversation lets go of the old one; then the collection goes, and nothing of it is left.
    page.js("document.activeElement.blur()")
    page.keys("n")
    page.until(lambda: page.text("#talk-state") == "", "the conversation to be over")
    page.keys("\ue00c")
    page.js("document.activeElement.blur()")
    page.keys("c")
    page.until(lambda: page.all("#collections"), "the collections")
    page.press("button[aria-label='Delete the collection story']")
    page.press(".collection-row .danger")
    page.until(lambda: "Deleted the collection story with 3 documents" in page.text("#receipts"), "the collection's receipt")
    assert page.api("/v1/collections/story") is None
    page.until(lambda: page.js("return document.getElementById('collection').value") == "default", "another collection")
    page.picture("story-7-gone")
    assert page.complaints() == []
