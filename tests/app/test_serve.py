"""Serving in a process of its own: it says where it is, ends in good order whatever is open, and does not stay where it can never be ready."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from app.errors import BadSettings, RemoteRefused
from app.keys import KeyRing
from app.serve import serve
from app.settings import Settings

ROOT = Path(__file__).resolve().parent.parent.parent


def start(*words: str, **variables: str) -> subprocess.Popen:
    env = {name: value for name, value in os.environ.items() if not name.startswith("QUIRE_")}
    log = tempfile.TemporaryFile("w+")  # noqa: SIM115
    process = subprocess.Popen(
        [sys.executable, "-m", "app", "serve", "--port", "0", *words],
        cwd=ROOT,
        env={**env, "OMP_NUM_THREADS": "1", **variables},
        text=True,
        stdout=subprocess.PIPE,
        # To a file: a pipe that nobody reads while the server talks would be full one day, and it would wait.
        stderr=log,
    )
    process.log = log
    return process


@contextlib.contextmanager
def serving(*words: str, headers: dict[str, str] | None = None, until: str = "/readyz") -> Iterator[tuple[subprocess.Popen, httpx.Client]]:
    """A server that is ready, and a client of it."""
    process = start(*words)
    try:
        url = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline()).group()
        with httpx.Client(base_url=url, headers=headers, timeout=60) as client:
            end = time.monotonic() + 120
            while time.monotonic() < end:
                with contextlib.suppress(httpx.TransportError):
                    if client.get(until).status_code == 200:
                        break
                time.sleep(0.05)
            yield process, client
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def ended(process: subprocess.Popen) -> tuple[int, str]:
    process.wait(timeout=120)
    process.log.seek(0)
    return process.returncode, process.log.read()


def events(lines: Iterator[str]) -> Iterator[tuple[str, dict]]:
    name = ""
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


def test_an_address_beyond_this_machine_needs_a_key(tmp_path):
    with pytest.raises(RemoteRefused, match="quire key create"):
        serve(Settings(home=tmp_path, host="0.0.0.0"))


def test_a_port_in_use_is_told_before_the_model_is_loaded(tmp_path):
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(BadSettings, match=r"Address already in use; choose another --port"),
    ):
        serve(Settings(home=tmp_path / "h", port=taken.getsockname()[1]))
    assert not (tmp_path / "h").exists()


def test_a_house_that_cannot_be_opened_ends_the_server_with_its_own_exit_code(tmp_path):
    process = start("--home", str(tmp_path), "--model", str(tmp_path / "nothing"))
    code, log = ended(process)
    assert code == 7
    assert log.strip().splitlines()[-1].startswith(f"quire: {tmp_path / 'nothing'}: no config.json")
    assert "Traceback" not in log


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("serve")


def test_a_whole_session_leaves_no_word_of_it_in_the_log(home, records):
    """Upload, a file that fails, questions whole and streamed, a deletion, a wrong key, a narrow one, one that is revoked: and then the log
    is read."""
    broken, ring = b"%PDF-1.7 a sentence that is no PDF", KeyRing(home)
    (_, token), (_, narrow) = ring.create("alice", ["read", "ask", "write"]), ring.create("bob", ["read"])
    with serving("--home", str(home), "--log-format", "json", headers={"authorization": f"Bearer {token}"}) as (process, client):
        assert "server" not in client.get("/v1/model").headers
        files = [("files", (path.name, path.read_bytes())) for path in records] + [("files", ("secretfile.pdf", broken))]
        jobs = client.post("/v1/documents", files=files, data={"collection": "private-matters"}).json()["jobs"]
        while any(job["state"] in ("queued", "running") for job in jobs):
            time.sleep(0.3)
            jobs = [client.get(f"/v1/jobs/{job['id']}").json() for job in jobs]
        assert [job["state"] for job in jobs] == ["done"] * len(records) + ["failed"]
        question = {"question": "Whose is the ploverfield?", "collection": "private-matters"}
        answer = client.post("/v1/ask", json=question).json()
        with client.stream("POST", "/v1/ask", json={**question, "stream": True, "conversation": "talk-of-secrets"}) as response:
            assert [name for name, _ in events(response.iter_lines())][-1] == "done"
        client.post("/v1/ask", json={**question, "collection": "nothing-there"})
        client.get("/v1/pages/secretpage")
        client.get("/v1/secretpath?secret=1", headers={"authorization": "Bearer qk_secretkey"})
        assert client.delete(f"/v1/documents/{jobs[0]['document']}").status_code == 200
        # The lane may be taken still: the pace of full prefill is measured once nobody waits.
        while "quire_lane_length 0.0" not in (counted := client.get("/metrics").text):
            time.sleep(0.1)
        refused = client.post("/v1/ask", json=question, headers={"authorization": f"Bearer {narrow}"})
        assert refused.json()["error"]["type"] == "Forbidden"
        ring.revoke("alice")
        assert client.get("/v1/collections").status_code == 401
        process.send_signal(signal.SIGTERM)
        code, log = ended(process)
    assert code == 0
    lines = [json.loads(line) for line in log.splitlines()]
    assert all(line["time"] and line["level"] and line["logger"] and line["message"] for line in lines)
    words = ["ploverfield", token, narrow, answer["text"], "secret", "private-matters", *(path.stem for path in records)]
    words += [line for path in records for line in path.read_text().splitlines() if line]
    for text in (log.lower(), counted.lower()):
        assert not [word for word in words if word.lower() in text]
    asked = [line for line in lines if line.get("route") == "/v1/ask"]
    assert [line["status"] for line in asked] == [200, 200, 404, 403]
    walks = [line for line in lines if line["logger"] == "quire.ask"]
    assert [line["request_id"] for line in walks] == [line["request_id"] for line in asked[:2]]
    assert 'quire_questions_total{outcome="answered"} 2.0' in counted
    assert 'quire_questions_total{outcome="failed"} 1.0' in counted
    assert 'quire_ingest_stage_seconds_count{stage="compile"} 3.0' in counted
    assert 'quire_jobs{state="failed"} 1.0' in counted
    assert 'quire_disk_bytes{kind="caches at 72"}' in counted
    assert "quire_lane_length 0.0" in counted
    assert 'route="/v1/ask",status="200"} 2.0' in counted


LONG = {"question": "Whose is the farm?", "max_tokens": 4096, "temperature": 5.0, "stream": True}


def test_told_to_stop_it_takes_no_new_question_lets_answers_end_and_watchers_go_and_hands_back_what_is_left(home, records):
    """Three answers one after the other, of which the last cannot be done within the grace."""
    KeyRing(home).path.unlink(missing_ok=True)  # the session's: without it nobody needs one
    with serving("--home", str(home), "--grace", "0.3") as (process, client), ThreadPoolExecutor(4) as pool:

        def ask() -> tuple[str, dict]:
            with client.stream("POST", "/v1/ask", json={**LONG, "collection": "private-matters"}) as response:
                if response.status_code == 503:  # handed back before its turn came
                    return "failed", json.loads(response.read())
                return list(events(response.iter_lines()))[-1]

        def watch() -> bool:
            with client.stream("GET", "/v1/jobs/events") as response:
                return bool(list(response.iter_lines())) or True  # it ends, for it was let go

        asked, watching = [pool.submit(ask) for _ in range(3)], pool.submit(watch)
        while "quire_lane_length 3.0" not in client.get("/metrics").text:
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        while (ready := client.get("/readyz")).status_code == 200:
            time.sleep(0.01)
        refused = client.post("/v1/ask", json=LONG)
        assert "shutting down" in ready.json()["reason"]
        assert (refused.status_code, refused.json()["error"]["type"]) == (503, "ShuttingDown")
        assert int(refused.headers["retry-after"]) >= 1
        # Those that ended within the grace did so, and the others were told to ask again: none just broke off.
        told = [one.result() for one in asked]
        assert {name for name, _ in told} <= {"done", "failed"}
        handed_back = [data["error"] for name, data in told if name == "failed"]
        assert handed_back
        assert all(error["type"] == "ShuttingDown" and "ask again" in error["message"] for error in handed_back)
        assert watching.result()
        code, log = ended(process)
        assert code == 0
        assert "Traceback" not in log


def test_a_second_signal_ends_it_at_once(tmp_path):
    with serving("--home", str(tmp_path), "--grace", "600", until="/livez") as (process, _):
        process.send_signal(signal.SIGSTOP)  # so that it does not end between the two
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        code, log = ended(process)
        assert code in (128 + signal.SIGINT, 128 + signal.SIGTERM)
        assert "ended at once" in log
