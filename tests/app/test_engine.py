"""The decode engine: the model's own tokens, an end to loops, a cancel that works, a past that is never copied."""

import threading

import numpy as np
import pytest
import torch
from PIL import Image

from app.engine import Decode, choose, loops
from app.types import Sampling
from cache_compiler.backbone import Backbone
from cache_compiler.errors import ContextTooLong
from cache_compiler.prefill import full_prefill
from cache_compiler.tiny import random_backbone
from cache_compiler.types import Assembly
from renderer.types import PageImage


@pytest.fixture(scope="module")
def backbone() -> Backbone:
    return random_backbone("tiny")


def context(backbone: Backbone, room: int = 64) -> Assembly:
    noise = np.random.default_rng(1).integers(0, 255, (48, 80, 3), dtype=np.uint8)
    return full_prefill(backbone, [PageImage("ab" * 16, 72, 16, Image.fromarray(noise))], room)


def test_greedy_decoding_gives_the_tokens_of_the_models_own_generate(backbone: Backbone) -> None:
    decode = Decode(backbone, context(backbone), backbone.question_ids("Who is it?"), Sampling(max_tokens=10))
    text = "".join(piece.text for piece in decode)
    image = PageImage("ab" * 16, 72, 16, Image.fromarray(np.random.default_rng(1).integers(0, 255, (48, 80, 3), dtype=np.uint8)))
    ids = torch.tensor([[*backbone.template.prefix, *backbone.template.page_ids(image.tokens), *backbone.question_ids("Who is it?")]])
    values, grid = backbone.pixels([image.image])
    with torch.inference_mode():
        judge = backbone.model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            pixel_values=values,
            image_grid_thw=grid,
            mm_token_type_ids=(ids == backbone.template.image).int(),
            do_sample=False,
            max_new_tokens=10,
        )[0, ids.shape[1] :].tolist()
    assert decode.ids == judge[: len(decode.ids)]
    assert text == backbone.tokenizer.decode(decode.ids, skip_special_tokens=True)
    assert decode.finish in ("length", "stop", "repetition")


def test_the_past_is_never_copied(backbone: Backbone) -> None:
    assembly = context(backbone)
    before = assembly.cache.rotary_slab.data_ptr()
    for _ in Decode(backbone, assembly, backbone.question_ids("Who?"), Sampling(max_tokens=8)):
        assert assembly.cache.layers[0].keys.data_ptr() == before
    assert assembly.cache.rows > assembly.length


def test_a_cancel_ends_the_answer_at_once_and_says_so(backbone: Backbone) -> None:
    cancel = threading.Event()
    decode = Decode(backbone, context(backbone), backbone.question_ids("Who?"), Sampling(max_tokens=50), cancel)
    for number, _ in enumerate(decode):
        if number == 2:
            cancel.set()
    assert decode.finish == "cancelled"
    assert len(decode.ids) == 3


def test_the_same_seed_draws_the_same_answer_and_another_seed_another(backbone: Backbone) -> None:
    def draw(seed: int) -> list[int]:
        decode = Decode(backbone, context(backbone), backbone.question_ids("Who?"), Sampling(max_tokens=12, temperature=1.5, seed=seed))
        list(decode)
        return decode.ids

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)


def test_top_p_leaves_only_the_largest_shares() -> None:
    logits = torch.log(torch.tensor([0.6, 0.3, 0.1]))
    drawn = {choose(logits, Sampling(temperature=1.0, top_p=0.5), torch.Generator().manual_seed(seed)) for seed in range(30)}
    assert drawn == {0}
    drawn = {choose(logits, Sampling(temperature=1.0, top_p=0.8), torch.Generator().manual_seed(seed)) for seed in range(60)}
    assert drawn == {0, 1}


def test_a_temperature_near_zero_is_greedy_and_never_divides_into_nothing() -> None:
    assert choose(torch.tensor([1.0, 300.0, -2.0]), Sampling(temperature=1e-320), None) == 1


@pytest.mark.parametrize(
    ("ids", "looping"),
    [
        ([1] * 12, True),
        ([1, 2] * 6, True),
        ([5, 1, 2, 3] * 4, True),
        ([1, 2, 3, 4, 5, 6], False),
        ([0] * 4, False),
        ([7, 0, 0, 0, 1], False),
    ],
)
def test_a_run_that_repeats_is_a_loop_and_a_few_equal_digits_are_not(ids: list[int], looping: bool) -> None:
    assert loops(ids) is looping


def test_a_question_that_does_not_fit_behind_the_pages_is_an_error() -> None:
    small = random_backbone("tiny", positions=40)
    with pytest.raises(ContextTooLong, match="40 positions"):
        list(
            Decode(
                small,
                context(small),
                small.question_ids("Who is the owner of Brobo tower and of everything else that stands there?"),
                Sampling(),
            )
        )
