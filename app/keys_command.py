"""`quire key`: what was typed goes in; a key is made and told this once, all are listed, or one is revoked."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

from . import printed
from .errors import BadRequest
from .keys import Key, KeyRing
from .options import settings_of


def key(args: argparse.Namespace) -> int:
    """Raises BadRequest for words that do not belong together, and BadKeys."""
    ring = KeyRing(settings_of(args).home)
    if args.act == "create":
        return _create(args, ring)
    if args.act == "revoke":
        if args.which is None:
            raise BadRequest("name the key: `quire key revoke ID|NAME`; `quire key list` shows them")
        gone = ring.revoke(args.which)
        print(_json(_told(gone)) if args.json else f"revoked {gone.name} ({gone.id}); a server that runs has taken it up already")
        return 0
    keys = ring.keys()
    if args.json:
        print(_json([_told(one) for one in keys]))
    elif not keys:
        print("There is no key: the server serves this machine alone, and asks for none. `quire key create` makes one.")
    else:
        rows = [(one.id, one.name, ",".join(one.scopes), one.state(time.time()), _day(one.created), _day(one.expires)) for one in keys]
        print(printed.table(("id", "name", "scopes", "state", "created", "expires"), rows))
    return 0


def _create(args: argparse.Namespace, ring: KeyRing) -> int:
    if args.which is not None or not args.name:
        raise BadRequest("say whose key it is: `quire key create --name NAME`")
    made, token = ring.create(args.name, [word.strip() for word in args.scopes.split(",") if word.strip()], args.expires)
    if args.json:
        print(_json({**_told(made), "key": token}))
        return 0
    # The key alone on standard output: KEY=$(quire key create --name ci)
    print("quire: this is told once and kept nowhere; send it as  Authorization: Bearer KEY", file=sys.stderr)
    print(token)
    return 0


def _told(one: Key) -> dict[str, Any]:
    state = one.state(time.time())
    return {
        "id": one.id,
        "name": one.name,
        "scopes": one.scopes,
        "state": state,
        "created": _day(one.created),
        "expires": _day(one.expires),
    }


def _day(when: float | None) -> str:
    return "" if when is None else time.strftime("%Y-%m-%d", time.gmtime(when))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)
