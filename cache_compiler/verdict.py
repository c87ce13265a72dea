"""What the doctor found of a model goes in; a `Verdict` comes out, and is kept where the page caches of that identity are.

    <root>/<identity>/verdict.json             of this home, by `quire doctor`
    verdicts/*.json, beside this file          of the embedded models, made by the same command

It speaks of an identity, as caches do: other weights, another number type or another template have no verdict yet. The page style is
left out, and so is the store's format: they decide which pages there are, not whether the model's caches of them are exact.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from .errors import BadVerdict
from .files import write_atomic
from .identity import Identity

Word = Literal["trusted", "degraded", "refused"]

BUNDLED = Path(__file__).resolve().parent / "verdicts"
FILE = "verdict.json"
_NOT_THE_MODEL = {"style", "store"}


@dataclass(frozen=True)
class Verdict:
    """One examination of one model. `reasons` say in sentences why it is not trusted; a trusted model has none."""

    word: Word
    reasons: tuple[str, ...]
    figures: Mapping[str, Any]  # all that was measured, as the doctor's report has it
    identity: Mapping[str, str]
    when: str  # ISO 8601, UTC
    versions: Mapping[str, str]  # quire, torch, transformers, python, device

    def speaks_of(self, identity: Identity) -> bool:
        """Whether it is of this model: every field that makes its caches what they are is the same."""
        ours = identity.as_mapping()
        return set(self.identity) == set(ours) and all(self.identity[name] == ours[name] for name in set(ours) - _NOT_THE_MODEL)


def keep_verdict(folder: Path, verdict: Verdict) -> Path:
    """Write it into the folder of its identity, over an older one. Raises StoreUnwritable."""
    path = folder / FILE
    write_atomic(path, encode_verdict(verdict))
    return path


def find_verdict(folder: Path, identity: Identity) -> Verdict | None:
    """The one kept in the folder of this identity, else a bundled one; None: nobody has examined this model.

    Raises BadVerdict: the folder's file cannot be read, or is of another identity (a copied or edited store).
    """
    own = folder / FILE
    if own.exists():
        verdict = read_verdict(own)
        if not verdict.speaks_of(identity):
            raise BadVerdict(f"{own}: it speaks of another model than the one loaded; run `quire doctor` on this one again")
        return verdict
    return next((verdict for path in sorted(BUNDLED.glob("*.json")) if (verdict := read_verdict(path)).speaks_of(identity)), None)


def encode_verdict(verdict: Verdict) -> bytes:
    return json.dumps(asdict(verdict), sort_keys=True, indent=1, ensure_ascii=False).encode() + b"\n"


def read_verdict(path: Path) -> Verdict:
    """Raises BadVerdict on a file that is none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if set(found) != {field.name for field in fields(Verdict)} or found["word"] not in get_args(Word):
            raise ValueError("it has other fields or another word than a verdict has")
        return Verdict(**{**found, "reasons": tuple(found["reasons"])})
    except (OSError, ValueError, TypeError) as error:
        raise BadVerdict(f"{path}: cannot be read ({error}); run `quire doctor` on the model again") from error
