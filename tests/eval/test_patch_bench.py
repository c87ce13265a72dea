"""The bench of patches: its ratios are of what it says, and its pages of the size that was asked for. No test asks how fast."""

import json

import pytest

from eval.divergence import break_even
from eval.patch_bench import WAYS, _noise, measure, summarise


def test_a_row_holds_every_way_and_what_comes_of_them() -> None:
    said: list[str] = []
    (row,) = measure("reader", [16], 4, 2, said.append)
    assert len(said) == 3
    assert "warm-up" in said[0]
    seconds = row["seconds"]
    assert set(seconds) == set(WAYS)
    assert row["reprefill_over_placing"] == pytest.approx(seconds["re-prefill"] / seconds["place patched"])
    forming = seconds["form: forward"] + seconds["form: truncate"]
    assert row["repaid_after"] == break_even(forming, seconds["re-prefill"], seconds["place patched"])
    # Six layers of keys and values, eight heads of 32, fp32; a patch of five of the layers: rank x (rows + width) numbers each.
    assert row["page_bytes"] == 6 * 2 * 18 * 256 * 4
    assert row["patch_bytes"] == 5 * 2 * 4 * (18 + 256) * 4
    text, line = summarise("reader", [row], 2)
    assert "16" in text.splitlines()[-1]
    assert json.loads(line)["rows"][0]["rank"] == 4


def test_a_patch_that_is_never_repaid_is_said_to_be_so() -> None:
    row = {
        "tokens": 8,
        "seconds": dict.fromkeys(WAYS, 0.1),
        "reprefill_over_placing": 1.0,
        "reprefill_with_encoder_over_placing": 1.0,
        "repaid_after": None,
        "repaid_after_with_encoder": None,
        "patch_bytes": 1,
        "page_bytes": 2,
        "peak_memory_bytes": 10**6,
    }
    assert "never" in summarise("reader", [row], 1)[0]


@pytest.mark.parametrize("tokens", [1, 7, 16, 510, 2048])
def test_a_page_has_exactly_as_many_tokens_as_were_asked_for(tokens: int) -> None:
    page = _noise(1, tokens, 16)
    assert page.cells[0] * page.cells[1] == tokens
