"""docs/operation.md says what there is: every setting with its description, every series, every scope, and commands that exist."""

import re
from pathlib import Path

import pytest
from prometheus_client import REGISTRY, CollectorRegistry

from app.command import build_parser
from app.gauges import Gauges
from app.metrics import Metrics
from app.scopes import SCOPES
from app.settings import Settings
from app.traffic import Traffic

ROOT = Path(__file__).resolve().parent.parent.parent
SAID = (ROOT / "docs" / "operation.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_is_described(name):
    row = re.search(rf"^\| `{name}` \| [^|]+ \| (.+) \|$", SAID, re.MULTILINE)
    assert row, f"docs/operation.md has no row for {name}"
    assert row[1] == Settings.model_fields[name].description


def test_no_setting_is_described_that_there_is_not():
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| .+ \|$", SAID.partition("\n## Keys")[0], re.MULTILINE)
    assert sorted(rows) == sorted(Settings.model_fields)


def names(registry: CollectorRegistry) -> set[str]:
    return {metric.name for metric in registry.collect() if metric.name.startswith("quire_")}


def test_every_series_is_named(house):
    registry = CollectorRegistry()
    registry.register(Gauges(house))
    there = names(Metrics().registry) | names(Traffic().registry) | names(registry)
    said = {name.removesuffix("_total") for name in re.findall(r"`(quire_\w+)`", SAID)}
    # What an answer or the documents of operation need not be told: it is plain from its name.
    assert there - said <= {"quire_answer_tokens", "quire_http_requests_open"}
    assert said <= there
    assert not names(REGISTRY)  # nothing of ours is in the one that all libraries share


def test_every_scope_is_named():
    assert all(f"| `{scope}` |" in SAID for scope in SCOPES)


def test_the_commands_exist():
    known = build_parser()[1].choices
    for command in re.findall(r"quire (\w+)", SAID):
        assert command in known or command == "doctor"  # which stands in the room above
