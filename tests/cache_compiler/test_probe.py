"""Logits and greedy answers behind a context, which is left as it was."""

import torch

from app.engine import Decode
from app.types import Sampling
from cache_compiler.assemble import assemble
from cache_compiler.probe import greedy, probe


def test_a_probe_gives_the_same_logits_twice_and_leaves_the_rows_as_they_were(backbone, prefix, pages) -> None:
    context = assemble(backbone, prefix, pages)
    ids = backbone.question_ids("Who?")
    one, two = probe(backbone, context, ids, keep=3), probe(backbone, context, ids, keep=3)
    assert one.shape == (3, len(backbone.tokenizer))
    assert torch.equal(one, two)
    assert context.cache.rows == context.length


def test_a_greedy_answer_is_the_engines(backbone, prefix, pages) -> None:
    context = assemble(backbone, prefix, pages)
    ids = backbone.question_ids("Who?")
    answer, first = greedy(backbone, context, ids, 6)
    assert context.cache.rows == context.length
    decode = Decode(backbone, context, ids, Sampling(max_tokens=6))
    list(decode)
    assert decode.ids == answer
    torch.testing.assert_close(decode.first_logits, first)


def test_teacher_forcing_meets_the_greedy_answers_own_choices(backbone, prefix, pages) -> None:
    context = assemble(backbone, prefix, pages)
    ids = backbone.question_ids("Who?")
    answer, first = greedy(backbone, context, ids, 5)
    forced = probe(backbone, context, [*ids, *answer[:-1]], keep=len(answer))
    assert forced.argmax(-1).tolist() == answer
    torch.testing.assert_close(forced[0], first, rtol=0, atol=1e-3)
