"""A request's head goes in; who asks comes out, or the error that turns it away: a foreign host or page, no key, too narrow a key, too often.

By the head alone, before a byte of the body is read.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from .errors import BadKeys, Forbidden, ForeignHost, ForeignOrigin, MethodNotAllowed, NotFound, TooManyRequests, Unauthorized
from .keys import Key, KeyRing
from .rates import Buckets, Recent, neighbourhood
from .scopes import ANSWERS, Place
from .settings import Settings

# "testserver" is what Starlette's TestClient calls itself; no browser can be led to it by a name server.
OWN_NAMES = frozenset(["localhost", "127.0.0.1", "::1", "testserver"])
READING = frozenset(["GET", "HEAD", "OPTIONS"])
# Wrong keys of one address: so many at once, then so many a minute.
GUESSES, GUESSES_A_MINUTE = 10, 10


@dataclass(frozen=True)
class Caller:
    """Who asks: the id of the key, or "" where none is needed; and the name that its requests are counted under."""

    key: str
    counted: str


class Entrance:
    """Lets requests in, or not. Its memory is bounded."""

    def __init__(self, settings: Settings, ring: KeyRing | None = None) -> None:
        self.settings, self.ring = settings, ring or KeyRing(settings.home)
        self._requests, self._answers = Buckets(settings.rate), Buckets(settings.ask_rate)
        self._guesses, self._good = Buckets(GUESSES_A_MINUTE, GUESSES), Recent()

    def admit(self, method: str, at: Place, headers: Headers, address: str) -> Caller:
        """Raises ForeignHost, ForeignOrigin, Unauthorized, NotFound, MethodNotAllowed, Forbidden, TooManyRequests, and BadKeys where the
        file of keys is damaged."""
        locked = self._locked()
        self._check_host(headers, locked)
        self.check_origin(method, headers)
        if at.public:
            return Caller("", "")
        where = neighbourhood(address)
        key = self._key(headers, where) if locked else None
        if key is not None and at.scope is None:
            # Not left to the application: what it might make of the path nobody has looked at.
            if at.allow:
                raise MethodNotAllowed(f"{at.template} does not take {method[:20]}", at.allow)
            raise NotFound("there is nothing at this address")
        if key is not None and at.scope not in key.scopes:
            raise Forbidden(f"this key has {', '.join(key.scopes)}, and {at.template} needs {at.scope}; use a key with that scope")
        caller = Caller(key.id, f"key {key.id}") if key else Caller("", f"address {where}")
        self._count(self._requests, caller, "requests", "rate")
        if at.template in ANSWERS and method == "POST":
            self._count(self._answers, caller, "questions", "ask_rate")
        return caller

    def recheck(self, caller: Caller) -> None:
        """Raises Unauthorized where this caller would not be let in any more: its key has expired or was revoked, or there was none and now
        one is needed. For streams that stay open."""
        if not self._locked():
            return
        ring = self.ring.keys()
        if not any(key.id == caller.key and key.state(time.time()) == "active" for key in ring):
            raise Unauthorized("the key that this stream was opened with has expired or was revoked; come again with another one")

    def _locked(self) -> bool:
        """Whether keys are in force; so they are where their file is damaged, which is told when one is looked for."""
        try:
            return not self.settings.loopback or self.ring.in_force()
        except BadKeys:
            return True

    def _count(self, buckets: Buckets, caller: Caller, what: str, setting: str) -> None:
        if wait := buckets.take(caller.counted):
            raise TooManyRequests(
                f"more than {buckets.rate:,.0f} {what} a minute, the limit ({setting}); go on in {math.ceil(wait)} seconds", wait
            )

    def _key(self, headers: Headers, where: str) -> Key:
        """The key that was presented. An address that has guessed too often learns nothing more, and keys that it used before go on working."""
        word, _, presented = headers.get("authorization", "").partition(" ")
        key = self.ring.find(presented.strip()) if word.lower() == "bearer" else None
        if key is not None and (key.id, where) in self._good:
            return key
        presents = bool(presented.strip())
        if presents and (wait := self._guesses.wait(where) if key else self._guesses.take(where)):
            raise TooManyRequests(f"too many keys that are none from this address; try again in {math.ceil(wait)} seconds", wait)
        if key is None:
            raise Unauthorized(
                "this key is not known here, has expired or was revoked; `quire key create` makes one"
                if presents
                else "an API key is needed: send it as Authorization: Bearer qk_...; `quire key create` makes one"
            )
        self._good.note((key.id, where))
        return key

    def _check_host(self, headers: Headers, locked: bool) -> None:
        host = headers.get("host", "")
        # A name server may point any name at 127.0.0.1; a page under that name would then read everything here. Behind a key it reads
        # nothing, and a proxy before this server may have a name of its own.
        if not locked and _name(host) not in OWN_NAMES:
            raise ForeignHost(
                f"this server answers to localhost and 127.0.0.1 alone, not to {host[:80]!a}; use one of these in the address"
            )

    def check_origin(self, method: str, headers: Headers) -> None:
        """A form on any site can post here without asking first; only this server's own page may, and those of `cors_origins`."""
        origin = headers.get("origin")
        if method in READING or origin is None or self.allowed(origin):
            return
        if _netloc(origin) != headers.get("host", "").lower():
            raise ForeignOrigin(
                f"a page of {origin[:80]!a} cannot change anything here; use this server's own page, or name it in cors_origins"
            )

    def allowed(self, origin: str) -> bool:
        """Whether it is one of `cors_origins`, letter by letter."""
        return origin.lower() in self.settings.cors_origins

    def preflight(self, method: str, headers: Headers) -> dict[str, str] | None:
        """What a browser is told that asks before it sends; None where it is no such question, or the site may not."""
        origin = headers.get("origin", "")
        if method != "OPTIONS" or "access-control-request-method" not in headers or not self.allowed(origin):
            return None
        return {
            **self.shared(headers),
            "access-control-allow-methods": "GET, POST, PUT, DELETE",
            "access-control-allow-headers": "authorization, content-type, accept, idempotency-key, last-event-id",
            "access-control-max-age": "600",
        }

    def shared(self, headers: Headers) -> dict[str, str]:
        """The headers that let a page of `cors_origins` read the answer; none for others, and no cookies for anybody."""
        if not self.settings.cors_origins:
            return {}
        origin = headers.get("origin", "")
        if not self.allowed(origin):
            return {"vary": "Origin"}
        exposed = "x-request-id, retry-after, idempotent-replay, x-quire-ignored"
        return {"access-control-allow-origin": origin, "access-control-expose-headers": exposed, "vary": "Origin"}


def _name(host: str) -> str:
    """`name`, `name:port` or `[::1]:port` -> the name; "" for what is none of these."""
    if not host.startswith("["):
        return host.partition(":")[0].lower()
    name, bracket, rest = host[1:].partition("]")
    return name if bracket and (not rest or rest.startswith(":")) else ""


def _netloc(origin: str) -> str:
    """What stands behind the scheme; "" for an origin that is none (`null`, half an IPv6 address), so that it is nobody's own."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""
