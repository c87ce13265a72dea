"""The judge: what full prefill says of the same pages, asked once."""

import pytest
import torch

from cache_compiler.probe import probe
from eval.arms import Bench, TextPage
from eval.longbench.judge import Judge
from renderer import preset

PAGES = [TextPage((5, 6, 7)), TextPage((8, 9))]


def test_a_full_prefill_loses_nothing_and_a_blind_link_something(llama) -> None:
    bench, ids = Bench(llama, preset(llama.card.style)), (30, 31)
    judge = Judge(bench)
    full, blind = (probe(llama, bench.assemble(arm, PAGES, 8), ids)[0] for arm in ("full", "template"))
    assert judge.kl(PAGES, ids, full) == pytest.approx(0.0, abs=1e-9)
    lost = judge.kl(PAGES, ids, blind)
    p, q = full.double().log_softmax(-1), blind.double().log_softmax(-1)
    assert lost == pytest.approx(float((p.exp() * (p - q)).sum()), rel=1e-4)
    assert lost > 1e-3


def test_the_slow_way_is_gone_once_for_the_same_pages_and_question(llama, monkeypatch) -> None:
    bench = Bench(llama, preset(llama.card.style))
    judge, gone = Judge(bench), []
    whole = bench.prefilled
    monkeypatch.setattr(bench, "prefilled", lambda pages, room: gone.append(len(pages)) or whole(pages, room))
    logits = torch.zeros(llama.config.vocab_size)
    assert judge.kl(PAGES, (30,), logits) == judge.kl(PAGES, (30,), logits)
    judge.kl(PAGES, (31,), logits)
    judge.kl(PAGES[:1], (30,), logits)
    assert gone == [2, 2, 1]
