"""The renderer: text becomes laid-out pages in points, and a page becomes an image at a DPI."""

from .coverage import describe_undrawable, undrawable
from .errors import FontProblem, PageTooLarge, RendererError, UnknownStyle
from .measure import Measure, count_lines
from .native import fitted, native_cells, native_image, native_page, pixels
from .normalise import Normalised, normalise
from .paginate import pages, paginate
from .rasterise import rasterise
from .styles import PRESETS, preset
from .typeface import require_shaper
from .types import Line, Page, PageImage, PageStyle, image_key

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
    "fitted",
    "image_key",
    "native_cells",
    "native_image",
    "native_page",
    "normalise",
    "pages",
    "paginate",
    "pixels",
    "preset",
    "rasterise",
    "require_shaper",
    "undrawable",
]
