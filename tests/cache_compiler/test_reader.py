"""The embedded reader's worked examples come out token for token: drawn, prefilled or linked from page caches, and decoded."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from cache_compiler.assemble import assemble
from cache_compiler.backbone import Backbone
from cache_compiler.compile import compile_pages
from cache_compiler.load import READER, load_backbone
from cache_compiler.prefill import full_prefill
from cache_compiler.prefix import Prefix, compile_prefix
from cache_compiler.types import Assembly
from renderer import paginate, preset, rasterise
from renderer.types import PageImage

EXAMPLES: list[dict[str, Any]] = json.loads((READER / "examples.json").read_text(encoding="utf-8"))
named = pytest.mark.parametrize("example", EXAMPLES, ids=[f"{number}-{e['dpi']}dpi" for number, e in enumerate(EXAMPLES)])


@pytest.fixture(scope="module")
def reader() -> Backbone:
    return load_backbone("reader", device="cpu")


@pytest.fixture(scope="module")
def native(reader: Backbone) -> Prefix:
    return compile_prefix(reader, reader.template.prefix)


def draw(example: dict[str, Any]) -> PageImage:
    style = preset("reader")
    (page,) = paginate("\n".join(example["lines"]), style)
    # A space at a line's end draws nothing, so a page need not keep it.
    assert [line.text for line in page.lines] == [line.rstrip() for line in example["lines"]]
    return rasterise(page, style, example["dpi"])


@dataclass
class Answer:
    first: Tensor  # logits [vocabulary] behind the question
    ids: list[int]  # greedy, with the id that ended it


def answer(reader: Backbone, assembly: Assembly, question: str) -> Answer:
    ids, position, first, said = reader.question_ids(question), assembly.next_position, torch.empty(0), []
    while len(said) < reader.card.max_tokens and (not said or said[-1] not in reader.stop_ids):
        positions = torch.arange(position, position + len(ids)).expand(3, 1, -1)
        logits = reader.forward(torch.tensor([ids]), positions, assembly.cache)[0, -1]  # type: ignore[arg-type]
        first = first if said else logits
        position, ids = position + len(ids), [int(logits.argmax())]
        said += ids
    return Answer(first, said)


@named
def test_a_worked_example_is_drawn_at_the_size_and_has_the_prompt_that_were_written_down(example: dict[str, Any], reader: Backbone) -> None:
    image = draw(example)
    assert list(image.image.size) == example["size"]
    template = reader.template
    assert [*template.prefix, *template.page_ids(image.tokens), *reader.question_ids(example["question"])] == example["prompt_ids"]


@named
@pytest.mark.parametrize("way", ["full prefill", "page cache"])
def test_a_worked_example_is_answered_token_for_token(example: dict[str, Any], way: str, reader: Backbone, native: Prefix) -> None:
    image = draw(example)
    ways = {
        "full prefill": lambda: full_prefill(reader, [image], room=64),
        "page cache": lambda: assemble(reader, native, compile_pages(reader, [image], native), room=64),
    }
    found = answer(reader, ways[way](), example["question"])
    top = found.first.topk(5)
    assert top.indices.tolist() == [token for token, _ in example["first_top5"]]
    assert top.values.tolist() == pytest.approx([logit for _, logit in example["first_top5"]], abs=1e-3)
    assert found.ids == example["answer_ids"]
    assert reader.tokenizer.decode(found.ids, skip_special_tokens=True).strip() == example["answer"]
