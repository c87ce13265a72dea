"""A home goes in; what is wrong with it comes out, named, with its cure. Nothing is written, no model is loaded, and a server may run beside it.

The catalogue is the truth: every file is held against it, and every row against the files. What seems wrong is looked at a second time, with
the catalogue read again: a document that came or went meanwhile is no fault.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from .checks import View, look
from .findings import Finding, Findings
from .shelf import Shelf
from .traces import traces


def verify(
    shelf: Shelf,
    wanted: Mapping[str, bytes] | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Findings:
    """Check a whole home. `wanted`: bytes that must be nowhere in it (`traces.needles`), as behind a deletion.

    Every cache, patch and image is read, so it takes about as long as reading the disk. Raises RetrievalError where the catalogue
    cannot be read at all.
    """
    view = View.take(shelf)
    subjects = list(view.subjects())
    suspect = []
    for number, subject in enumerate(subjects):
        if look(view, *subject):
            suspect.append(subject)
        progress(number + 1, len(subjects))
    findings = [
        Finding("catalogue", "catalogue.sqlite", fault, "restore a backup, or ingest the files again") for fault in shelf.catalogue.faults()
    ]
    if suspect:
        again = View.take(shelf)
        findings += [finding for subject in suspect for finding in look(again, *subject)]
    root = shelf.home.root
    if wanted:
        findings += [
            Finding("trace", str(path.relative_to(root)), f"it has bytes of {name}", "`quire gc`; then look at what still holds it")
            for path, name in traces(root, wanted)
        ]
    return Findings(tuple(findings), dict(Counter(kind for kind, _ in subjects)), evicted(view), arriving(view))


def evicted(view: View) -> int:
    """Page images of collections whose caches are not there: they are compiled when they are needed."""
    there = {(path.parts[-4], path.name.removesuffix(".safetensors")) for path in view.home.page_files() if path.suffix == ".safetensors"}
    return sum(
        (identity, f"{page}@{dpi}") not in there
        for identity, pages in view.expected.items()
        for page in pages
        for dpi in view.pages[page].rows
    )


def arriving(view: View) -> int:
    """Page images that files are of and no document owns yet."""
    keys = {path.name.partition(".")[0] for path in view.home.page_files()}
    return sum(not view.owns(key) and key not in view.pending for key in keys)
