"""Words and parts go in; HTML comes out. A word is escaped wherever it stands: only what was made here is taken as markup."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_FIGURE = frozenset("0123456789+-")
VOID = frozenset({"img", "meta", "link", "br"})


class Html(str):
    """Markup that is safe to stand in a page. Only this file makes it."""


def tag(name: str, /, *inside: str, **attributes: str) -> Html:
    """An element; `class_` is class, and `data_x` is data-x."""
    said = "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items())
    return Html(f"<{name}{said}>") if name in VOID else Html(f"<{name}{said}>{join(*inside)}</{name}>")


def join(*parts: str) -> Html:
    """Parts one behind the other, plain words escaped."""
    return Html("".join(part if isinstance(part, Html) else escape(part) for part in parts))


def paragraph(*inside: str, **attributes: str) -> Html:
    return tag("p", *inside, **attributes)


def items(*parts: str) -> Html:
    return tag("ul", *(tag("li", part) for part in parts))


def table(heads: Sequence[str], body: Sequence[Sequence[str]], caption: str, theirs: int | None = None) -> Html:
    """A table in a box of its own that scrolls, reachable by keyboard. `theirs`: the column that holds another paper's figures, marked as such."""
    figures = [at > 0 and all(row[at][:1] in _FIGURE for row in body if row[at]) for at in range(len(heads))]

    def cell(at: int, text: str, head: bool) -> Html:
        kinds = [kind for kind, true in (("theirs", at == theirs and (head or text)), ("number", figures[at])) if true]
        facts = {"class_": " ".join(kinds)} if kinds else {}
        if head or at == 0:
            return tag("th", text, scope="col" if head else "row", **facts)
        return tag("td", text, **facts)

    return tag(
        "div",
        tag(
            "table",
            tag("caption", caption),
            tag("thead", tag("tr", *(cell(at, head, True) for at, head in enumerate(heads)))),
            tag("tbody", *(tag("tr", *(cell(at, text, False) for at, text in enumerate(row))) for row in body)),
        ),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label=caption,
    )


def document(title: str, style: str, *inside: str) -> str:
    """A whole page. `style` is ours and holds no word of a document."""
    head = join(
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        # Nothing is fetched and nothing runs, whatever a figure's file holds.
        tag("meta", http_equiv="Content-Security-Policy", content="default-src 'none'; img-src data:; style-src 'unsafe-inline'"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        Html(f"<style>{style}</style>"),
    )
    return f'<!doctype html>\n<html lang="en">\n<head>{head}</head>\n<body>{tag("main", *inside)}</body>\n</html>\n'
