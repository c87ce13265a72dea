"""A tokenizer's chat template goes in; the prefix before the first page, a page's two marks, and the ids of a question come out.

Nothing of a template is typed here: it is rendered with one image and with two, and what the two have in common says
where the prefix ends and what one image adds. A template that numbers its images, or puts words between them, has no
shared prefix for pages that can stand anywhere, and is refused.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from .errors import TemplateError

# Stands for the question while the template is taken apart. Plain letters: no tokenizer joins it with a mark.
_PROBE = "QuireProbe"


@dataclass(frozen=True)
class Template:
    """The shared prefix h of QV-PIC's equation 1 as token ids, the marks that each page owns, and the tail around a question."""

    prefix: tuple[int, ...]
    opening: int  # begin-of-image
    image: int  # the placeholder of one visual token
    closing: int  # end-of-image
    before: str  # text between the last page and the question
    after: str  # text behind the question, up to where the answer starts
    fingerprint: str

    def page_ids(self, tokens: int) -> list[int]:
        """Ids of a page of `tokens` visual tokens, marks included."""
        return [self.opening, *[self.image] * tokens, self.closing]


def derive_template(tokenizer: Any, image_token_id: int) -> Template:
    """Take the tokenizer's own chat template apart.

    Raises:
        TemplateError: there is no chat template, or an image does not add exactly `mark, image, mark` to it.
    """
    if not getattr(tokenizer, "chat_template", None):
        raise TemplateError("the tokenizer has no chat template; a page cache cannot be compiled without the model's native prefix")
    one, two = (_render(tokenizer, images) for images in (1, 2))
    ids, ids_two = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in (one, two))
    if ids.count(image_token_id) != 1:
        raise TemplateError(f"a message with one image holds the image token {image_token_id} {ids.count(image_token_id)} times, not once")
    at = ids.index(image_token_id)
    if at < 1 or at + 1 >= len(ids):
        raise TemplateError("the image token has no mark on each side; adjacent pages without marks break the position rule")
    prefix, unit, rest = ids[: at - 1], ids[at - 1 : at + 2], ids[at + 2 :]
    if ids_two != [*prefix, *unit, *unit, *rest]:
        raise TemplateError("a second image adds more to the chat template than its own marks; pages of it cannot stand in any order")
    closing = tokenizer.convert_ids_to_tokens(unit[2])
    before, found, after = one.rpartition(closing)[2].partition(_PROBE)
    if not found:
        raise TemplateError("the chat template does not repeat the question as it was given")
    facts = [prefix, unit, before, after]
    return Template(
        prefix=tuple(prefix),
        opening=unit[0],
        image=unit[1],
        closing=unit[2],
        before=before,
        after=after,
        fingerprint=hashlib.sha256(json.dumps(facts).encode()).hexdigest(),
    )


def question_ids(tokenizer: Any, template: Template, question: str) -> list[int]:
    """Ids of everything behind the last page: the question and the template's tail.

    The question is data: a special token written out in it ("<|user|>") is read as its letters, never as the token, or a
    question could put words into somebody else's mouth.
    """
    if any(token in question for token in tokenizer.all_special_tokens) or any(token in question for token in tokenizer.get_added_vocab()):
        ask = tokenizer(template.before, add_special_tokens=False)["input_ids"] if template.before else []
        text = tokenizer(question, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        tail = tokenizer(template.after, add_special_tokens=False)["input_ids"]
        return [*ask, *text, *tail]
    ids: list[int] = tokenizer(template.before + question + template.after, add_special_tokens=False)["input_ids"]
    return ids


def _render(tokenizer: Any, images: int) -> str:
    content = [{"type": "image"} for _ in range(images)] + [{"type": "text", "text": _PROBE}]
    text: str = tokenizer.apply_chat_template([{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True)
    return text
