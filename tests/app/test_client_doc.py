"""The client of docs/client.md, run as it stands there against a running server."""

import re
from pathlib import Path

import pytest

DOC = Path(__file__).resolve().parent.parent.parent / "docs" / "client.md"
TEXT = "Sunny gate:\n  opens at: nine\n  its fuel is coal\n  region: Clifai\n"


@pytest.fixture(scope="module")
def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", DOC.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def world(blocks) -> dict:
    found: dict = {}
    exec(compile(blocks[0], str(DOC), "exec"), found)
    return found


@pytest.fixture
def notes(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "notes.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_the_example_uploads_asks_cites_and_deletes(blocks, world, notes, live, capsys):
    example = blocks[1].replace("Quire()", f"Quire({live.url!r})")
    example = example.replace('Path("notes.txt")', 'Path("notes.txt"), collection="client"').replace('open?"', 'open?", "client"')
    exec(compile(example, str(DOC), "exec"), world)
    told = capsys.readouterr().out
    assert "notes.txt, page 1:" in told
    assert re.search(r"notes\.txt: \d+ files, [\d,]+ bytes", told)
    assert [path.read_bytes()[:8] for path in notes.parent.glob("*.png")] == [b"\x89PNG\r\n\x1a\n"]
    assert live.house.catalogue.documents("client") == []


def test_its_methods_say_what_the_server_says(world, notes, live):
    quire = world["Quire"](live.url)
    [job] = quire.upload(notes, collection="client")
    assert [document["id"] for document in quire.documents("client")] == [job["document"]]
    whole = quire.ask("When does Sunny gate open?", "client", top_k=1)
    streamed = list(quire.stream("When does Sunny gate open?", "client", top_k=1))
    assert streamed[-1][0] == "done"
    assert streamed[-1][1]["text"] == whole["text"]
    assert quire.delete(job["document"])["document"] == job["document"]
    with pytest.raises(world["QuireError"], match="no document") as refused:
        quire.delete(job["document"])
    assert (refused.value.status, refused.value.type) == (404, "UnknownDocument")
    with pytest.raises(world["QuireError"], match="no collection"):
        next(quire.stream("Who?", "nowhere"))
    quire.close()


def test_it_waits_as_long_as_it_is_told(world, live, monkeypatch):
    slept: list[float] = []
    quire = world["Quire"](live.url)
    monkeypatch.setattr(world["time"], "sleep", slept.append)
    monkeypatch.setattr(live.house.jobs, "waiting", 0)
    with pytest.raises(world["QuireError"]) as refused:
        quire._call("POST", "/v1/documents/text", json={"title": "Full", "text": TEXT, "collection": "client"}, tries=3)
    assert (refused.value.status, refused.value.type) == (503, "QueueFull")
    assert len(slept) == 2
    assert all(seconds >= 1 for seconds in slept)
    quire.close()


def test_an_upload_whose_answer_was_lost_is_sent_again_and_taken_in_once(world, notes, live, monkeypatch):
    quire = world["Quire"](live.url)
    send, lost = quire._http.request, []

    def lossy(method, path, **what):
        response = send(method, path, **what)
        if method == "POST" and not lost:
            lost.append(response)
            raise world["httpx"].ReadError("the connection broke behind the request")
        return response

    monkeypatch.setattr(quire._http, "request", lossy)
    [job] = quire.upload(notes, collection="lost")
    assert [lost[0].json()["jobs"][0]["id"]] == [job["id"]] == [row.id for row in live.house.jobs.jobs("lost")]
    quire.close()


def test_the_openai_example_cites(blocks, live, capsys):
    example = (
        blocks[2].replace("http://127.0.0.1:8765", live.url).replace("When does the gate open?", "Tell me the voltage of Sleke bridge.")
    )
    exec(compile(example, str(DOC), "exec"), {})
    assert "/v1/pages/" in capsys.readouterr().out
