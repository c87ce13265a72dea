"""A preset's name in, a `PageStyle` out: Glyph's A4 page, the page that the embedded reader was trained on, and a small one for models of text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .errors import RendererError, UnknownStyle
from .typeface import read_font
from .types import PageStyle

FONT = Path(__file__).resolve().parent / "fonts" / "DejaVuSans.ttf"
FONT_SHA256 = "abdc775b21b1bc470d50c97e790d276f2054b7504e56e5bd3e64f48d68582322"

PRESETS: dict[str, dict[str, Any]] = {
    # thu-coai/Glyph, config_en.json: A4 rounded to whole points, 9 on 10 pt, margins of 10 pt. ReportLab's frame adds 6 pt of its own,
    # so text stands 16 pt from each edge: 563 x 810 pt, 81 lines. The crop margin is 10 px at every DPI. 28 px: patch 14, merge 2.
    "glyph-a4": {
        "width": 595.0,
        "height": 842.0,
        "left": 16.0,
        "top": 16.0,
        "right": 16.0,
        "bottom": 16.0,
        "size": 9.0,
        "leading": 10.0,
        "cell": 28,
        "crop": "ink",
        "crop_margin_px": 10,
        "slack": 0.5,
        "min_cells": 16,
        "blank_after_break": 1,
    },
    # For a model that reads text: A6 lying on its side, 26 lines of about 75 characters. A page is then 300 to 500 tokens, and an answer
    # reads three passages for what one A4 page would take; in fp32 that A4 page may be 200 MB of KV.
    "text-a6": {
        "width": 420.0,
        "height": 298.0,
        "left": 16.0,
        "top": 16.0,
        "right": 16.0,
        "bottom": 16.0,
        "size": 9.0,
        "leading": 10.0,
        # Decides nothing but how the picture's sides are rounded: the model never sees it.
        "cell": 1,
        "crop": "ink",
        "crop_margin_px": 10,
    },
    # The embedded reader's card, "The page it knows". At 72 DPI a row of its 8-px patches is a line. It knows no other layout.
    "reader": {
        "width": 224.0,
        "height": 112.0,
        "left": 4.0,
        "top": 8.0,
        "right": 0.0,
        "bottom": 8.0,
        "size": 7.0,
        "leading": 8.0,
        "cell": 16,
        "crop": "lines",
        "slack": 0.2,
        "sentence_lines": True,
    },
}


def preset(name: str, cell: int | None = None, font: Path | None = None) -> PageStyle:
    """The preset of that name, for a model that merges `cell` x `cell` pixels into one token, in another font file if one is given.

    Raises UnknownStyle, listing the names; FontProblem if the font file cannot be read; RendererError if `cell` is no length.
    """
    if name not in PRESETS:
        raise UnknownStyle(f"there is no page style {name!r}: choose one of {', '.join(sorted(PRESETS))}")
    facts = dict(PRESETS[name])
    if cell is not None:
        if cell < 1:
            raise RendererError(f"a cell of {cell} px is no square: give its side in whole pixels, 1 or more")
        facts["cell"] = cell
    path, sha256 = (FONT, FONT_SHA256) if font is None else (font, read_font(font)[1])
    return PageStyle(name=name, font=path, font_sha256=sha256, **facts)
