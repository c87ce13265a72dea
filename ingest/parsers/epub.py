"""An EPUB book goes in; its chapters come out in the spine's order, under the book's title, and under the contents' names where they have none."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from dataclasses import dataclass
from html import escape
from html.entities import html5
from typing import Any
from urllib.parse import unquote, urlsplit

from ingest.encoding import clean
from ingest.errors import DamagedFile, PasswordNeeded
from ingest.types import Limits

from .container import DAMAGED, check_container
from .html import decoded_page, tree, write
from .parsed import Draft, Parsed

_START = "META-INF/container.xml"
_LOCKS = "META-INF/encryption.xml"
_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_PAGES = ("application/xhtml+xml", "text/html", "application/xml", "text/xml")
_ENTITY = re.compile(r"&(\w{1,40};)")
_XML_OWN = ("lt;", "gt;", "amp;", "quot;", "apos;")
_HEADING = re.compile(r"h[1-6]")


@dataclass(frozen=True)
class _Item:
    """A row of the book's manifest: the part's name within the ZIP, its media type, its properties."""

    part: str
    media: str
    properties: str


def parse(data: bytes, limits: Limits) -> Parsed:
    """Pictures and scripts are not read. Raises PasswordNeeded for a book under a seller's lock (DRM), DamagedFile where no spine is found."""
    names = set(check_container(data, limits, _START, ".epub", dtd=True))
    draft = Draft(limits)
    with zipfile.ZipFile(io.BytesIO(data)) as container:
        if _LOCKS in names:
            _refuse_locked(container.read(_LOCKS))
        at = next((clean(path) for path in _found(_xml(container.read(_START), _START), "rootfile", "full-path")), "")
        if at not in names:
            raise DamagedFile(DAMAGED.format(f"its package {at or 'file'} is missing"))
        package = _xml(container.read(at), at)
        items = _items(package, posixpath.dirname(at))
        labels = _labels(draft, container, items, names)
        title = next((text for text in _texts(package, "title") if text), "")
        draft.heading(title, 1)
        missing = 0
        for idref in _found(package, "itemref", "idref"):
            item = items.get(idref)
            if item is None or item.part not in names:
                missing += 1
            elif "nav" not in item.properties.split() and item.media in _PAGES:
                _chapter(draft, container.read(item.part), labels.get(item.part, ""), 1 if title else 0)
    if missing:
        draft.note(f"{missing:,} parts that its spine names are missing")
    return draft.finish()


def _chapter(draft: Draft, data: bytes, label: str, deeper: int) -> None:
    decoded = decoded_page(data)
    for note in decoded.notes:
        draft.note(note)
    root = _page(draft, decoded.text)
    if root is None:
        return
    if not any(isinstance(element.tag, str) and _HEADING.fullmatch(element.tag) for element in root.iter()):
        draft.heading(label or clean(root.findtext(".//title") or ""), 1 + deeper)
    write(draft, root, deeper)


def _page(draft: Draft, markup: str) -> Any:
    """A chapter's elements with their names as in HTML. Read as XML first: to HTML, <script/> begins a script that never ends."""
    from lxml import etree

    spelt = re.sub(r"^\s*<\?xml[^>]*\?>", "", _ENTITY.sub(_spelt, markup))
    try:
        root = etree.fromstring(spelt.encode(), _parser())
    except etree.XMLSyntaxError:
        return tree(draft, markup) if markup.strip() else None
    for element in root.iter():
        if isinstance(element.tag, str):
            element.tag = etree.QName(element).localname.lower()
    return root


def _spelt(entity: re.Match[str]) -> str:
    """HTML's own entities as characters, for XML knows them only from a document type that is not loaded; the book's own stay words."""
    if entity[1] in _XML_OWN:
        return entity[0]
    return escape(html5[entity[1]]) if entity[1] in html5 else f"&amp;{entity[1]}"


def _parser() -> Any:
    """Nothing is expanded, loaded or fetched; size and depth are bounded (no huge_tree)."""
    from lxml import etree

    return etree.XMLParser(resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False, remove_comments=True, remove_pis=True)


def _xml(data: bytes, part: str) -> Any:
    from lxml import etree

    try:
        return etree.fromstring(data, _parser())
    except etree.XMLSyntaxError as error:
        raise DamagedFile(DAMAGED.format(f"{part}: {error}")) from error


def _named(root: Any, name: str) -> list[Any]:
    """The elements of a local name, in whatever namespace: books of all versions differ in that."""
    return [element for element in root.iter() if isinstance(element.tag, str) and element.tag.rpartition("}")[2] == name]


def _found(root: Any, name: str, attribute: str) -> list[str]:
    return [value for element in _named(root, name) if (value := element.get(attribute))]


def _texts(root: Any, name: str) -> list[str]:
    return [" ".join(clean("".join(element.itertext())).split()) for element in _named(root, name)]


def _items(package: Any, folder: str) -> dict[str, _Item]:
    found = {}
    for element in _named(package, "item"):
        part = _part(folder, element.get("href") or "")
        found[element.get("id") or ""] = _Item(part, (element.get("media-type") or "").lower(), element.get("properties") or "")
    return found


def _part(folder: str, href: str) -> str:
    """The part that a reference in `folder` means. It is only ever looked up among the ZIP's own names."""
    try:
        path = unquote(urlsplit(href).path)
    except ValueError:
        return ""
    return posixpath.normpath(posixpath.join(folder, path))


def _labels(draft: Draft, container: zipfile.ZipFile, items: dict[str, _Item], names: set[str]) -> dict[str, str]:
    """Part -> what the table of contents calls it: the first entry that points to it, in EPUB 3's nav or EPUB 2's NCX."""
    found: dict[str, str] = {}
    for item in items.values():
        folder = posixpath.dirname(item.part)
        if item.part not in names:
            continue
        if "nav" in item.properties.split():
            root = _page(draft, decoded_page(container.read(item.part)).text)
            for link in () if root is None else root.iter("a"):
                found.setdefault(_part(folder, link.get("href") or ""), " ".join(clean("".join(link.itertext())).split()))
        elif item.media == "application/x-dtbncx+xml":
            for point in _named(_xml(container.read(item.part), item.part), "navPoint"):
                source = next(iter(_found(point, "content", "src")), "")
                found.setdefault(_part(folder, source), next(iter(_texts(point, "text")), ""))
    return found


def _refuse_locked(encryption: bytes) -> None:
    """Fonts may be veiled, which says nothing of the text; anything else is a lock."""
    if any(method not in _FONTS for method in _found(_xml(encryption, _LOCKS), "EncryptionMethod", "Algorithm")):
        raise PasswordNeeded("it is locked by its seller (DRM): get a copy without a lock")
