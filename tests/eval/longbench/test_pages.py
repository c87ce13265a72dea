"""Official pages are serving's chunks; Glyph's are one flow, with newlines as marks for the tasks that ask for it."""

import pytest

from cache_compiler.errors import ContextTooLong
from eval.longbench.errors import EmptyContext
from eval.longbench.pages import sheets, texts
from eval.longbench.tasks import GLYPH, OFFICIAL
from renderer import preset


def words(pages) -> list[str]:
    return " ".join(sheet.text for sheet in pages).split()


@pytest.mark.parametrize("style", ["reader", "glyph-a4"])
@pytest.mark.parametrize("protocol", [OFFICIAL, GLYPH], ids=lambda protocol: protocol.name)
def test_every_word_of_the_context_is_on_a_page(protocol, style, rows) -> None:
    record = rows["2wikimqa"][0]
    assert words(sheets(record, record.context, protocol, preset(style), 100)) == record.context.split()


def test_an_official_page_is_a_chunk_of_serving_and_ends_between_sentences(rows) -> None:
    record = rows["musique"][0]
    pages = sheets(record, record.context, OFFICIAL, preset("reader"), 100)
    assert len(pages) > 2
    assert all(sheet.text.rstrip()[-1] in ".:" for sheet in pages)


def test_glyph_marks_newlines_for_some_tasks_and_on_its_own_page_alone(rows) -> None:
    marks = {}
    for task in ("hotpotqa", "musique"):
        for style in ("glyph-a4", "reader"):
            record = rows[task][0]
            marks[task, style] = sheets(record, record.context, GLYPH, preset(style), 100)[0].style.newline
    assert marks == {
        ("hotpotqa", "glyph-a4"): "mark",
        ("hotpotqa", "reader"): "break",
        ("musique", "glyph-a4"): "break",
        ("musique", "reader"): "break",
    }


@pytest.mark.parametrize("protocol", [OFFICIAL, GLYPH], ids=lambda protocol: protocol.name)
def test_more_pages_than_may_be_are_told(protocol, rows) -> None:
    record = rows["musique"][0]
    with pytest.raises(ContextTooLong, match="more than 2 pages"):
        sheets(record, record.context, protocol, preset("reader"), 2)


def test_a_lone_surrogate_is_drawn_as_a_question_mark_and_stops_nothing(rows) -> None:
    assert sheets(rows["musique"][0], "Half \ud800 a character.", OFFICIAL, preset("reader"), 9)[0].text == "Half ? a character."


def test_runs_of_text_end_to_end_are_the_tokens_of_the_whole(backbone, rows) -> None:
    record = rows["musique"][0]
    pages = texts(record, record.context, backbone.tokenizer, 40)
    assert [len(page.ids) for page in pages[:-1]] == [40] * (len(pages) - 1)
    ids = [token for page in pages for token in page.ids]
    assert backbone.tokenizer.decode(ids) == record.context.rstrip("\n") + "\n\n"
    with pytest.raises(EmptyContext):
        texts(record, " \n", backbone.tokenizer, 40)
