"""Greedy decoding is the served engine's, but for what the benchmark's runner does otherwise: no end at a loop, and a penalty."""

import pytest
import torch

from app.engine import Decode
from app.types import Sampling
from cache_compiler.errors import ContextTooLong
from cache_compiler.prefill import full_prefill
from eval.longbench.generate import generate, penalised
from renderer import paginate, preset, rasterise


@pytest.fixture(scope="module")
def images(backbone):
    style = preset(backbone.card.style, cell=backbone.cell)
    return [rasterise(paginate("The owner of Brobo tower is Fen Tarrow.", style)[0], style, 120)]


def test_the_tokens_are_those_of_the_served_engine(backbone, images) -> None:
    ids = backbone.question_ids("Who is the owner of Brobo tower?")
    served = Decode(backbone, full_prefill(backbone, images, 64), ids, Sampling(max_tokens=12))
    text = "".join(piece.text for piece in served)
    said = generate(backbone, full_prefill(backbone, images, 64), ids, 12)
    assert (list(said.ids), said.text) == (served.ids, text)
    assert said.ids


def test_the_limit_is_kept(backbone, images) -> None:
    said = generate(backbone, full_prefill(backbone, images, 64), backbone.question_ids("Who is the owner of Brobo tower?"), 2)
    assert len(said.ids) == 2


def test_a_penalty_makes_what_was_heard_less_likely_on_either_side_of_zero() -> None:
    logits = torch.tensor([2.2, -1.0, 3.0, -4.0])
    assert penalised(logits, {0, 3}, 1.1).tolist() == pytest.approx([2.0, -1.0, 3.0, -4.4])
    assert logits.tolist() == pytest.approx([2.2, -1.0, 3.0, -4.0])
    assert penalised(logits, {0}, 1.0) is logits


def test_no_position_for_an_answer_is_told(backbone, images) -> None:
    with pytest.raises(ContextTooLong, match="positions"):
        generate(backbone, full_prefill(backbone, images, 0), [5] * backbone.max_positions, 4)
