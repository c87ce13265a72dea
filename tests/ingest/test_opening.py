"""Opening a home: the model's card decides the style unless told otherwise, and one home serves several models side by side."""

from pathlib import Path

import pytest

from cache_compiler.backbone import Backbone
from ingest.home import Home
from ingest.opening import open_workshop
from renderer.errors import UnknownStyle
from retrieval.embedder import Embedder


def test_the_cards_style_is_taken_with_the_models_own_cell(tmp_path: Path, backbone: Backbone, embedder: Embedder) -> None:
    workshop = open_workshop(Home(tmp_path), backbone, embedder)
    assert workshop.style.name == backbone.card.style
    assert workshop.style.cell == backbone.cell
    workshop.close()


def test_two_styles_keep_their_caches_apart_in_one_home(tmp_path: Path, backbone: Backbone, embedder: Embedder) -> None:
    first = open_workshop(Home(tmp_path), backbone, embedder)
    second = open_workshop(Home(tmp_path), backbone, embedder, style="glyph-a4")
    assert first.store.folder != second.store.folder
    assert second.style.cell == backbone.cell
    first.close()
    second.close()


def test_an_unknown_style_is_named(tmp_path: Path, backbone: Backbone, embedder: Embedder) -> None:
    with pytest.raises(UnknownStyle, match="baroque"):
        open_workshop(Home(tmp_path), backbone, embedder, style="baroque")
