"""What can be said of the page's files without a browser: nothing in them makes markup of text, runs inline or reaches elsewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

WEB = Path(__file__).resolve().parent.parent.parent / "web"
SCRIPTS = sorted(WEB.glob("*.js"))
FILES = [*SCRIPTS, *sorted(WEB.glob("*.css")), WEB / "index.html", WEB / "mark.svg"]
MARKUP = (
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "document.write",
    "createContextualFragment",
    "parseFromString",
    "execCommand",
    "DOMParser",
    "srcdoc",
    "setHTML",
    "javascript:",
)


class Elements(HTMLParser):
    """Every element of index.html as (tag, attributes), and the text inside scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.inline = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        if self.found and self.found[-1][0] in ("script", "style"):
            self.inline += data.strip()


@pytest.fixture(scope="module")
def elements() -> Elements:
    parser = Elements()
    parser.feed((WEB / "index.html").read_text(encoding="utf-8"))
    return parser


def ids(elements: Elements) -> list[str]:
    return [attributes["id"] for _, attributes in elements.found if "id" in attributes]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_file_makes_markup_out_of_text(path: Path):
    source = path.read_text(encoding="utf-8")
    assert not [word for word in MARKUP if word in source]
    assert not re.search(r"\beval\s*\(|new\s+Function\b|set(?:Timeout|Interval)\s*\(\s*['\"`]", source)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_file_reaches_beyond_its_own_server(path: Path):
    source = path.read_text(encoding="utf-8").replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"(?:https?|wss?):/|data:\w+/|[\"'(]//|@import|url\(", source)


def test_the_page_has_no_inline_script_style_or_handler(elements: Elements):
    assert elements.inline == ""
    for tag, attributes in elements.found:
        assert tag != "style"
        assert not [name for name in attributes if name == "style" or name.startswith("on")], (tag, attributes)


def test_no_script_writes_a_style_or_handler_attribute():
    for path in SCRIPTS:
        source = path.read_text(encoding="utf-8")
        assert not re.search(r"setAttribute\(\s*[\"'](?:style|on)|[{,]\s*[\"']?(?:style|on[a-z]+)[\"']?\s*:\s*[\"'`]", source), path.name


def test_every_file_that_the_page_names_exists(elements: Elements):
    named = [attributes.get("src") or attributes.get("href", "") for tag, attributes in elements.found if tag in ("script", "link", "img")]
    assert named
    for address in named:
        assert address.startswith("static/")
        assert (WEB / address.removeprefix("static/")).is_file(), address
    for path in SCRIPTS:
        for module in re.findall(r'from "(.+?)"', path.read_text(encoding="utf-8")):
            assert (path.parent / module).is_file(), (path.name, module)


def test_every_id_that_a_script_asks_for_is_in_the_page(elements: Elements):
    known = set(ids(elements))
    for path in SCRIPTS:
        asked = set(re.findall(r'(?:byId|getElementById)\("([\w-]+)"\)', path.read_text(encoding="utf-8")))
        assert asked <= known, (path.name, asked - known)


def test_every_id_is_there_once_and_every_reference_to_one_leads_somewhere(elements: Elements):
    known = ids(elements)
    assert len(known) == len(set(known))
    for tag, attributes in elements.found:
        for name in ("for", "aria-labelledby", "aria-describedby", "aria-controls"):
            assert set(attributes.get(name, "").split()) <= set(known), (tag, attributes)


def test_every_field_has_a_label(elements: Elements):
    labelled = {attributes["for"] for tag, attributes in elements.found if tag == "label" and "for" in attributes}
    source = (WEB / "index.html").read_text(encoding="utf-8")
    for tag, attributes in elements.found:
        if tag in ("input", "select", "textarea"):
            wrapped = re.search(rf'<label[^>]*>(?:(?!</label>).)*id="{attributes["id"]}"', source, re.S)
            assert attributes["id"] in labelled or wrapped, attributes


def test_no_script_is_left_that_the_page_does_not_load():
    seen, todo = set(), ["main.js"]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += re.findall(r'from "\./(.+?)"', (WEB / name).read_text(encoding="utf-8"))
    assert seen == {path.name for path in SCRIPTS}
