"""The six tasks and the two protocols, as data: prompts, limits, chat template or not, what truncates, and how an answer is cleaned.

Official: the prompts are those of THUDM/LongBench, config/dataset2prompt.json (MIT; at f6227eb7a25c, the same words as at 2e00731f8d0b),
word for word, the published misprint "asconcisely" included: a corrected prompt is another prompt. The limits are dataset2maxlen.json's.

With page images there is no {context} in the text. Pages stand first, directly behind the model's native prefix, for that is what their
caches were compiled behind; text before them would be another prefix for every task. What the official prompt says *behind* the context
then follows unchanged. It repeats the instruction in five tasks; triviaqa gives its instruction only before the context, so there it is
moved behind the pages, without the sentence that points at what follows.

Glyph: one user turn, all images first, then a text that says that the context is in the images; 8,192 new tokens, greedy, a repetition penalty of
1.1, nothing truncated. Its repository has no licence, so the structure is kept and the sentences are ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from .errors import LongBenchError, UnknownTask

TASKS = ("2wikimqa", "hotpotqa", "musique", "multifieldqa_en", "narrativeqa", "triviaqa")
# Rows of the published test sets. A score over fewer is named so.
ROWS = {task: 150 if task == "multifieldqa_en" else 200 for task in TASKS}
# LongBench-E was drawn for these; the other two have no published buckets.
LONGBENCH_E = frozenset({"2wikimqa", "hotpotqa", "multifieldqa_en", "triviaqa"})
_PASSAGE_TASKS = ("2wikimqa", "hotpotqa", "musique")

_ONLY = "Only give me the answer and do not output any other words."
_PASSAGES = f"Answer the question based on the given passages. {_ONLY}"
_PASSAGES_BEHIND = f"{_PASSAGES}\n\nQuestion: {{input}}\nAnswer:"
_BRIEFLY_BEHIND = (
    "Now, answer the following question based on the above text, only give me the answer and do not output any other words.\n\n"
    "Question: {input}\nAnswer:"
)
_PHRASE = "using a single phrase if possible. Do not provide any explanation."
_STORY = f"You are given a story, which can be either a novel or a movie script, and a question. Answer the question asconcisely as you can, {_PHRASE}"
_STORY_BEHIND = f"Now, answer the question based on the story asconcisely as you can, {_PHRASE}\n\nQuestion: {{input}}\n\nAnswer:"
_EXAMPLES = f"Answer the question based on the given passage. {_ONLY}"

PROMPTS: Mapping[str, str] = {
    **dict.fromkeys(_PASSAGE_TASKS, f"{_PASSAGES}\n\nThe following are given passages.\n{{context}}\n\n{_PASSAGES_BEHIND}"),
    "multifieldqa_en": f"Read the following text and answer briefly.\n\n{{context}}\n\n{_BRIEFLY_BEHIND}",
    "narrativeqa": f"{_STORY}\n\nStory: {{context}}\n\n{_STORY_BEHIND}",
    "triviaqa": f"{_EXAMPLES} The following are some examples.\n\n{{context}}\n\n{{input}}",
}

_OFFICIAL_BEHIND: Mapping[str, str] = {
    **dict.fromkeys(_PASSAGE_TASKS, _PASSAGES_BEHIND),
    "multifieldqa_en": _BRIEFLY_BEHIND,
    "narrativeqa": _STORY_BEHIND,
    "triviaqa": f"{_EXAMPLES}\n\n{{input}}",
}

_GLYPH_BEHIND: Mapping[str, str] = {
    **dict.fromkeys(_PASSAGE_TASKS, f"The passages are in the images above. {_PASSAGES_BEHIND}"),
    "multifieldqa_en": f"The text is in the images above. {_BRIEFLY_BEHIND}",
    "narrativeqa": f"{_STORY}\n\nThe story is shown in the images above.\n\n{_STORY_BEHIND}",
    "triviaqa": f"{_EXAMPLES} The images above show some examples.\n\n{{input}}",
}

_THINKING = re.compile(r"<think>.*?</think>", re.DOTALL)
_MARKS = re.compile(r"<\|[^|>]*\|>")


@dataclass(frozen=True)
class Protocol:
    """One way to run the tasks. Its name stands in everything a run writes: scores of the two cannot be set side by side."""

    name: Literal["official", "glyph"]
    behind: Mapping[str, str]  # what stands behind the page images, with {input}
    limits: Mapping[str, int]  # new tokens
    bare: frozenset[str]  # tasks whose text is continued, without the chat template's turn
    penalty: float  # on the logits of tokens that the prompt or the answer holds; 1.0: none
    truncates: bool  # whether the filled text prompt is cut in the middle
    marked: frozenset[str]  # tasks whose newlines are drawn as marks, the text flowing over the pages; see `pages.py`
    flows: bool  # pages are filled to the last line, instead of ending where a chunk of serving ends

    def clean(self, text: str) -> str:
        """The decoded answer as it is scored.

        Official: as it is; only two model families that Quire does not load were cleaned. Glyph: finished thinking and marks like
        <|begin_of_box|> go, all white space becomes single spaces; so triviaqa's first line is then the whole answer.
        """
        if self.name == "official":
            return text
        text = _THINKING.sub("", text)
        # Where the template itself opens the thinking, the answer holds only its end.
        text = text.rpartition("</think>")[2]
        return " ".join(_MARKS.sub("", text).split())


OFFICIAL = Protocol(
    "official",
    _OFFICIAL_BEHIND,
    {**dict.fromkeys(TASKS, 32), "multifieldqa_en": 64, "narrativeqa": 128},
    bare=frozenset({"triviaqa"}),
    penalty=1.0,
    truncates=True,
    marked=frozenset(),
    flows=False,
)
GLYPH = Protocol(
    "glyph",
    _GLYPH_BEHIND,
    dict.fromkeys(TASKS, 8192),
    bare=frozenset(),
    penalty=1.1,
    truncates=False,
    marked=frozenset({"hotpotqa", "narrativeqa", "triviaqa"}),
    flows=True,
)
PROTOCOLS: Mapping[str, Protocol] = {protocol.name: protocol for protocol in (OFFICIAL, GLYPH)}


def protocol_named(name: str) -> Protocol:
    """Raises LongBenchError on another name than the two."""
    if name not in PROTOCOLS:
        raise LongBenchError(f"protocol {name!r}: it is {' or '.join(PROTOCOLS)}")
    return PROTOCOLS[name]


def tasks_named(text: str) -> tuple[str, ...]:
    """Comma-separated names, in LongBench's order and each once. Raises UnknownTask, listing the six."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in TASKS]
    if unknown or not names:
        raise UnknownTask(f"task {unknown[0] if unknown else text!r}: it is one of {', '.join(TASKS)}")
    return tuple(task for task in TASKS if task in names)
