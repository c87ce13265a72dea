"""A picture goes in; the lines of text on it come out, with their boxes, by RapidOCR where it is installed (extra `ocr`); its models are in the package.

It works in the darkroom's child process, and `recogniser` is never called elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from .encoding import clean

# The engine scales what is longer down to this; small print is read better when it is enlarged, up to twice, to the other.
_LONGEST = 2000
_ENOUGH = 1600
_ENLARGED = 2.0
# Pieces that overlap by so much of the lower one's height, no farther apart than so much of it, are one line: the engine parts at wide spaces.
_OVERLAP = 0.6
_GAP = 0.7
# Lines of one page, and characters of one line, that are kept: no page of print has as many.
LINES = 2_000
CHARACTERS = 1_000

Recognised = list[tuple[str, float, float, float, float]]


def why_not(setting: str) -> str:
    """Why no text is looked for on pictures; "" where it is. Imports nothing: to load the engine takes seconds and a hundred megabytes."""
    if setting == "off":
        return "text recognition is turned off (ocr)"
    if find_spec("rapidocr_onnxruntime") is None:
        return "no text recognition is installed (extra `ocr`)"
    return ""


def recogniser(threads: int) -> Callable[[Any], Recognised]:
    """RGB picture -> (text, x0, y0, x1, y1) of every line, boxes in shares of the picture's width and height, in the engine's order: from the
    top, and from the left where lines stand side by side."""
    import numpy as np
    from PIL import Image
    from rapidocr_onnxruntime import RapidOCR

    engine = RapidOCR(intra_op_num_threads=threads, inter_op_num_threads=1)

    def recognise(picture: Any) -> Recognised:
        longest = max(picture.size)
        scale = _LONGEST / longest if longest > _LONGEST else max(1.0, min(_ENLARGED, _ENOUGH / longest))
        width, height = (max(1, round(side * scale)) for side in picture.size)
        seen = picture if scale == 1.0 else picture.resize((width, height), Image.Resampling.LANCZOS)
        # The engine was made for OpenCV's order: blue, green, red.
        found, _ = engine(np.ascontiguousarray(np.asarray(seen)[:, :, ::-1]))
        lines: Recognised = []
        for corners, text, _ in (found or [])[:LINES]:
            words = " ".join(clean(str(text)).split())[:CHARACTERS]
            if words:
                across, down = [float(x) / width for x, _ in corners], [float(y) / height for _, y in corners]
                lines.append((words, *(min(1.0, max(0.0, side)) for side in (min(across), min(down), max(across), max(down)))))
        return joined(lines, width / height)

    return recognise


def joined(lines: Recognised, aspect: float) -> Recognised:
    """Pieces side by side as one line, with a space between. `aspect`: the picture's width by its height, for boxes are in shares of both."""
    found: Recognised = []
    for text, x0, y0, x1, y1 in lines:
        if found:
            before, left, top, right, bottom = found[-1]
            low = min(bottom - top, y1 - y0)
            beside = min(bottom, y1) - max(top, y0) >= _OVERLAP * low
            if beside and x0 >= (left + right) / 2 and (x0 - right) * aspect <= _GAP * low:
                found[-1] = (f"{before} {text}"[:CHARACTERS], left, min(top, y0), max(right, x1), max(bottom, y1))
                continue
        found.append((text, x0, y0, x1, y1))
    return found
