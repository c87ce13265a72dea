"""A web page goes in; what a reader of it sees comes out: headings, paragraphs, list items, table rows as "a | b". Nothing is fetched."""

from __future__ import annotations

import re
from typing import Any

from ingest.encoding import Decoded, clean, decode
from ingest.errors import DamagedFile
from ingest.types import Limits

from .parsed import Draft, Kind, Parsed, visible

_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]+)", re.I)
_XML = re.compile(rb"<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9_.:-]+)", re.I)
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
_SPACE = re.compile(r"[ \t\n\f]+")

_UNSEEN = {
    *("script", "style", "nav", "template", "noscript", "head", "svg", "iframe", "object", "embed"),
    *("audio", "video", "canvas", "map", "datalist"),
}
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = {
    *("address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div", "dl", "dt", "fieldset"),
    *("figcaption", "figure", "footer", "form", "frameset", "header", "hr", "html", "legend", "main", "menu", "ol", "option", "p", "pre"),
    *("section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "title", "tr", "ul", "li", *_HEADINGS),
}


def parse(data: bytes, limits: Limits) -> Parsed:
    """The encoding is the byte order mark's, else UTF-8 where the bytes are, else the label the page carries."""
    decoded = decoded_page(data)
    draft = Draft(limits)
    for note in decoded.notes:
        draft.note(note)
    if visible(decoded.text):
        read_into(draft, decoded.text)
    return draft.finish()


def decoded_page(data: bytes) -> Decoded:
    """A page's markup, in the encoding that the page itself names where its bytes leave that open."""
    label = _XML.search(data[:256]) or _CHARSET.search(data[:4096])
    return decode(data, label[1].decode("ascii") if label else "")


def read_into(draft: Draft, markup: str) -> None:
    """Write what is seen of `markup` into the draft, under its title where it has no heading of its own."""
    root = tree(draft, markup)
    if root is None:
        return
    title = root.findtext(".//title")
    if title and root.find(".//h1") is None:
        draft.heading(clean(title), 1)
    write(draft, root)


def tree(draft: Draft, markup: str) -> Any:
    """The elements of a page; None where there is none. What the parser gives up at is noted in the draft. Raises DamagedFile."""
    from lxml import etree

    # Entities other than HTML's own are not expanded and nothing is loaded. `huge_tree` lifts the depth from 256, where the rest of a page
    # was lost without a word, to 2,048, and the length of a text; the child's memory bounds both.
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=True)
    try:
        root = etree.fromstring(markup.encode(), parser)
    except etree.XMLSyntaxError as error:
        raise DamagedFile(f"its HTML cannot be read ({error}): open it in a browser and save it again") from error
    if any(entry.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for entry in parser.error_log):
        draft.note("what stands behind an element nested more than 2,048 deep is left out")
    return root


def write(draft: Draft, root: Any, deeper: int = 0) -> None:
    """Write what is seen of a tree into the draft; its headings stand `deeper` levels down."""
    _Reader(draft, deeper).read(root)


class _Reader:
    """Walks a tree from start tag to end tag (a loop, for trees nest deeper than Python's stack) and writes what it sees."""

    def __init__(self, draft: Draft, deeper: int) -> None:
        self.draft = draft
        self.deeper = deeper
        self.run: list[str] = []
        self.lists: list[int | None] = []
        self.bullet = ""
        self.rows: list[list[str]] = []
        self.fresh = True
        self.preformatted = 0

    def read(self, root: Any) -> None:
        from lxml import etree

        walk = etree.iterwalk(root, events=("start", "end"))
        skipped = None
        for event, element in walk:
            if event == "start":
                if _unseen(element):
                    walk.skip_subtree()
                    skipped = element
                    continue
                self.open(element)
                self.text(element.text)
            else:
                if element is skipped:
                    skipped = None
                else:
                    self.close(element)
                self.text(element.tail if element is not root else None)
        self.flush()

    def open(self, element: Any) -> None:
        tag = element.tag
        if tag == "br":
            self.run.append("\n")
        elif tag == "img" and element.get("alt"):
            self.text(element.get("alt"))
        elif tag in _BLOCKS:
            self.border()
            if tag in ("ul", "ol", "menu"):
                self.lists.append(_first(element) if tag == "ol" else None)
            elif tag == "li":
                self.bullet = self.mark()
            elif tag == "tr" and _is_data(element):
                self.rows.append([])
            elif tag == "table":
                self.fresh = True
            elif tag == "pre":
                self.preformatted += 1

    def close(self, element: Any) -> None:
        tag = element.tag
        if tag not in _BLOCKS:
            return
        if tag in ("td", "th") and self.rows:
            self.rows[-1].append(self.taken(" "))
        elif tag in _HEADINGS and not self.rows:
            self.draft.heading(self.taken(" "), _HEADINGS[tag] + self.deeper)
        else:
            self.border()
        if tag in ("ul", "ol", "menu") and self.lists:
            self.lists.pop()
        elif tag == "li":
            self.bullet = ""
        elif tag == "tr" and self.rows and _is_data(element):
            row = " | ".join(self.rows.pop())
            if visible(row.replace("|", "")):
                self.draft.add(row, "table", joined=not self.fresh)
                self.fresh = False
        elif tag == "pre":
            self.preformatted -= 1

    def text(self, text: str | None) -> None:
        if text:
            self.run.append(text if self.preformatted else _SPACE.sub(" ", text))

    def border(self) -> None:
        """Between two blocks: the end of a paragraph, or inside a table row a space."""
        if self.rows:
            self.run.append(" ")
        else:
            self.flush()

    def taken(self, between: str = "\n") -> str:
        """What has run up, its lines joined by `between`."""
        text = clean("".join(self.run))
        self.run.clear()
        if self.preformatted and between == "\n":
            return text
        return between.join(line for line in (_SPACE.sub(" ", part).strip() for part in text.split("\n")) if line)

    def flush(self) -> None:
        text = self.taken()
        if not visible(text):
            return
        kind: Kind = "list" if self.lists else "paragraph"
        text, self.bullet = self.bullet + text, ""
        self.draft.add(text, kind, joined=kind == "list" and self.draft.kind == "list")

    def mark(self) -> str:
        """The next item's bullet or number, indented by its depth."""
        indent = "  " * (len(self.lists) - 1)
        if not self.lists or self.lists[-1] is None:
            return indent + "- "
        number = self.lists[-1]
        self.lists[-1] = number + 1
        return f"{indent}{number}. "


def _unseen(element: Any) -> bool:
    if not isinstance(element.tag, str) or element.tag in _UNSEEN:
        return True
    hidden = element.get("hidden") is not None or (element.get("aria-hidden") or "").lower() == "true"
    return hidden or bool(_HIDDEN_STYLE.search(element.get("style") or ""))


def _is_data(row: Any) -> bool:
    """Whether a table row holds data: a row with a table inside it only lays out the page."""
    return row.find(".//table") is None


def _first(element: Any) -> int:
    start = (element.get("start") or "1").strip()
    return int(start) if re.fullmatch(r"-?\d{1,9}", start) else 1
