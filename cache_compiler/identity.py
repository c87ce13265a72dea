"""A backbone, a style and a condition go in; an `Identity` comes out: everything that must match before a stored cache may be used."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from .backbone import Backbone
from .errors import IdentityMismatch
from .weights import weights_digest

# Grows when a file that the store writes could no longer be read as it was meant; `formats.CHANGES` then says how the files of before become so.
STORE_FORMAT = "1"

# What a configuration says of where and by whom it was saved.
_NOT_THE_MODEL = {"_name_or_path", "transformers_version"}


@dataclass(frozen=True)
class Identity:
    """What made a cache. Two caches are the same thing only if every field agrees.

    All fields are strings, so that they can be stored anywhere.
    """

    model: str  # architecture, not a path: the same weights in another folder are the same model
    weights: str  # SHA-256 over the weight files
    config: str  # SHA-256 of the model's configuration: rotation, norms and activations decide the keys as much as weights do
    dtype: str
    processor: str  # SHA-256 of what makes a page the model's own: the image processor's settings, or of a model of text its tokenizer
    template: str  # SHA-256 of the derived template
    condition: str  # template | free | dummy-k
    style: str  # fingerprint of the page style
    transformers: str  # major version
    store: str  # store format

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()

    def as_mapping(self) -> dict[str, str]:
        return dict(asdict(self))

    @classmethod
    def from_mapping(cls, stored: Mapping[str, str]) -> Identity:
        """Raises IdentityMismatch when the stored fields are not this version's."""
        names = {field.name for field in fields(cls)}
        if set(stored) != names:
            odd = ", ".join(sorted(names ^ set(stored)))
            raise IdentityMismatch(f"the store's identity has other fields than this version of Quire knows: {odd}", field="store")
        return cls(**stored)

    def require_match(self, stored: Identity, where: str) -> None:
        """Raises IdentityMismatch naming the first field that differs and both values. `self` is what is loaded."""
        for field in fields(self):
            ours, theirs = getattr(self, field.name), getattr(stored, field.name)
            if ours != theirs:
                raise IdentityMismatch(
                    f"{where}: made with another {field.name} ({_short(theirs)} in the store, {_short(ours)} loaded); "
                    f"load that model and style again, or ingest into a new collection",
                    field=field.name,
                    stored=theirs,
                    loaded=ours,
                )


def identify(backbone: Backbone, style_fingerprint: str, condition: str = "template", memo: Path | None = None) -> Identity:
    """The identity of caches that this backbone compiles from pages of this style. `memo`: as `weights_digest` takes it."""
    import transformers

    return Identity(
        model=str(backbone.model.config.model_type),
        weights=weights_digest(backbone, memo),
        config=_digest(_config(backbone)),
        dtype=str(backbone.dtype).removeprefix("torch."),
        processor=_digest(_processor(backbone)),
        template=backbone.template.fingerprint,
        condition=condition,
        style=style_fingerprint,
        transformers=transformers.__version__.partition(".")[0],
        store=STORE_FORMAT,
    )


def _processor(backbone: Backbone) -> dict[str, Any]:
    """Of an image page the tokenizer gives the prefix alone, which the template's digest covers; of a text page it gives every id."""
    if backbone.image_processor is not None:
        return dict(backbone.image_processor.to_dict())
    return dict(json.loads(backbone.tokenizer.backend_tokenizer.to_str()))


def _config(backbone: Backbone) -> dict[str, Any]:
    """The model's configuration as its directory has it: what the library adds of its own is bound by its major version."""
    saved = backbone.directory / "config.json" if backbone.directory is not None else None
    found = json.loads(saved.read_text(encoding="utf-8")) if saved is not None else backbone.model.config.to_dict()
    return {name: value for name, value in found.items() if name not in _NOT_THE_MODEL}


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def _short(value: str) -> str:
    return value if len(value) <= 16 else value[:12] + "…"
