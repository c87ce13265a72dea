"""A tokenizer's chat template goes in; the prefix before the first page, a page's two marks, and the ids of a question come out.

Nothing of a template is typed here: it is rendered with one image and with two, and what the two have in common says
where the prefix ends and what one image adds. A template that numbers its images, or puts words between them, has no
shared prefix for pages that can stand anywhere, and is refused. A model that reads text alone is rendered with a word in the
image's place: its pages are token ids without marks.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .errors import TemplateError

# Stand for the question, a text page, an answer and a later question while the template is taken apart. Plain letters: no tokenizer
# joins them with a mark.
_PROBE = "QuireProbe"
_PAGE = "QuirePage"
_ANSWER = "QuireAnswer"
_LATER = "QuireLater"


@dataclass(frozen=True)
class Template:
    """The shared prefix h of QV-PIC's equation 1 as token ids, the marks that each page owns, and the tail around a question.

    The three ids of a page are None where the model reads text alone.
    """

    prefix: tuple[int, ...]
    opening: int | None  # begin-of-image
    image: int | None  # the placeholder of one visual token
    closing: int | None  # end-of-image
    before: str  # text between the last page and the question
    after: str  # text behind the question, up to where the answer starts
    turn: str | None  # text between an answer and the next question; None: the template does not give it in one piece
    fingerprint: str  # of all but `turn`, which changes no page

    def page_ids(self, tokens: int) -> list[int]:
        """Ids of a page of `tokens` visual tokens, marks included. Raises TemplateError where the model reads text alone."""
        if self.opening is None or self.image is None or self.closing is None:
            raise TemplateError("this model reads text alone: its pages are token ids, without marks; load one that reads images")
        return [self.opening, *[self.image] * tokens, self.closing]


def derive_template(tokenizer: Any, image_token_id: int | None) -> Template:
    """Take the tokenizer's own chat template apart. `image_token_id` None: of a model that reads text alone.

    Raises:
        TemplateError: there is no chat template, an image does not add exactly `mark, image, mark` to it, or the question is not in it.
    """
    if not getattr(tokenizer, "chat_template", None):
        raise TemplateError("the tokenizer has no chat template; a page cache cannot be compiled without the model's native prefix")
    if image_token_id is None:
        one = _render(tokenizer, [_PAGE + _PROBE])
        head, found, rest = one.partition(_PAGE)
        if not found:
            raise TemplateError("the chat template does not repeat the page as it was given")
        prefix: list[int] = tokenizer(head, add_special_tokens=False)["input_ids"]
        unit: list[int] = []
    else:
        one = _render(tokenizer, [_seen(1, _PROBE)])
        prefix, unit = _image_unit(tokenizer, one, image_token_id)
        rest = one.rpartition(tokenizer.convert_ids_to_tokens(unit[2]))[2]
    before, found, after = rest.partition(_PROBE)
    if not found:
        raise TemplateError("the chat template does not repeat the question as it was given")
    opening, image, closing = unit or (None, None, None)
    return Template(
        prefix=tuple(prefix),
        opening=opening,
        image=image,
        closing=closing,
        before=before,
        after=after,
        turn=_turn(tokenizer, one.removesuffix(after), after, image_token_id is not None),
        fingerprint=hashlib.sha256(json.dumps([prefix, unit, before, after]).encode()).hexdigest(),
    )


def question_ids(tokenizer: Any, template: Template, question: str, history: Sequence[tuple[str, str]] = ()) -> list[int]:
    """Ids of everything behind the last page: earlier (question, answer) pairs, the question, and the template's tail.

    Questions and answers are data: a special token written out in one ("<|user|>") is read as its letters, never as the token, or
    a question could put words into somebody else's mouth.
    Raises TemplateError on a history where the template has no `turn`.
    """
    if history and template.turn is None:
        raise TemplateError("the chat template of this model does not take earlier turns in one piece; ask each question alone")
    # The template's own text at even places, data at odd ones.
    pieces = [template.before]
    for asked, answered in history:
        pieces += [asked, template.after, answered, template.turn or ""]
    pieces += [question, template.after]
    specials = [*tokenizer.all_special_tokens, *tokenizer.get_added_vocab()]
    if not any(token in text for text in pieces[1::2] for token in specials):
        ids: list[int] = tokenizer("".join(pieces), add_special_tokens=False)["input_ids"]
        return ids
    ids = []
    for place, text in enumerate(pieces):
        if text:
            ids += tokenizer(text, add_special_tokens=False, split_special_tokens=bool(place % 2))["input_ids"]
    return ids


def text_page_ids(tokenizer: Any, text: str) -> list[int]:
    """Ids of a text page: its text and a blank line, which parts it from what comes behind, wherever it stands.

    A page is tokenised by itself, or it would have other ids behind another page. A special token written out in it is read as its
    letters, as in a question: a document must not put words into somebody's mouth.
    """
    ids: list[int] = tokenizer(text.rstrip("\n") + "\n\n", add_special_tokens=False, split_special_tokens=True)["input_ids"]
    return ids


def _image_unit(tokenizer: Any, one: str, image: int) -> tuple[list[int], list[int]]:
    """(ids before the first page, the three ids of a page), held against what a second image adds."""
    ids, ids_two = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in (one, _render(tokenizer, [_seen(2, _PROBE)])))
    if ids.count(image) != 1:
        raise TemplateError(f"a message with one image holds the image token {image} {ids.count(image)} times, not once")
    at = ids.index(image)
    if at < 1 or at + 1 >= len(ids):
        raise TemplateError("the image token has no mark on each side; adjacent pages without marks break the position rule")
    prefix, unit, rest = ids[: at - 1], ids[at - 1 : at + 2], ids[at + 2 :]
    if ids_two != [*prefix, *unit, *unit, *rest]:
        raise TemplateError("a second image adds more to the chat template than its own marks; pages of it cannot stand in any order")
    return prefix, unit


def _turn(tokenizer: Any, asked: str, after: str, images: bool) -> str | None:
    """What stands between an answer and the next question, the same between any two; `asked` is the text up to the first question's end.

    None where an earlier answer is not repeated as it was given, or has another opening than the answer that is to come.
    """
    from jinja2 import TemplateError as JinjaError

    first = _seen(1, _PROBE) if images else _PAGE + _PROBE
    later = _seen(0, _LATER) if images else _LATER
    begun = asked + after + _ANSWER
    try:
        two = _render(tokenizer, [first, _ANSWER, later])
        three = _render(tokenizer, [first, _ANSWER, later, _ANSWER, later])
    except (JinjaError, TypeError):
        return None  # a template for one question alone says so in its own way
    if not (two.startswith(begun) and two.endswith(_LATER + after)):
        return None
    turn = two[len(begun) : len(two) - len(_LATER + after)]
    return turn if three == two + _ANSWER + turn + _LATER + after else None


Content = str | list[dict[str, str]]


def _seen(images: int, text: str) -> Content:
    return [*({"type": "image"} for _ in range(images)), {"type": "text", "text": text}]


def _render(tokenizer: Any, contents: Sequence[Content]) -> str:
    """A conversation, the user's turn first, up to where the model's next answer starts."""
    messages = [{"role": ("user", "assistant")[place % 2], "content": content} for place, content in enumerate(contents)]
    text: str = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    return text
