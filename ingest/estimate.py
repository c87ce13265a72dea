"""Paths go in; an `Estimate` comes out: what taking them in would make, how large that would be, and how long it would take.

Every file is really read, in a child process and within the limits. The largest documents, and as many evenly by size among the others, are cut
and drawn; what is left is told from its characters. A few batches are compiled and patched, in memory. Nothing is stored.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cache_compiler.placed import row_bytes
from retrieval.errors import NameTaken

from .errors import Cancelled, UnsupportedType
from .gather import Found, gather
from .load import KINDS, load
from .names import document_name
from .pipeline import FAILURES, Listener, Stop, digest_of, failure, is_whole
from .spread import Amount, evenly
from .survey import Standing, Survey
from .trial import Rates, draw, measure
from .types import Document, Failure, Progress
from .workshop import Workshop

# Where a number is a float, in the catalogue and once more in the index.
_VECTOR_BYTES = 2 * 4


@dataclass(frozen=True)
class Sample:
    """How much is measured: `files` that are drawn, `sheets` over all of them, `pages` compiled at each DPI, `patched` of those patched."""

    files: int = 200
    sheets: int = 2000
    pages: int = 8
    patched: int = 2


@dataclass(frozen=True)
class Estimate:
    """What is left to do for a corpus. Rows are tokens: what a page's image takes in the model, and its two marks. Sizes in bytes.

    `files` would go in; `skipped` are in the collection already; `failed` and `passed` as in `Report`. `drawn`, `sheets`, `compiled` and
    `formed` say how much was measured. `seconds`: what ingest spends on each of its steps, writing left out.
    """

    files: int
    characters: int
    chunks: Amount
    pages: Amount
    rows: Mapping[int, Amount]
    caches: Mapping[int, Amount]
    images: Mapping[int, Amount]
    patches: Amount
    patch_bytes: Amount
    vectors: Amount
    seconds: Mapping[str, Amount]
    skipped: tuple[str, ...] = ()
    failed: tuple[Failure, ...] = ()
    passed: tuple[str, ...] = ()
    drawn: int = 0
    sheets: int = 0
    compiled: int = 0
    formed: int = 0

    @property
    def bytes(self) -> Amount:
        """All that would be written."""
        return sum([*self.caches.values(), *self.images.values(), self.vectors], self.patch_bytes)

    @property
    def time(self) -> Amount:
        """Seconds, all steps together."""
        return sum(self.seconds.values(), Amount())


def estimate(
    paths: Sequence[Path],
    workshop: Workshop,
    sample: Sample | None = None,
    progress: Listener = lambda _: None,
    cancelled: Stop = lambda: False,
    standing: Standing | None = None,
    replace: bool = False,
) -> Estimate:
    """Foretell `ingest(paths, ...)`. Nothing is put into the workshop's home. A file that fails is a line of the outcome, as there.

    `standing`: the home and collection that the files would go into; what is there already is left out. Raises Cancelled, and the rooms'
    errors for what is no single file's fault: the model's, the embedder's.
    """
    # A zip's members are all laid out before the largest are known.
    with tempfile.TemporaryDirectory(prefix="quire-estimate-") as folder:
        found = list(gather(paths, workshop.limits, Path(folder), cancelled))
        return _estimated(found, workshop, sample or Sample(), progress, cancelled, standing, replace)


def _estimated(
    found: Sequence[Found],
    workshop: Workshop,
    sample: Sample,
    progress: Listener,
    cancelled: Stop,
    standing: Standing | None,
    replace: bool,
) -> Estimate:
    largest, others = _chosen([file.path for file in found], sample.files)
    survey = Survey(workshop, sample.sheets, len(largest) + len(others), standing, cancelled)
    taken: dict[str, tuple[str, str]] = {}
    skipped: list[str] = []
    failed: list[Failure] = []
    passed: list[str] = []
    reading, owed = 0.0, 0
    for number, file in enumerate(found):
        raw = file.name
        progress(Progress(raw, "load", number, len(found)))
        owed += number in others
        begun = time.perf_counter()
        try:
            if file.error is not None:
                raise file.error
            document = _read(file, document_name(raw), workshop, taken, standing, cancelled, replace)
            reading += time.perf_counter() - begun
            if document is None:
                skipped.append(document_name(raw))
            elif number in largest:
                survey.take(file.path, document, _step(progress, raw), speaks=False)
            elif owed > 0 or not survey.drawn:
                # A drawn file that failed or was skipped is made up for by the next that is read.
                survey.take(file.path, document, _step(progress, raw))
                owed -= 1
            else:
                survey.pass_by(document)
            if document is not None:
                taken[document.name] = (document.sha256, document.source)
        except Cancelled:
            raise
        except FAILURES as error:
            if isinstance(error, UnsupportedType) and not file.named and Path(raw).suffix.lower() not in KINDS:
                passed.append(raw)
            else:
                failed.append(failure(raw, error))
                progress(Progress(raw, "failed", detail={"reason": failed[-1].reason}))
    rates = measure(
        draw(survey.specimens, sample.pages),
        workshop,
        sample.patched,
        lambda stage, done, total: progress(Progress("a sample", "patch" if stage == "patch" else "compile", done, total)),
        cancelled,
    )
    return _told(survey, rates, reading, len(taken), tuple(skipped), tuple(failed), tuple(passed))


def _read(
    file: Found,
    name: str,
    workshop: Workshop,
    taken: Mapping[str, tuple[str, str]],
    standing: Standing | None,
    cancelled: Stop,
    replace: bool,
) -> Document | None:
    """The file as ingest would read it; None where that would skip it. Raises as ingest does, NameTaken too."""
    if cancelled():
        raise Cancelled("stopped on request; nothing was kept")
    source, digest = file.source, digest_of(file.path, workshop.limits.file_bytes)
    before = taken.get(name)
    if before is None and standing is not None:
        row = standing.workshop.catalogue.document_named(standing.collection, name)
        if row is not None:
            if row.sha256 == digest and is_whole(row, standing.workshop):
                return None
            before = (row.sha256, row.source)
    elif before is not None and before[0] == digest:
        return None
    if before is not None and before[0] != digest and before[1] != source and not replace:
        raise NameTaken(f"{name}: another file of this name is there; rename this one, delete that one, or replace it")
    return load(file.path, name, source, workshop.limits, cancelled, workshop.pdf_engine)


def _step(progress: Listener, name: str) -> Callable[[int, int], None]:
    return lambda done, total: progress(Progress(name, "rasterise", done, total))


def _chosen(paths: Sequence[Path], files: int) -> tuple[set[int], set[int]]:
    """Places in the run of the files that are laid out: the largest, which weigh most and speak for themselves alone, and others drawn evenly
    by size, which speak for the rest; four of these at least, for fewer say little of how files differ."""
    by_size = sorted(range(len(paths)), key=lambda number: (_size(paths[number]), number))
    files = min(max(4, files), len(by_size))
    largest = min(files // 2, max(0, files - 4))
    others = len(by_size) - largest
    return set(by_size[others:]), {by_size[number] for number in evenly(files - largest, others)}


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0  # reading it will fail, as a line of the outcome


def _told(
    survey: Survey, rates: Rates, reading: float, files: int, skipped: tuple[str, ...], failed: tuple[Failure, ...], passed: tuple[str, ...]
) -> Estimate:
    workshop, totals = survey.workshop, survey.totals()
    dpis = workshop.dpis
    rows = {dpi: totals[f"rows@{dpi}"] for dpi in dpis}
    seconds = {
        "read": Amount.exactly(reading),
        "cut": totals["chunking"],
        "draw": totals["drawing"],
        **{f"compile at {dpi} DPI": rows[dpi] * rates.row.get(dpi, Amount()) for dpi in dpis},
        "patch": totals["patch_rows"] * rates.patch_row,
        "embed": totals["chunks"] * rates.text,
    }
    return Estimate(
        files=files,
        characters=survey.characters,
        chunks=totals["chunks"],
        pages=totals["pages"],
        rows=rows,
        caches={dpi: rows[dpi].scaled(row_bytes(workshop.backbone)) + totals[f"caches@{dpi}"].scaled(rates.cache_header) for dpi in dpis},
        images={dpi: totals[f"images@{dpi}"] for dpi in dpis},
        patches=totals["patches"],
        patch_bytes=totals["patch_bytes"] + totals["patches"].scaled(rates.patch_header),
        vectors=totals["chunks"].scaled(workshop.embedder.dimension * _VECTOR_BYTES),
        seconds=seconds,
        skipped=skipped,
        failed=failed,
        passed=passed,
        drawn=survey.drawn,
        sheets=survey.sheets_drawn,
        compiled=rates.pages,
        formed=rates.patches,
    )
