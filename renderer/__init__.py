"""The renderer: text becomes laid-out pages in points, and a page becomes an image at a DPI."""

from renderer.coverage import describe_undrawable, undrawable
from renderer.errors import FontProblem, PageTooLarge, RendererError, UnknownStyle
from renderer.measure import Measure, count_lines
from renderer.normalise import Normalised, normalise
from renderer.paginate import pages, paginate
from renderer.rasterise import rasterise
from renderer.styles import PRESETS, preset
from renderer.typeface import require_shaper
from renderer.types import Line, Page, PageImage, PageStyle, image_key

__all__ = [
    "PRESETS",
    "FontProblem",
    "Line",
    "Measure",
    "Normalised",
    "Page",
    "PageImage",
    "PageStyle",
    "PageTooLarge",
    "RendererError",
    "UnknownStyle",
    "count_lines",
    "describe_undrawable",
    "image_key",
    "normalise",
    "pages",
    "paginate",
    "preset",
    "rasterise",
    "require_shaper",
    "undrawable",
]
