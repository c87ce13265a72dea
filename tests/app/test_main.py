"""The application's life: cheap to import, alive at once, ready when the house is, and plain about why it is not."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from app import main
from app.main import create_app
from app.settings import Settings
from cache_compiler.errors import ModelNotFound
from ingest.errors import HomeBusy

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def settings(tmp_path) -> Settings:
    return Settings(home=tmp_path)


def test_importing_the_application_loads_no_model_and_no_index():
    code = "import sys, app.main, app.command; print(sorted({'torch', 'transformers', 'faiss', 'pymupdf'} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_it_is_alive_but_not_ready_while_the_house_is_being_loaded(settings):
    let_go = threading.Event()

    def slow(settings):
        let_go.wait(10)
        raise ModelNotFound("no model there")

    with TestClient(create_app(settings, slow)) as client:
        assert client.get("/livez").json() == {"alive": True}
        response = client.get("/readyz")
        assert (response.status_code, response.json()) == (503, {"ready": False, "reason": "the model is being loaded"})
        asked = client.post("/v1/ask", json={"question": "why?"})
        assert (asked.status_code, asked.json()["error"]["type"]) == (503, "NotReady")
        assert int(asked.headers["retry-after"]) >= 1
        let_go.set()


def reason_of(settings, error, caplog) -> tuple[str, list[Exception]]:
    heard: list[Exception] = []

    def fails(settings):
        raise error

    with TestClient(create_app(settings, fails, heard.append)) as client:
        while not heard:
            time.sleep(0.01)
        response = client.get("/readyz")
        assert response.status_code == 503
        assert client.get("/livez").status_code == 200
        return response.json()["reason"], heard


def test_a_house_that_cannot_be_opened_says_why(settings, caplog):
    reason, heard = reason_of(settings, ModelNotFound("no model at that place"), caplog)
    assert reason == "no model at that place"
    assert isinstance(heard[0], ModelNotFound)


def test_an_unknown_fault_while_opening_is_logged_and_not_told(settings, caplog):
    reason, _ = reason_of(settings, ZeroDivisionError("secret"), caplog)
    assert "secret" not in reason
    assert "ZeroDivisionError" in caplog.text


def test_the_schema_names_every_address_of_the_contract(settings):
    paths = create_app(settings).openapi()["paths"]
    contract = {
        "/v1/documents": {"get", "post"},
        "/v1/stats": {"get"},
        "/v1/documents/text": {"post"},
        "/v1/documents/delete": {"post"},
        "/v1/documents/{document}": {"get", "delete"},
        "/v1/jobs": {"get"},
        "/v1/jobs/events": {"get"},
        "/v1/jobs/{job}": {"get"},
        "/v1/jobs/{job}/events": {"get"},
        "/v1/jobs/{job}/cancel": {"post"},
        "/v1/jobs/{job}/retry": {"post"},
        "/v1/collections": {"get"},
        "/v1/collections/{name}": {"get", "put", "delete"},
        "/v1/search": {"post"},
        "/v1/ask": {"post"},
        "/v1/conversations/{conversation}": {"delete"},
        "/v1/pages/{key}.png": {"get"},
        "/v1/pages/{key}": {"get"},
        "/v1/patches": {"get"},
        "/v1/chat/completions": {"post"},
        "/v1/models": {"get"},
        "/v1/models/{model}": {"get"},
        "/v1/model": {"get"},
        "/livez": {"get"},
        "/readyz": {"get"},
        "/metrics": {"get"},
    }
    assert {path: set(methods) for path, methods in paths.items()} == contract
    form = paths["/v1/documents"]["post"]["requestBody"]["content"]["multipart/form-data"]["schema"]["properties"]
    assert sorted(form) == ["collection", "files", "replace"]


def test_without_the_page_there_is_still_the_interface(settings, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(main, "WEB", tmp_path / "nothing")
    client = TestClient(create_app(settings, None))
    assert "no index.html" in caplog.text
    response = client.get("/")
    assert response.status_code == 404
    assert response.json()["error"] == {"type": "NotFound", "message": "there is nothing at /", "detail": {}}


@pytest.mark.parametrize("part", ["jobs", "keeper"])
def test_a_house_that_was_opened_and_cannot_be_begun_is_closed(settings, part):
    class Part:
        def __init__(self, busy: bool) -> None:
            self.busy = busy

        def start(self) -> None:
            if self.busy:
                raise HomeBusy("another process has the home")

    class Opened:
        jobs, keeper = Part(part == "jobs"), Part(part == "keeper")
        closed = threading.Event()

        def close(self) -> None:
            self.closed.set()

    house, heard = Opened(), []
    with TestClient(create_app(settings, lambda _: house, heard.append)) as client:
        assert house.closed.wait(20)
        while not heard:
            time.sleep(0.01)
        assert client.get("/readyz").json()["reason"] == "another process has the home"


def test_what_is_got_has_a_head_without_a_body(settings):
    client = TestClient(create_app(settings, None))
    for path, status in (
        ("/", 200),
        ("/livez", 200),
        ("/readyz", 503),
        ("/static/base.css", 200),
        ("/v1/jobs/events", 405),
        ("/v1/ask", 405),
    ):
        response = client.head(path)
        assert (path, response.status_code, response.content) == (path, status, b"")
