"""The examination: what it measures of a real model, and what it makes of figures."""

from collections.abc import Mapping

import pytest
import torch

from cache_compiler.load import load_backbone
from cache_compiler.oracles import EXACT, ORACLES, Reading
from cache_compiler.tiny import random_backbone
from cache_compiler.verdict import BUNDLED, read_verdict
from eval.arms import Bench
from eval.doctor.agreement import ARMS, BLIND, ONE, PATCHED, Agreement
from eval.doctor.examine import Findings, examine, judged, small_pages
from renderer import preset

GOOD = Reading(1e-6, 0.5)


def answers(same: int = 20, kl: float = 1e-9) -> Agreement:
    return Agreement([kl] * 20, [n < same for n in range(20)], [False] * 20)


def findings(
    one: Agreement | None = None,
    two: Agreement | None = None,
    oracles: Mapping[str, Reading] | None = None,
    dtype: torch.dtype = torch.float32,
    bound: float = EXACT,
) -> Findings:
    told = {ONE: one or answers(), BLIND: answers(2, 0.5), PATCHED: two or answers(19, 0.01)}
    return Findings(dtype, 120, bound, oracles or dict.fromkeys(ORACLES, GOOD), told)


def test_exact_caches_whose_patched_pages_answer_alike_are_trusted_whatever_blind_reuse_loses() -> None:
    assert judged(findings()) == ("trusted", ())
    assert judged(findings(two=answers(18)))[0] == "trusted"


@pytest.mark.parametrize("distance", [2 * EXACT, float("nan"), float("inf")])
def test_an_oracle_that_is_off_refuses_by_name(distance: float) -> None:
    word, reasons = judged(findings(oracles={**dict.fromkeys(ORACLES, GOOD), "served": Reading(distance, 0.5)}))
    assert word == "refused"
    assert "'served'" in reasons[0]


@pytest.mark.parametrize("kl", [1e-5, float("nan")])
def test_one_page_that_says_something_else_refuses(kl: float) -> None:
    assert judged(findings(one=answers(20, kl)))[0] == "refused"


def test_in_fewer_bits_one_page_has_room_for_rounding_and_no_more() -> None:
    assert judged(findings(one=answers(20, 1e-3), dtype=torch.bfloat16))[0] == "trusted"
    assert judged(findings(one=answers(20, 2e-2), dtype=torch.bfloat16))[0] == "refused"


def test_answers_that_part_degrade_with_their_figures() -> None:
    assert judged(findings(two=answers(17))) == (
        "degraded",
        ("on two pages with patches 17 of 20 answers are those of full prefill; 90% are wanted",),
    )
    assert judged(findings(one=answers(19))) == ("degraded", ("on one page 19 of 20 answers are those of full prefill",))


def test_an_oracle_that_cannot_tell_degrades() -> None:
    word, reasons = judged(findings(oracles={"alone": Reading(0.1, 0.2)}, bound=0.3, dtype=torch.bfloat16))
    assert word == "degraded"
    assert "cannot tell" in reasons[0]


@pytest.mark.parametrize("family", ["glm4v", "llama"])
def test_the_pages_of_the_oracles_are_of_unequal_shapes(family: str) -> None:
    backbone = random_backbone("tiny", family=family)
    pages = small_pages(Bench(backbone, preset("reader")), 72)
    assert len({page.length for page in pages}) == len({page.key for page in pages}) == len(pages) == 3
    if backbone.reads_images:
        assert len({page.rows > page.columns for page in pages}) == 2


@pytest.mark.parametrize("family", ["glm4v", "llama"])
def test_a_sound_model_of_images_or_of_text_is_examined_and_not_refused(family: str) -> None:
    backbone = random_backbone("tiny", family=family)
    steps: list[tuple[str, int, int]] = []
    found = examine(backbone, preset("reader"), 72, documents=1, progress=lambda *step: steps.append(step))
    assert list(found.oracles) == list(ORACLES)
    assert {arm: len(one.same) for arm, one in found.agreement.items()} == dict.fromkeys(ARMS, 4)
    assert found.agreement[ONE].share == 1
    assert found.agreement[PATCHED].figures()["kl_mean"] < found.agreement[BLIND].figures()["kl_mean"]
    assert judged(found)[0] != "refused"
    assert steps[-1] == ("questions", 4, 4)


def test_a_model_whose_pages_are_turned_wrongly_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    backbone = random_backbone("tiny", family="llama")
    right = backbone.table
    monkeypatch.setattr(backbone, "table", lambda positions, *more: right(positions * 1.01, *more))
    word, reasons = judged(examine(backbone, preset("reader"), 72, documents=1))
    assert word == "refused"
    assert len(reasons) > 2


@pytest.mark.slow
def test_the_reader_s_bundled_verdict_is_what_the_doctor_says_of_it() -> None:
    """The oracles anew, and the answers of one document: the bundled word, and the same bounds."""
    found = examine(load_backbone("reader"), preset("reader"), 120, documents=1)
    bundled = read_verdict(BUNDLED / "reader.json")
    assert judged(found)[0] == bundled.word
    assert found.figures()["bounds"] == bundled.figures["bounds"]
    assert found.figures()["dpi"] == bundled.figures["dpi"]
    for name, reading in found.oracles.items():
        assert reading.control == pytest.approx(bundled.figures["oracles"][name]["control"], rel=1e-3)
