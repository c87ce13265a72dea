"""Serving in a process of its own: it says where it is, stops in good order, and does not stay where it can never be ready."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from app.errors import BadSettings, RemoteRefused
from app.serve import serve
from app.settings import Settings

ROOT = Path(__file__).resolve().parent.parent.parent


def start(*words: str) -> subprocess.Popen:
    env = {name: value for name, value in os.environ.items() if not name.startswith("QUIRE_")}
    return subprocess.Popen(
        [sys.executable, "-m", "app", "serve", "--port", "0", *words],
        cwd=ROOT,
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_an_address_beyond_this_machine_needs_to_be_said_twice(tmp_path):
    with pytest.raises(RemoteRefused, match="--allow-remote"):
        serve(Settings(home=tmp_path, host="0.0.0.0"))


def test_a_port_in_use_is_told_before_the_model_is_loaded(tmp_path):
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(BadSettings, match=r"Address already in use; choose another --port"),
    ):
        serve(Settings(home=tmp_path / "h", port=taken.getsockname()[1]))
    assert not (tmp_path / "h").exists()


def test_it_says_where_it_is_becomes_ready_and_stops_in_good_order(tmp_path):
    process = start("--home", str(tmp_path))
    try:
        said = process.stdout.readline()
        url = re.search(r"http://127\.0\.0\.1:\d+", said).group()
        end = time.monotonic() + 120
        while time.monotonic() < end:
            try:
                if httpx.get(url + "/readyz").status_code == 200:
                    break
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        response = httpx.get(url + "/v1/model")
        assert response.json()["name"] == "reader"
        assert "server" not in response.headers
        process.send_signal(signal.SIGINT)
        _, log = process.communicate(timeout=60)
        assert process.returncode == 0
        assert "Traceback" not in log
        assert "GET /v1/model 200" in log
    finally:
        process.kill()


def test_a_house_that_cannot_be_opened_ends_the_server_with_its_own_exit_code(tmp_path):
    process = start("--home", str(tmp_path), "--model", str(tmp_path / "nothing"))
    _, log = process.communicate(timeout=120)
    assert process.returncode == 7
    assert log.strip().splitlines()[-1].startswith(f"quire: {tmp_path / 'nothing'}: no config.json")
    assert "Traceback" not in log
