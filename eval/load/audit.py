"""A server at rest and a ledger go in; what the server must still be true of is held against it, over HTTP and then on its disk.

Findings go into the ledger as breaches. In order: nothing waits for ever, every acknowledged upload is there, nothing deleted is, `quire verify`
finds nothing, and no byte of a deleted document's own value is in any file of the home.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eval.bench.client import ROOT

from .clients import COLLECTION, FINAL
from .ledger import Entry, Ledger
from .wire import Lost, Wire

REST_SECONDS = 180.0
# Bytes of a container's member that are looked into: no upload of a run has more, but for the bombs.
LARGEST = 1_000_000
# Questions about deleted documents that are asked at the end.
ASKED = 30


def over_http(wire: Wire, ledger: Ledger) -> dict[str, Any]:
    """The server's own word of what it has, once no job waits. Raises Lost where it is not there any more."""
    waiting = _rest(wire, ledger)
    listed = {row["id"]: row for row in _all(wire, f"/v1/documents?collection={COLLECTION}", "documents")}
    live, gone = ledger.live(), ledger.gone()
    for entry in live:
        if entry.document not in listed:
            ledger.breach("lost upload", f"{entry.paper.name} was acknowledged and done as {entry.document}, and is not listed")
        else:
            _whole(wire, ledger, entry)
    for entry in gone:
        if entry.document in listed:
            ledger.breach("deleted", f"{entry.document} ({entry.paper.name}) is listed after its deletion was acknowledged")
    names = [row["name"] for row in listed.values()]
    for name in {name for name in names if names.count(name) > 1}:
        ledger.breach("idempotency", f"{name} is there more than once")
    known = {entry.document for entry in ledger.entries.values()}
    strangers = [row["name"] for row in listed.values() if row["id"] not in known]
    _asked(wire, ledger, gone[-ASKED:])
    found = sum(_found(wire, entry) for entry in live)
    return {
        "waiting": waiting,
        "documents": len(listed),
        # A run that ends while an upload is on its way leaves one that the server has and the client never heard of.
        "unheard_of": len(strangers),
        "live": len(live),
        "live_found_in_top_4": found,
        "gone": len(gone),
        "stats": wire.send("GET", "/v1/stats").body,
    }


def on_disk(home: Path, ledger: Ledger) -> dict[str, Any]:
    """`quire verify`, and the bytes of every file of the home. The server has stopped."""
    done = subprocess.run(
        [sys.executable, "-m", "app", "verify", "--json", "--home", str(home)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    try:
        verify = json.loads(done.stdout)
    except ValueError:
        verify = None
    if done.returncode != 0 or verify is None:
        ledger.breach("verify", f"quire verify ended {done.returncode}: {(done.stderr.strip() or done.stdout.strip())[-2000:]}")
    for path, value in left_behind(home, ledger.gone()):
        ledger.breach("left behind", f"{value!r} of a deleted document is in {path.relative_to(home)}")
    return {"exit": done.returncode, "findings": verify}


def left_behind(home: Path, gone: list[Entry]) -> Iterator[tuple[Path, str]]:
    """Every (file, value or name) of a deleted document whose bytes can still be read."""
    wanted = [word.encode() for entry in gone for word in (entry.paper.value, entry.paper.name.partition(".")[0])]
    for path in sorted(home.rglob("*")):
        if not path.is_file() or path.is_symlink():
            continue
        data = _plain(path.read_bytes())
        for word in wanted:
            if word in data:
                yield path, word.decode()


def _plain(data: bytes) -> bytes:
    """The bytes, and behind them those of the members of a container: an upload that is still kept would hide a text in there."""
    if not data.startswith(b"PK"):
        return data
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as container:
            return b"\0".join(
                [data, *(container.read(name) for name in container.namelist() if container.getinfo(name).file_size < LARGEST)]
            )
    except zipfile.BadZipFile:
        return data


def _rest(wire: Wire, ledger: Ledger) -> int:
    """Jobs that are not final after three minutes without anybody uploading."""
    end = time.monotonic() + REST_SECONDS
    while True:
        waiting = [job for job in _all(wire, f"/v1/jobs?collection={COLLECTION}", "jobs") if job["state"] not in FINAL]
        if not waiting:
            return 0
        if time.monotonic() > end:
            ledger.breach("stuck", f"{len(waiting)} jobs have no end after {REST_SECONDS:.0f} s at rest, the first: {waiting[0]}")
            return len(waiting)
        time.sleep(0.5)


def _all(wire: Wire, path: str, name: str) -> Iterator[dict[str, Any]]:
    """A list, page by page."""
    after = ""
    while True:
        reply = wire.send("GET", f"{path}&limit=100" + (f"&after={after}" if after else ""))
        if reply.status == 404:
            return  # nothing was ever taken in
        if reply.status != 200:
            raise Lost(f"GET {path}: {reply.status} {reply.body}")
        yield from reply.body[name]
        after = reply.body.get("next") or ""
        if not after:
            return


def _whole(wire: Wire, ledger: Ledger, entry: Entry) -> None:
    reply = wire.send("GET", f"/v1/documents/{entry.document}")
    pages = reply.body["page_list"] if reply.status == 200 else []
    if not pages:
        ledger.breach("lost upload", f"{entry.document}: GET is {reply.status} with {len(pages)} pages")
    for page in pages[:1]:
        if (status := wire.send("GET", f"/v1/pages/{page['page']}.png").status) != 200:
            ledger.breach("lost upload", f"{entry.document}: the image of its page {page['page']} is {status}")


def _asked(wire: Wire, ledger: Ledger, gone: list[Entry]) -> None:
    for entry in gone:
        sent = time.monotonic()
        reply = wire.send("POST", "/v1/ask", {"question": entry.paper.question, "collection": COLLECTION, "max_tokens": 12})
        ledger.status("POST /v1/ask", reply.status)
        if reply.status != 200:
            # With everything deleted there is nothing to answer from: that is no breach.
            continue
        lines = "\n".join(line["text"] for one in reply.body["citations"] for line in one["lines"])
        named = {one["document"] for one in (*reply.body["citations"], *reply.body["plan"]["picks"])}
        for sentence in ledger.known_of(sent, named, reply.body["text"] + "\n" + lines):
            ledger.breach("deleted", sentence)


def _found(wire: Wire, entry: Entry) -> bool:
    reply = wire.send("POST", "/v1/search", {"query": entry.paper.question, "collection": COLLECTION, "top_k": 4})
    return reply.status == 200 and any(hit["document"] == entry.document for hit in reply.body["hits"])
