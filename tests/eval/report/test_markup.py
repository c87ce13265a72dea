"""No word becomes markup."""

from html.parser import HTMLParser

from eval.report.markup import document, join, paragraph, table, tag


def test_words_and_attributes_are_escaped_and_markup_is_not_twice(hostile: str) -> None:
    made = tag("p", hostile, tag("b", hostile), title=hostile)
    assert "<script" not in made
    assert "<img" not in made
    assert made.count("<b>") == 1
    assert "&amp;lt;" not in made


def test_joined_words_are_escaped(hostile: str) -> None:
    assert "<script" not in join(hostile, paragraph(hostile))


def test_a_table_scrolls_in_its_own_box_and_marks_the_papers_column(hostile: str) -> None:
    made = table(["arm", "F1", "published"], [[hostile, "1.0", "54.3"], ["b", "2.0", ""]], hostile, theirs=2)
    assert made.startswith('<div class="scroll" tabindex="0" role="region"')
    assert made.count('class="theirs number"') == 2  # the head and the one cell that holds a figure
    assert '<th scope="row">' in made
    assert "<script" not in made


def test_a_page_lets_nothing_be_fetched_and_nothing_run() -> None:
    said = document("t", "", "x")
    assert said.startswith("<!doctype html>")
    assert "default-src &#x27;none&#x27;; img-src data:; style-src &#x27;unsafe-inline&#x27;" in said

    class Parser(HTMLParser):
        policy = ""

        def handle_starttag(self, tag, attrs):
            if dict(attrs).get("http-equiv") == "Content-Security-Policy":
                self.policy = dict(attrs)["content"]

    parser = Parser()
    parser.feed(said)
    assert parser.policy.startswith("default-src 'none'")
