"""Text and a page style in; the characters that the style's font cannot draw out, counted, and as a sentence for a report.

The font has no fallback, as in Glyph: what it lacks is drawn as an empty box, which must not happen unsaid.
"""

from __future__ import annotations

import numpy as np

from .normalise import code_points, normalise
from .typeface import typeface
from .types import PageStyle

_SHOWN = 10


def undrawable(text: str, style: PageStyle) -> dict[str, int]:
    """Characters of the normalised text without a glyph, and how often each stands there; the most frequent first."""
    face = typeface(style)
    codes, counts = np.unique(code_points(normalise(text).text), return_counts=True)
    missing = [(chr(code), int(count)) for code, count in zip(codes, counts, strict=True) if not face.draws(chr(code))]
    return dict(sorted(missing, key=lambda pair: (-pair[1], pair[0])))


def describe_undrawable(found: dict[str, int], style: PageStyle) -> str:
    """One sentence, such as "12 characters have no glyph in DejaVu Sans: 佐 x3, 藤 x2, and 5 others."; empty if nothing was found."""
    if not found:
        return ""
    total = sum(found.values())
    shown = [f"{character} x{count}" for character, count in list(found.items())[:_SHOWN]]
    if len(found) > _SHOWN:
        shown.append(f"and {len(found) - _SHOWN} others")
    have = "character has" if total == 1 else "characters have"
    return f"{total} {have} no glyph in {typeface(style).name}: {', '.join(shown)}."
