"""A file of API keys goes in; whose a presented key is comes out. Keys are made, listed and revoked here, and kept as digests alone.

A key is 256 random bits, so its SHA-256 is as hard to turn round as the key is to guess: a slow hash would protect nothing more, and every
request would pay for it. Once there is a key, keys are in force for good, revoked and expired ones too: nothing opens the house again
by accident. To do without keys, remove the file.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import threading
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from filelock import FileLock

from .errors import BadKeys
from .scopes import SCOPES

FILE = "keys.json"
MARK = "qk_"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._@-]{0,63}")
# A longer word is no key, and need not be hashed.
_LONGEST = 256
_FORMAT = 1


@dataclass(frozen=True)
class Key:
    """What is kept of a key: its digest, what it may do, and until when. Times are unix seconds."""

    id: str
    name: str
    scopes: tuple[str, ...]
    digest: str
    created: float
    expires: float | None = None
    revoked: float | None = None

    def state(self, now: float) -> str:
        """ "active", "expired" or "revoked"."""
        if self.revoked is not None:
            return "revoked"
        return "expired" if self.expires is not None and self.expires <= now else "active"


class KeyRing:
    """The keys of one home. Read again whenever the file has changed, so that a running server takes up a revocation at once."""

    def __init__(self, home: Path) -> None:
        self.path = home / FILE
        self._lock = threading.Lock()
        self._stamp: tuple[int, int, int] | None = None
        self._keys: tuple[Key, ...] = ()

    def keys(self) -> tuple[Key, ...]:
        """All of them, oldest first; none where there is no file. Raises BadKeys: the file cannot be read, or others may write to it."""
        with self._lock:
            try:
                told = self.path.stat()
            except FileNotFoundError:
                self._stamp, self._keys = None, ()
                return ()
            except OSError as error:
                # Not as if there were none; and `/livez` must not fail for it.
                raise BadKeys(f"{self.path}: cannot be looked at ({error.strerror or error}); mend the home's owner or mode") from error
            stamp = (told.st_mtime_ns, told.st_size, told.st_ino)
            if stamp != self._stamp:
                if told.st_mode & 0o022:
                    raise BadKeys(f"{self.path}: others may write to it, and so make keys of their own; chmod 600 {self.path}")
                self._keys = _read(self.path)
                self._stamp = stamp
            return self._keys

    def in_force(self) -> bool:
        """Whether any key was ever made here."""
        return bool(self.keys())

    def find(self, presented: str) -> Key | None:
        """The active key that `presented` is, in a time that does not tell how near it came to one."""
        keys, now = self.keys(), time.time()
        if len(presented) > _LONGEST:
            return None
        digest, found = _digest(presented), None
        for key in keys:
            same = hmac.compare_digest(key.digest, digest)
            found = key if same and key.state(now) == "active" else found
        return found

    def create(self, name: str, scopes: Iterable[str], days: float | None = None) -> tuple[Key, str]:
        """Make a key; returns what is kept, and the key itself, which is told this once. Raises BadKeys: a name that is taken or none."""
        wanted = tuple(scope for scope in SCOPES if scope in set(scopes))
        if unknown := set(scopes) - set(SCOPES):
            raise BadKeys(f"{', '.join(sorted(unknown))!a} is no scope; there are {', '.join(SCOPES)}")
        if not wanted:
            raise BadKeys(f"a key without a scope opens nothing; name one or more of {', '.join(SCOPES)}")
        if not NAME.fullmatch(name):
            raise BadKeys(f"{name[:80]!a} cannot name a key: use letters, digits, spaces and . _ @ -, at most 64")
        now, token = time.time(), MARK + secrets.token_urlsafe(32)
        key = Key(secrets.token_hex(4), name, wanted, _digest(token), now, None if days is None else now + days * 86_400)
        with self._writing():
            keys = self.keys()
            if any(other.name == name and other.state(now) == "active" for other in keys):
                raise BadKeys(f"there is an active key named {name!r} already; choose another name, or revoke that one first")
            self._write((*keys, key))
        return key, token

    def revoke(self, which: str) -> Key:
        """Revoke the key of that id or name; it stays in the list. Raises BadKeys: there is none, or several go by the name."""
        with self._writing():
            keys = self.keys()
            found = [key for key in keys if which in (key.id, key.name) and key.revoked is None]
            if len(found) != 1:
                said = "no key" if not found else f"{len(found)} keys"
                raise BadKeys(
                    f"{said} of the id or name {which[:80]!a} can be revoked; `quire key list` shows them, and their ids are unique"
                )
            gone = replace(found[0], revoked=time.time())
            self._write(tuple(gone if key is found[0] else key for key in keys))
        return gone

    def _writing(self) -> FileLock:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        return FileLock(self.path.with_name("keys.lock"), timeout=10)

    def _write(self, keys: tuple[Key, ...]) -> None:
        """Whole or not at all, and at no moment to be read by others."""
        data = json.dumps({"format": _FORMAT, "keys": [asdict(key) for key in keys]}, indent=1).encode()
        temporary = self.path.with_name(f"{FILE}.{os.getpid()}.unfinished")
        temporary.unlink(missing_ok=True)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(self.path)


def _read(path: Path) -> tuple[Key, ...]:
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        if told["format"] != _FORMAT:
            raise BadKeys(f"{path}: format {told['format']!r}, this version reads {_FORMAT}; use the version that wrote it")
        return tuple(Key(**{**item, "scopes": tuple(item["scopes"])}) for item in told["keys"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        # Not as if there were no keys: that would open the house.
        raise BadKeys(f"{path}: cannot be read ({type(error).__name__}); put back a copy, or remove it and make keys anew") from error


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
