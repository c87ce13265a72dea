"""Pictures: sizes from headers alone, bombs refused before they are decoded, every mode upright on white."""

import io
import struct
import zlib
from typing import Any

import pytest
from PIL import Image

from ingest.errors import DamagedFile, LoadError, TooLarge
from ingest.parsers.picture import parse, scans
from ingest.types import Limits, Scan

LIMITS = Limits()


def saved(picture: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    out = io.BytesIO()
    picture.save(out, kind, **options)
    return out.getvalue()


def png_header(width: int, height: int) -> bytes:
    """A PNG whose header promises so many pixels, with hardly any data behind it."""
    facts = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", facts), (b"IDAT", zlib.compress(b"\0" * 64)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", len(d)) + n + d + struct.pack(">I", zlib.crc32(n + d)) for n, d in chunks)


def first(data: bytes) -> Image.Image:
    found: Image.Image = scans(data, LIMITS)(1)
    assert found.mode == "RGB"
    return found


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "TIFF", "GIF", "BMP"])
def test_every_kind_is_one_page_without_text(kind: str) -> None:
    parsed = parse(saved(Image.new("RGB", (60, 30), "white"), kind), LIMITS)
    assert (parsed.text, parsed.source_pages, len(parsed.scans)) == ("", 1, 1)
    assert first(saved(Image.new("RGB", (60, 30), "white"), kind)).size == (60, 30)


def test_the_size_in_points_is_pixels_by_the_pictures_own_dpi_where_that_can_be_believed() -> None:
    picture = Image.new("L", (600, 300))
    assert parse(saved(picture, "TIFF", dpi=(300, 300)), LIMITS).scans == (Scan(1, 144.0, 72.0),)
    for odd in ((1, 1), (100_000, 100_000)):
        assert parse(saved(picture, "TIFF", dpi=odd), LIMITS).scans == (Scan(1, 600.0, 300.0),)
    assert parse(saved(picture), LIMITS).scans == (Scan(1, 600.0, 300.0),)


def test_a_tiff_has_all_its_pages_and_what_moves_its_first() -> None:
    pages = [Image.new("RGB", (20 + n, 10), (n, 0, 0)) for n in range(3)]
    data = saved(pages[0], "TIFF", save_all=True, append_images=pages[1:])
    assert [scan.width for scan in parse(data, LIMITS).scans] == [20.0, 21.0, 22.0]
    assert [scans(data, LIMITS)(n).getpixel((0, 0)) for n in (3, 1)] == [(2, 0, 0), (0, 0, 0)]
    moving = parse(saved(pages[0], "GIF", save_all=True, append_images=[page.resize((20, 10)) for page in pages[1:]]), LIMITS)
    assert (moving.source_pages, moving.notes) == (1, ("it moves: of its 3 frames the first is read",))


def test_a_camera_on_its_side_is_set_upright() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    picture = Image.new("RGB", (40, 20), "red")
    picture.paste("blue", (0, 0, 20, 20))
    data = saved(picture, "PNG", exif=exif)
    assert parse(data, LIMITS).scans == (Scan(1, 20.0, 40.0),)
    upright = first(data)
    assert upright.size == (20, 40)
    assert upright.getpixel((10, 5)) == (0, 0, 255)


@pytest.mark.parametrize(
    ("picture", "seen"),
    [
        (Image.new("RGBA", (4, 4), (255, 0, 0, 0)), (255, 255, 255)),
        (Image.new("RGBA", (4, 4), (0, 0, 0, 128)), (127, 127, 127)),
        (Image.new("LA", (4, 4), (0, 0)), (255, 255, 255)),
        (Image.new("1", (4, 4), 0), (0, 0, 0)),
        (Image.new("L", (4, 4), 77), (77, 77, 77)),
        (Image.new("I;16", (4, 4), 0x4DFF), (77, 77, 77)),
    ],
    ids=["clear", "half clear", "grey and clear", "bits", "grey", "16 bits"],
)
def test_every_mode_of_a_png_is_seen_on_white(picture: Image.Image, seen: tuple[int, int, int]) -> None:
    assert first(saved(picture)).getpixel((1, 1)) == seen


def test_palettes_with_a_clear_colour_four_inks_and_deep_samples_are_seen_right() -> None:
    palette = Image.new("P", (4, 4), 0)
    palette.putpalette([9, 9, 9, 200, 0, 0])
    palette.putpixel((0, 0), 1)
    found = first(saved(palette, transparency=0))
    assert (found.getpixel((0, 0)), found.getpixel((3, 3))) == ((200, 0, 0), (255, 255, 255))
    assert first(saved(Image.new("CMYK", (4, 4), (0, 0, 0, 255)), "TIFF")).getpixel((0, 0)) == (0, 0, 0)
    assert first(saved(Image.new("F", (4, 4), 0.5), "TIFF")).getpixel((0, 0)) == (127, 127, 127)
    assert first(saved(Image.new("I", (4, 4), 0x8000), "TIFF")).getpixel((0, 0)) == (127, 127, 127)


@pytest.mark.parametrize(("width", "height"), [(8_000, 8_000), (60_000, 60_000), (2**31 - 1, 2**31 - 1)])
def test_a_bomb_is_refused_by_its_header_naming_the_limit(width: int, height: int) -> None:
    data = png_header(width, height)
    for read in (lambda: parse(data, LIMITS), lambda: scans(data, LIMITS)(1)):
        with pytest.raises(TooLarge, match=r"image_pixels"):
            read()


def test_a_page_of_a_tiff_that_is_a_bomb_is_named() -> None:
    data = saved(Image.new("1", (10, 10)), "TIFF", save_all=True, append_images=[Image.new("1", (100, 100))])
    with pytest.raises(TooLarge, match=r"page 2 has 100 x 100 pixels, over 5,000 \(image_pixels\)"):
        parse(data, Limits(image_pixels=5_000))


def test_more_pages_than_the_limit_are_refused() -> None:
    data = saved(Image.new("1", (8, 8)), "TIFF", save_all=True, append_images=[Image.new("1", (8, 8))] * 3)
    with pytest.raises(TooLarge, match=r"4 pages, over 3 \(source_pages\)"):
        parse(data, Limits(source_pages=3))


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0junk", b"GIF89a", b"II*\0\xff\xff\xff\xff", b"BM", b"<svg/>"])
def test_what_is_no_picture_is_damage(data: bytes) -> None:
    with pytest.raises(DamagedFile, match="open it in a viewer and save it again"):
        parse(data, LIMITS)


def test_a_picture_that_is_cut_short_is_damage_when_it_is_developed() -> None:
    data = saved(Image.effect_noise((200, 200), 50))
    with pytest.raises(DamagedFile, match="cut short"):
        scans(data[: len(data) // 2], LIMITS)(1)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "TIFF", "GIF", "BMP"])
def test_flipped_bytes_end_in_a_picture_or_in_an_error_of_ours(kind: str) -> None:
    whole = saved(Image.effect_noise((40, 30), 60).convert("RGB"), kind)
    for at in range(0, len(whole), max(1, len(whole) // 60)):
        data = bytearray(whole)
        data[at] ^= 0xFF
        try:
            parse(bytes(data), LIMITS)
            scans(bytes(data), LIMITS)(1)
        except LoadError:
            pass
