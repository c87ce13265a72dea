"""A loaded model's identity goes in; its verdict comes out, or the error that keeps the house shut: nobody has examined it, or it was refused."""

from __future__ import annotations

import shlex
from pathlib import Path

from cache_compiler.identity import Identity
from cache_compiler.verdict import Verdict, find_verdict

from .errors import ModelRefused, Unchecked
from .settings import Settings


def admitted(settings: Settings, identity: Identity, folder: Path) -> Verdict | None:
    """The verdict that the model may be used under. `folder`: where the home keeps what is of this identity.

    None: there is none, and `unchecked` says that somebody knows. A refusal stands whatever is said: what is wrong with that model is
    known, and its answers would be wrong without a sign of it.

    Raises:
        Unchecked: there is no verdict, and nobody said `unchecked`.
        ModelRefused: the doctor refused it.
        BadVerdict: the verdict's file cannot be read.
    """
    verdict = find_verdict(folder, identity)
    if verdict is None:
        if settings.unchecked:
            return None
        raise Unchecked(
            f"nobody has examined {settings.model} ({identity.dtype}) in this home: run `{doctor(settings)}`, which takes minutes, "
            "or use it as it is with --unchecked"
        )
    if verdict.word == "refused":
        raise ModelRefused(
            f"{settings.model}: refused on {verdict.when[:10]}: {'; '.join(verdict.reasons)}. Load another model or number type; "
            f"after a change of versions run `{doctor(settings)}` again"
        )
    return verdict


def doctor(settings: Settings) -> str:
    """The command that examines this model for this home."""
    words = ["quire", "doctor", settings.model, "--home", str(settings.home)]
    if settings.dtype != "auto":
        words += ["--dtype", settings.dtype]
    if settings.style is not None:
        words += ["--style", settings.style]
    return shlex.join(words)
