"""The gate: a model without a verdict needs to be asked for by name, a refused one is not used at all."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.errors import ModelRefused, Unchecked, row_of
from app.estimate import _empty_workshop
from app.gate import admitted
from app.house import House
from app.settings import Settings
from cache_compiler.identity import Identity
from cache_compiler.store import CacheStore
from cache_compiler.verdict import Verdict, keep_verdict

IDENTITY = Identity("glm4v", "w", "c", "float32", "p", "t", "template", "s", "5", "1")


def made(word: str, identity: Identity = IDENTITY) -> Verdict:
    return Verdict(word, ("the oracle 'alone' is off",), {}, identity.as_mapping(), "2026-01-02T03:04:05+00:00", {})  # type: ignore[arg-type]


def test_a_model_that_nobody_has_examined_is_refused_with_both_ways_on(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "my home", model="/models/a b", dtype="bfloat16", style="glyph-a4")
    with pytest.raises(Unchecked) as refusal:
        admitted(settings, IDENTITY, tmp_path)
    told = str(refusal.value)
    assert f"`quire doctor '/models/a b' --home '{tmp_path}/my home' --dtype bfloat16 --style glyph-a4`" in told
    assert "--unchecked" in told
    assert row_of(refusal.value).status == 503


def test_unchecked_lets_it_in_and_says_so_by_giving_no_verdict(tmp_path: Path) -> None:
    assert admitted(Settings(home=tmp_path, unchecked=True), IDENTITY, tmp_path) is None


@pytest.mark.parametrize("word", ["trusted", "degraded"])
@pytest.mark.parametrize("unchecked", [False, True])
def test_a_verdict_lets_it_in_whatever_else_is_said(word: str, unchecked: bool, tmp_path: Path) -> None:
    keep_verdict(tmp_path, made(word))
    assert admitted(Settings(home=tmp_path, unchecked=unchecked), IDENTITY, tmp_path) == made(word)


@pytest.mark.parametrize("unchecked", [False, True])
def test_a_refused_model_stays_refused(unchecked: bool, tmp_path: Path) -> None:
    keep_verdict(tmp_path, made("refused"))
    with pytest.raises(ModelRefused, match=r"2026-01-02: the oracle 'alone' is off"):
        admitted(Settings(home=tmp_path, unchecked=unchecked), IDENTITY, tmp_path)


def test_the_house_keeps_its_door_by_it_and_a_deletion_does_not_ask(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    open_house = House.open(settings)
    workshop = open_house.workshop
    assert open_house.verdict is not None
    assert open_house.verdict.word == "trusted"  # bundled with the reader
    open_house.close()
    keep_verdict(workshop.store.folder, made("refused", workshop.identity))
    with pytest.raises(ModelRefused):
        House.open(settings)
    deletion = House.open(settings, gated=False)
    assert deletion.verdict is None
    deletion.close()
    keep_verdict(workshop.store.folder, replace(made("degraded", workshop.identity), reasons=("lossy",)))
    again = House.open(settings)
    assert again.verdict is not None
    assert again.verdict.reasons == ("lossy",)
    again.close()


def test_the_reader_in_another_number_type_is_another_model(tmp_path: Path) -> None:
    with pytest.raises(Unchecked, match="--dtype bfloat16"):
        House.open(Settings(home=tmp_path, dtype="bfloat16"))
    house = House.open(Settings(home=tmp_path, dtype="bfloat16", unchecked=True))
    assert house.verdict is None
    house.close()


def test_a_forecast_asks_the_home_that_it_is_for_and_writes_nothing_there(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", dtype="bfloat16")
    with pytest.raises(Unchecked), _empty_workshop(settings):
        pass
    with _empty_workshop(Settings(home=settings.home, dtype="bfloat16", unchecked=True)) as workshop:
        identity = workshop.identity
    assert not settings.home.exists()
    keep_verdict(CacheStore(settings.home / "store", identity).folder, made("degraded", identity))
    with _empty_workshop(settings) as workshop:
        assert workshop.identity == identity
