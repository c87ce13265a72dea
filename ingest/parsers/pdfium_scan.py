"""A PDF goes in; those of its pages that are pictures come out drawn by PDFium, at a bounded size whatever theirs is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingest.types import Limits

from .pdf_scan import admit, damaged, scale_of


def scans(data: bytes, limits: Limits) -> Callable[[int], Any]:
    """As `pdf_scan.scans`: a page's number -> its picture in RGB."""
    import pypdfium2
    from pypdfium2 import raw

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise damaged(0, error) from error

    def look(number: int) -> Any:
        try:
            page = document[number - 1]
            for picture in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE]):
                width, height = picture.get_px_size()
                admit(number, width, height, limits)
            width, height = page.get_size()
            drawn = page.render(scale=scale_of(width, height, limits), fill_color=(255, 255, 255, 255), draw_annots=True)
            return drawn.to_pil().convert("RGB")
        except (pypdfium2.PdfiumError, IndexError, ValueError) as error:
            raise damaged(number, error) from error

    return look
