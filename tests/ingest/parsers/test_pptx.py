"""Presentations: a slide is a page, its title a heading; tables, groups and notes are read."""

import io
from collections.abc import Callable
from typing import Any

import pptx
import pytest
from PIL import Image
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from ingest.errors import DamagedFile, NoText, TooLarge
from ingest.parsers.parsed import Parsed
from ingest.parsers.pptx import parse
from ingest.types import Limits

BOX = (Inches(1), Inches(1), Inches(3), Inches(1))


def saved(*slides: Callable[[Any], None], layout: int = 5) -> bytes:
    show = pptx.Presentation()
    for write in slides:
        write(show.slides.add_slide(show.slide_layouts[layout]))
    out = io.BytesIO()
    show.save(out)
    return out.getvalue()


def titled(text: str) -> Callable[[Any], None]:
    def write(slide: Any) -> None:
        slide.shapes.title.text = text

    return write


def found(parsed: Parsed) -> list[tuple[str, str, int | None]]:
    return [(parsed.text[block.start : block.end], block.kind, block.page) for block in parsed.blocks]


def test_a_slide_is_a_page_under_its_title_and_its_points_keep_their_depth() -> None:
    def points(slide: Any) -> None:
        slide.shapes.title.text = "Plan"
        frame = slide.placeholders[1].text_frame
        frame.text = "first"
        for level, text in ((1, "inner"), (0, "second\vline")):
            paragraph = frame.add_paragraph()
            paragraph.text, paragraph.level = text, level

    parsed = parse(saved(points, titled("End"), layout=1), Limits())
    assert found(parsed) == [("Plan", "heading", 1), ("- first\n  - inner\n- second line", "list", 1), ("End", "heading", 2)]
    assert parsed.source_pages == 2


def test_tables_groups_and_notes_are_read() -> None:
    def write(slide: Any) -> None:
        slide.shapes.title.text = "All"
        group = slide.shapes.add_group_shape().shapes.add_group_shape()
        group.shapes.add_textbox(*BOX).text_frame.text = "in a group"
        table = slide.shapes.add_table(2, 3, *BOX).table
        for column, text in enumerate(("town", "people", "area")):
            table.cell(0, column).text = text
        table.cell(1, 0).text, table.cell(1, 2).text = "Aa", "3"
        table.cell(1, 0).merge(table.cell(1, 1))
        slide.notes_slide.notes_text_frame.text = "say this\nand that"

    assert parse(saved(write), Limits()).text == "All\n\nin a group\n\ntown | people | area\nAa |  | 3\n\nNotes: say this\nand that"


def test_hidden_slides_and_pictures_are_noted() -> None:
    def hide(slide: Any) -> None:
        slide.shapes.title.text = "secret"
        slide._element.set("show", "0")

    def picture(slide: Any) -> None:
        slide.shapes.title.text = "seen"
        out = io.BytesIO()
        Image.new("RGB", (4, 4)).save(out, "PNG")
        slide.shapes.add_picture(out, 0, 0)

    def drawn(slide: Any) -> None:
        slide.shapes.title.text = "drawn"
        data = CategoryChartData()
        data.categories = ["a"]
        data.add_series("s", (1,))
        slide.shapes.add_chart(XL_CHART_TYPE.PIE, *BOX, data)
        # A frame of neither table nor chart is a diagram (SmartArt).
        frame = slide.shapes.add_table(1, 1, *BOX)._element
        frame.graphic.graphicData.set("uri", "http://schemas.openxmlformats.org/drawingml/2006/diagram")

    parsed = parse(saved(hide, picture, drawn), Limits())
    assert found(parsed) == [("seen", "heading", 2), ("drawn", "heading", 3)]
    assert parsed.notes == (
        "hidden, left out: slide 1",
        "pictures not read: slide 2",
        "charts not read: slide 3",
        "diagrams or embedded files not read: slide 3",
    )


def test_limits_and_damage_are_told() -> None:
    data = saved(titled("a"), titled("b"), titled("c"))
    with pytest.raises(TooLarge, match=r"3 slides, over 2 \(source_pages\)"):
        parse(data, Limits(source_pages=2))
    with pytest.raises(NoText):
        parse(saved(lambda slide: None), Limits())
    with pytest.raises(DamagedFile, match="damaged or cut short"):
        parse(data[:2000], Limits())
