"""Pages go in; what the loaded model takes of them comes out: rows, caches, a page encoded for a patch. The one place that asks whether a
model reads a page as an image or as text.

A text page is a page without pixels. Its ids come of its own lines, which its key is the hash of, so that key and identity decide them; the
picture of it is drawn for people alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cache_compiler.compile import compile_pages, compile_texts
from cache_compiler.template import text_page_ids
from cache_compiler.types import Canonical, Encoded
from renderer import rasterise
from renderer.types import Page, PageImage, image_key

from .workshop import Workshop


def rows(workshop: Workshop, page: Page, image: PageImage) -> int:
    """How many rows the page's cache has at the image's DPI. A page of images owns its two marks; a page of text has none."""
    return image.tokens + 2 if workshop.backbone.reads_images else len(_ids(workshop, page.text))


def compile_batch(workshop: Workshop, pages: Sequence[Page], dpi: int) -> list[Canonical]:
    """Compile a batch of pages at one DPI, each alone behind the prefix: one forward."""
    backbone = workshop.backbone
    if backbone.reads_images:
        return compile_pages(backbone, [picture_of(workshop, page, dpi) for page in pages], workshop.prefix)
    texts = [(image_key(page.key, dpi), _ids(workshop, page.text)) for page in pages]
    return compile_texts(backbone, texts, workshop.prefix)


def compile_stored(workshop: Workshop, keys: Sequence[str]) -> list[Canonical]:
    """Compile page images that the home keeps (`<page key>@<dpi>`), from their PNGs, or of a model of text from the catalogue's lines; in the
    keys' order, and nothing is stored.

    Each page is a forward of its own, so that a key always gives the same numbers, whatever is asked for beside it. Ingest compiles in batches:
    its bytes are the same where the page was alone in its batch, and else equal to float rounding. Raises UnknownPage where a PNG is not there.
    """
    backbone, compiled = workshop.backbone, []
    for key in keys:
        if backbone.reads_images:
            compiled += compile_pages(backbone, [workshop.images.get(key, backbone.cell)], workshop.prefix)
        else:
            compiled += compile_texts(backbone, [(key, _ids(workshop, _kept_text(workshop, key.partition("@")[0])))], workshop.prefix)
    return compiled


def picture_of(workshop: Workshop, page: Page, dpi: int) -> PageImage:
    """A page's image: drawn, or of a native page as it is kept. Raises UnknownPage where that is not there."""
    if page.native:
        return workshop.images.get(image_key(page.key, dpi), workshop.style.cell)
    return rasterise(page, workshop.style, dpi)


def encode(workshop: Workshop, page: Page, dpi: int) -> Encoded:
    """Encode a page that was just laid out."""
    if workshop.backbone.reads_images:
        return workshop.backbone.encode([picture_of(workshop, page, dpi)])[0]
    return workshop.backbone.encode_text(image_key(page.key, dpi), _ids(workshop, page.text))


def encode_kept(workshop: Workshop, key: str, laid: Mapping[str, Page]) -> Encoded:
    """Encode the page image of this key (`<page key>@<dpi>`), from its PNG; or the text, which the catalogue has.

    `laid`: pages, by key, of a document that is not in the catalogue yet. Raises UnknownPage when the page is not there.
    """
    backbone = workshop.backbone
    if backbone.reads_images:
        # One at a time: a page's rounding must not depend on which pages came with it.
        return backbone.encode([workshop.images.get(key, backbone.cell)])[0]
    name = key.partition("@")[0]
    text = laid[name].text if name in laid else _kept_text(workshop, name)
    return backbone.encode_text(key, _ids(workshop, text))


def _kept_text(workshop: Workshop, page: str) -> str:
    return "\n".join(line[0] for line in workshop.catalogue.page(page).lines)


def _ids(workshop: Workshop, text: str) -> list[int]:
    return text_page_ids(workshop.backbone.tokenizer, text)
