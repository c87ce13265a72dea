"""A subject of a home goes in, a page image, a file, an index or an upload; what is wrong with it comes out, held against one view of the
catalogue. Reads alone."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image

from cache_compiler.errors import IdentityMismatch
from cache_compiler.files import UNFINISHED, is_abandoned
from cache_compiler.identity import Identity
from cache_compiler.keys import is_digest, is_image_key
from cache_compiler.patch_files import PatchFiles, key_of
from cache_compiler.sealed import BrokenSeal, unseal
from retrieval.index import check_index, stem
from retrieval.jobs import KEEPING
from retrieval.types import JobRow, PageRow

from .findings import Finding, Kind
from .home import Home
from .shelf import Shelf
from .spool import Spool

# Seconds after which a file that nobody owns is nobody's: until then somebody is taking its document, or its upload, in.
ARRIVING = 3600.0
# Points that a page image may be larger than its page: its sides are whole numbers of a model's cells.
_CELLS = 96
_REPAIR, _GC, _FORM = "`quire repair` makes it again", "`quire gc` removes it", "`quire patch form` makes it again"

Subject = tuple[str, str]


@dataclass
class View:
    """The catalogue at one moment."""

    shelf: Shelf
    pages: dict[str, PageRow] = field(default_factory=dict)
    # By id, those whose upload is kept.
    jobs: dict[str, JobRow] = field(default_factory=dict)
    # Image keys whose files a deletion still has to remove.
    pending: tuple[str, ...] = ()
    # Fingerprint's beginning -> page keys of collections of that identity.
    expected: dict[str, set[str]] = field(default_factory=dict)

    @classmethod
    def take(cls, shelf: Shelf) -> View:
        catalogue = shelf.catalogue
        expected: dict[str, set[str]] = {}
        for row in catalogue.collections():
            name = Identity.from_mapping(row.identity).fingerprint[:16] if _is_identity(row.identity) else ""
            expected.setdefault(name, set()).update(catalogue.page_keys(row.name))
        pages = {page.key: page for page in catalogue.all_pages()}
        jobs = {row.id: row for row in catalogue.jobs(states=KEEPING)}
        return cls(shelf, pages, jobs, catalogue.pending().images, expected)

    @property
    def home(self) -> Home:
        return self.shelf.home

    def owns(self, key: str) -> bool:
        return key.partition("@")[0] in self.pages

    # -- what there is to look at ------------------------------------------------------------------------------------

    def subjects(self) -> Iterator[Subject]:
        home = self.home
        for page in self.pages.values():
            yield from (("image", f"{page.key}@{dpi}") for dpi in page.rows)
        yield from (("store", str(path.relative_to(home.root))) for path in sorted(home.store_root.glob("*")))
        yield from (("file", str(path.relative_to(home.root))) for path in home.page_files())
        for files in home.patch_files():
            for path in [*sorted(files.folder.glob("??/*/*.safetensors")), *files.bases(), *sorted(files.folder.glob("given/*/*/*"))]:
                yield "patch", str(path.relative_to(home.root))
        yield from (("half", str(path.relative_to(home.root))) for path in sorted(home.root.rglob(f"*{UNFINISHED}")))
        yield from (("index", row.name) for row in self.shelf.catalogue.collections())
        yield from (("index file", path.name) for path in sorted(home.index_folder.glob("*")))
        yield from (("job", job) for job in self.jobs)
        yield from (("upload", path.name) for path in sorted(home.spool.iterdir()) if path.is_file())
        yield from (("pending", key) for key in self.pending)


def look(view: View, kind: str, name: str) -> list[Finding]:
    """What is wrong with one subject of `View.subjects`."""
    path = view.home.root / name
    if kind == "image":
        return _image(view, name)
    if kind == "store":
        return _store(path, name)
    if kind == "file":
        return _orphan(view, path, name) or (_cache(view, path, name) if path.suffix == ".safetensors" else [])
    if kind == "patch":
        return _patch(view, path, name)
    if kind == "half":
        told = "half-written by a process that is no longer there"
        return [Finding("half", name, told, _GC)] if path.exists() and is_abandoned(path) else []
    if kind == "pending":
        told = "a deletion has taken its document, and not all of its files have gone"
        return [Finding("pending", name, told, "`quire gc` removes them")]
    return _house(view, kind, name)


def _house(view: View, kind: str, name: str) -> list[Finding]:
    """Indexes, jobs and uploads."""
    spool = Spool(view.home.spool)
    if kind == "index":
        wrong = check_index(view.home.index_folder, view.shelf.catalogue, name)
        return [Finding("index", name, wrong, "the next question builds it again")] if wrong else []
    if kind == "index file":
        known = {stem(row.name) for row in view.shelf.catalogue.collections()}
        strange = name.lstrip(".").partition(".")[0] not in known and (view.home.index_folder / name).exists()
        return [Finding("index", f"index/{name}", "it is of a collection that is not there", _GC)] if strange else []
    if kind == "job":
        row = view.jobs.get(name)
        waits = row is not None and row.state != "failed" and not spool.has(row.spool)
        return [Finding("upload", name, "the job waits, and its upload is not there", "upload the file again")] if waits else []
    strange = is_old(spool.path(name)) and all(name != row.spool for row in view.jobs.values())
    return [Finding("upload", f"spool/{name}", "an upload that no job waits for", _GC)] if strange else []


def _image(view: View, key: str) -> list[Finding]:
    if not view.owns(key):
        return []
    page, dpi = view.pages[key.partition("@")[0]], int(key.partition("@")[2])
    path = view.home.images_root / key[:2] / f"{key}.png"
    name = str(path.relative_to(view.home.root))
    try:
        with Image.open(path) as found:
            found.load()
            size = found.size
    except FileNotFoundError:
        return [Finding("image", name, "it is not there", _REPAIR)]
    except (OSError, SyntaxError, ValueError) as error:
        return [Finding("image", name, f"it cannot be read ({error})", _REPAIR)]
    wanted = (page.width * dpi / 72, page.height * dpi / 72)
    if any(abs(has - want) > _CELLS for has, want in zip(size, wanted, strict=True)):
        told = f"it has {size[0]} x {size[1]} pixels, its page has {wanted[0]:.0f} x {wanted[1]:.0f} at {dpi} DPI"
        return [Finding("image", name, told, _REPAIR)]
    return []


def _store(path: Path, name: str) -> list[Finding]:
    try:
        identity = Identity.from_mapping(json.loads((path / "identity.json").read_text(encoding="utf-8")))
    except FileNotFoundError:
        return (
            [Finding("identity", name, "it has no identity.json", "move the folder away; its pages are compiled again")]
            if path.exists()
            else []
        )
    except (OSError, ValueError, TypeError, IdentityMismatch) as error:
        return [
            Finding("identity", name, f"its identity.json cannot be read ({error})", "move the folder away; its pages are compiled again")
        ]
    if identity.fingerprint[:16] != path.name:
        return [Finding("identity", name, "it holds another model's identity", "move the folder away; its pages are compiled again")]
    return []


def _orphan(view: View, path: Path, name: str) -> list[Finding]:
    key = path.name.partition(".")[0]
    if not is_image_key(key) or path.parent.name != key[:2]:
        return [Finding("orphan", name, "it is no file that the house writes", "look at it, and move it away")] if path.exists() else []
    if view.owns(key) or key in view.pending or not is_old(path):
        return []
    return [Finding("orphan", name, "no document owns its page", _GC)]


def _cache(view: View, path: Path, name: str) -> list[Finding]:
    key = path.name.removesuffix(".safetensors")
    found = _unsealed(path)
    if found is None:
        return []
    if isinstance(found, str):
        return [Finding("cache", name, found, _REPAIR)]
    facts, tensors = found
    if facts.get("key") != key:
        return [Finding("cache", name, f"it holds {facts.get('key')}", _REPAIR)]
    dpi, page = int(key.partition("@")[2]), view.pages.get(key.partition("@")[0])
    if page is None or page.key not in view.expected.get(path.parts[-4], ()):
        return []  # another model may lay the same page into other rows
    rows = tensors["rotary"].shape[2] if "rotary" in tensors else 0
    if rows != page.rows.get(dpi):
        return [Finding("cache", name, f"it has {rows} rows, its page has {page.rows.get(dpi)}", _REPAIR)]
    return []


def _patch(view: View, path: Path, name: str) -> list[Finding]:
    """A patch, a basis, or the empty file that speaks of one."""
    folder = view.home.root.joinpath(*Path(name).parts[:3])
    files, store = PatchFiles(folder), Path(name).parts[1]
    if Path(name).parts[3] == "given":
        return (
            []
            if not path.exists() or files.speaks_of_something(path)
            else [Finding("patch", name, "it speaks of a patch that is not there", _GC)]
        )
    is_basis = path.parent == files.bases_folder
    kind: Kind = "basis" if is_basis else "patch"
    if not is_digest(path.stem):
        return [Finding("orphan", name, "it is no file that the house writes", "look at it, and move it away")] if path.exists() else []
    found = _unsealed(path)
    if found is None:
        return []
    if isinstance(found, str):
        return [Finding(kind, name, found, _FORM)]
    facts = found[0]
    if str(facts.get("identity", ""))[:16] != store:
        return [Finding(kind, name, "it was formed by another model", _FORM)]
    try:
        pages = set(facts["pages"]) if is_basis else key_of(facts).pages
        said = facts["basis"] if is_basis else key_of(facts).digest
    except (KeyError, TypeError, BrokenSeal):
        return [Finding(kind, name, "its header does not say what it is of", _FORM)]
    if said != path.stem:
        return [Finding(kind, name, "it is another one than its name says", _FORM)]
    if strangers := sorted(page for page in pages if not view.owns(page)):
        return [Finding("orphan", name, f"it knows of {strangers[0]}, which no document owns", _GC)] if is_old(path) else []
    unknown = [page for page in sorted(pages) if path not in files.knowing(page)]
    if unknown and path.exists():
        return [Finding(kind, name, f"a deletion of {unknown[0]} would not find it", _FORM)]
    return []


def _unsealed(path: Path) -> tuple[dict[str, Any], dict[str, Any]] | str | None:
    """Facts and tensors; or what is wrong; or None for a file that has gone meanwhile."""
    try:
        return unseal(path)
    except FileNotFoundError:
        return None
    except BrokenSeal as error:
        return str(error)


def is_old(path: Path) -> bool:
    """Whether nobody can be taking it in any more."""
    try:
        return time.time() - path.stat().st_mtime > ARRIVING
    except FileNotFoundError:
        return False


def _is_identity(stored: Any) -> bool:
    try:
        Identity.from_mapping(stored)
    except (IdentityMismatch, TypeError):
        return False
    return True
