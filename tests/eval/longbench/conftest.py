"""What the tests of LongBench share: the fixture's records, the reader, and an arm that says what it is told to."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch

from cache_compiler.backbone import Backbone
from cache_compiler.load import load_backbone
from cache_compiler.tiny import random_backbone
from eval.longbench.arms import Reply
from eval.longbench.records import Record, read

FIXTURES = Path(__file__).parent / "fixtures"


@dataclass
class Scripted:
    """An arm without a model, for what a run does around one. `says` may raise; it is told how many calls came before."""

    name: str
    says: Callable[[Record, int], str]
    asked: list[str] = field(default_factory=list)

    def answer(self, task: str, record: Record) -> Reply:
        self.asked.append(f"{task}/{record.id}")
        return Reply(self.says(record, len(self.asked) - 1), tokens=3, first_token_seconds=0.5, rows=7)


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def fixtures() -> Path:
    return FIXTURES


@pytest.fixture(scope="session")
def rows() -> dict[str, list[Record]]:
    return read(FIXTURES)


@pytest.fixture(scope="session")
def backbone() -> Backbone:
    return load_backbone("reader")


@pytest.fixture(scope="session")
def llama() -> Backbone:
    """A random model that reads text alone."""
    return random_backbone(family="llama")


@pytest.fixture
def scripted() -> type[Scripted]:
    return Scripted
