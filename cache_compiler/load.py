"""A local model directory goes in; a `Backbone` comes out that has proved its tap, or the error that says what is wrong with the directory."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from .backbone import Backbone
from .card import TEXT, Card, read_card
from .errors import ModelNotFound, UnsupportedFamily
from .families import FAMILIES, Family
from .selfcheck import verify
from .smollm2 import CARD, smollm2_directory

READER = Path(__file__).resolve().parent / "reader"
# The models that come with the product. Whoever asks one is told what it can and cannot do.
EMBEDDED = ("reader", "smollm2")


def load_backbone(
    model: str | Path = "reader", dtype: str = "auto", device: str | None = None, attention: str = "sdpa", cache: Path | None = None
) -> Backbone:
    """Load a model from a local directory ("reader": the embedded one; "smollm2": the packaged one) and check its tap.

    `cache`: where the packaged one is kept when it is converted, as `smollm2_directory` takes it.

    Raises:
        ModelNotFound: no such directory or package, or a file or a weight of it is missing or cannot be read.
        UnsupportedFamily: the architecture has no row in `FAMILIES`.
        TapMismatch: the self-check failed.
        TemplateError: the chat template cannot be taken apart.
        StoreUnwritable: the packaged one cannot be converted for want of room.
    """
    import transformers
    from transformers import AutoTokenizer

    directory, name, card = _found(model, cache)
    _require(directory, "config.json")
    family = _family(directory)
    if family.image_processor is not None:
        _require(directory, "preprocessor_config.json")
    _require(directory, "tokenizer_config.json")
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        with _quiet(transformers):
            network, report = getattr(transformers, family.model).from_pretrained(
                directory, local_files_only=True, dtype=dtype, attn_implementation=attention, use_safetensors=True, output_loading_info=True
            )
            processor = None
            if family.image_processor is not None:
                processor = getattr(transformers, family.image_processor).from_pretrained(directory, local_files_only=True)
            tokenizer = AutoTokenizer.from_pretrained(directory, local_files_only=True)
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise ModelNotFound(f"{directory}: cannot be loaded ({error}); download it again") from error
    if report["missing_keys"]:
        # The library would go on with random numbers in their place.
        raise ModelNotFound(f"{directory}: no weights for {', '.join(sorted(report['missing_keys'])[:3])}, ...; download it again")
    card = card or read_card(directory, TEXT if processor is None else None)
    backbone = Backbone(network.to(device), tokenizer, processor, family, name, card, directory)
    verify(backbone)
    return backbone


def _found(model: str | Path, cache: Path | None) -> tuple[Path, str, Card | None]:
    """(directory, name, the card where the directory cannot hold one)"""
    if str(model) == "smollm2":
        return smollm2_directory(cache), "smollm2", CARD
    directory = READER if str(model) == "reader" else Path(model)
    return directory, "reader" if directory == READER else directory.name, None


def _require(directory: Path, name: str) -> None:
    if not (directory / name).is_file():
        raise ModelNotFound(f"{directory}: no {name}; give a local directory in the Hugging Face layout, 'reader' or 'smollm2'")


def _family(directory: Path) -> Family:
    path = directory / "config.json"
    try:
        kind = str(json.loads(path.read_text(encoding="utf-8"))["model_type"])
    except (ValueError, KeyError, TypeError) as error:
        raise ModelNotFound(f"{path}: no model type to be read ({error!r}); download it again") from error
    if kind not in FAMILIES:
        raise UnsupportedFamily(f"{directory}: model type {kind!r} has no adapter; there are: {', '.join(sorted(FAMILIES))}")
    return FAMILIES[kind]


@contextlib.contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """No progress bar for a model that loads in a tenth of a second; warnings stay."""
    logging = transformers.utils.logging
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
