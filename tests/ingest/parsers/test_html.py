"""A web page reads as it is seen: what is hidden is not read, nothing is fetched or expanded."""

import pytest

from ingest.errors import NoText
from ingest.parsers.html import parse
from ingest.types import Limits


def text(source: str) -> str:
    return parse(source.encode(), Limits()).text


def test_what_is_not_seen_is_not_read_and_what_follows_it_is() -> None:
    seen = text(
        "<head><style>x{}</style></head><body><nav>menu</nav> a <script>s()</script>b <p hidden>h</p>"
        "<p style='color:red; display: none'>n</p><p aria-hidden=true>i</p><template>t</template>"
        "<noscript>js</noscript><!-- c --><p>end</p></body>"
    )
    assert seen == "a b\n\nend"


def test_headings_paragraphs_and_line_breaks() -> None:
    parsed = parse(b"<h1>Top  of\nit</h1><p>one<br>two <b>bold</b>\n words</p><h2>Sub</h2>loose", Limits())
    found = [(parsed.text[block.start : block.end], block.kind, block.heading) for block in parsed.blocks]
    assert found == [
        ("Top of it", "heading", "Top of it"),
        ("one\ntwo bold words", "paragraph", "Top of it"),
        ("Sub", "heading", "Top of it > Sub"),
        ("loose", "paragraph", "Top of it > Sub"),
    ]


def test_the_title_heads_a_page_without_a_heading_of_its_own() -> None:
    assert text("<title>Name</title><p>x") == "Name\n\nx"
    assert text("<title>Name</title><h1>Other</h1><p>x") == "Other\n\nx"


def test_items_keep_bullets_numbers_and_depth() -> None:
    assert text("<ul><li>one<li>two<ol start=3><li>three<li>four</ol><li>five</ul>") == "- one\n- two\n  3. three\n  4. four\n- five"


def test_table_rows_are_lines() -> None:
    assert text("<table><tr><th>a<th>b<tr><td><p>1</p><p>one</p><td>2</table>after") == "a | b\n1 one | 2\n\nafter"


def test_a_table_around_a_table_only_lays_out_the_page() -> None:
    seen = text("<table><tr><td>menu</td><td><table><tr><td>a</td><td>b</td></tr></table><p>words</p></td></tr></table>")
    assert seen == "menu\n\na | b\n\nwords"


def test_preformatted_text_keeps_its_spaces() -> None:
    assert text("<pre>a\n  b</pre>") == "a\n  b"


def test_the_label_in_the_page_decides_the_encoding() -> None:
    page = '<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-2"><p>Łódź jest</p>'
    assert parse(page.encode("iso-8859-2"), Limits()).text == "Łódź jest"


def test_entities_of_the_page_s_own_are_not_expanded_and_no_file_is_read() -> None:
    seen = text('<!DOCTYPE html [<!ENTITY a "aaaa"><!ENTITY f SYSTEM "file:///etc/passwd">]><p>x &a; &f; &amp; &eacute;</p>')
    assert "aaaa" not in seen
    assert "root:" not in seen
    assert "& é" in seen


@pytest.mark.parametrize("depth", [200, 300, 2000])
def test_a_page_nested_hundreds_deep_is_read_to_its_end(depth: int) -> None:
    assert text("<div>" * depth + "word" + "</div>" * depth + "<p>after") == "word\n\nafter"


def test_what_is_nested_too_deep_is_noted() -> None:
    parsed = parse(b"<p>word" + b"<b><div>" * 20_000 + b"x", Limits())
    assert parsed.text == "word"
    assert parsed.notes == ("what stands behind an element nested more than 2,048 deep is left out",)


@pytest.mark.parametrize("source", ["<script>only()</script>", "<p>&nbsp;</p>", "<!-- -->"])
def test_nothing_seen_is_no_text(source: str) -> None:
    with pytest.raises(NoText):
        text(source)
