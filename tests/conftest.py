"""Fixtures that several rooms share: the sample data beside the checkout, and a quiet, offline process."""

import os
from pathlib import Path

import pytest

# Nothing in Quire needs a hub; a test that reached for one would hang or pass by luck.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_OFFLINE"] = "1"
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real documents, papers and the reader's card that lies beside the checkout."""
    path = ROOT.parent / "shared"
    if not (path / "data" / "docs" / "MANIFEST.tsv").exists():
        pytest.skip("the sample data folder ../shared is not beside this checkout")
    return path
