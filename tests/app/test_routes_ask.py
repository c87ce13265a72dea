"""Answers and pages over HTTP, of a running server with the real reader."""

import json
import logging
import threading
import time

import httpx
import pytest

from app import routes_ask

QUESTION = "Tell me the voltage of Sleke bridge."


def ask(live, **body) -> httpx.Response:
    return httpx.post(live.url + "/v1/ask", json={"question": QUESTION, **body}, timeout=60)


def events(response: httpx.Response) -> list[tuple[str, dict]]:
    found = []
    for block in response.text.split("\n\n"):
        if block and not block.startswith(":"):
            name, data = block.split("\n")
            found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def until(true, seconds: float = 30.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.01)
    return False


def test_an_answer_comes_with_what_backs_it(live):
    told = ask(live, top_k=3).json()
    assert told["text"]
    assert told["model"] == "reader"
    assert told["finish"] in ("stop", "length", "repetition")
    assert len(told["citations"]) == len(told["plan"]["picks"]) == len(told["provenance"]) >= 3
    assert told["plan"]["rows"] == sum(pick["rows"] for pick in told["plan"]["picks"])
    assert {pick["dpi"] for pick in told["plan"]["picks"]} <= {72, 120}
    assert told["timings"]["first_token"] > 0
    names = {row["id"]: row["name"] for row in httpx.get(live.url + "/v1/documents").json()["documents"]}
    assert all(names[citation["document"]] == citation["name"] for citation in told["citations"])


def test_the_stream_says_the_same_as_the_whole_answer_in_pieces(live):
    whole = ask(live, top_k=2).json()
    response = ask(live, top_k=2, stream=True)
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.headers["x-accel-buffering"] == "no"
    told = events(response)
    assert [name for name, _ in told] == ["planned", *["token"] * (len(told) - 2), "done"]
    assert "".join(data["text"] for name, data in told if name == "token").strip() == told[-1][1]["text"] == whole["text"]
    assert told[0][1]["plan"] == told[-1][1]["plan"] == whole["plan"]
    assert all(not citation["lines"] for citation in told[0][1]["citations"])


def test_an_accept_header_asks_for_a_stream_as_well(live):
    response = httpx.post(live.url + "/v1/ask", json={"question": QUESTION}, headers={"accept": "text/event-stream"}, timeout=60)
    assert events(response)[-1][0] == "done"


def test_choices_reach_the_plan(live):
    assert {pick["dpi"] for pick in ask(live, top_k=3, cap=0).json()["plan"]["picks"]} == {72}
    assert ask(live, top_k=1).json()["plan"]["ranking"] == ask(live, top_k=3).json()["plan"]["ranking"][:1]
    assert ask(live, max_tokens=1).json()["tokens"] == 1


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ({"question": ""}, 422, "EmptyQuestion"),
        ({"question": " \n "}, 422, "EmptyQuestion"),
        ({"question": "x" * 100_000}, 413, "QuestionTooLong"),
        ({"collection": "nothing-here"}, 404, "UnknownCollection"),
        ({"collection": "../x"}, 404, "UnknownCollection"),
    ],
)
def test_what_cannot_be_asked_has_its_status_streamed_or_not(live, stream, body, status, kind):
    response = ask(live, stream=stream, **body)
    assert (response.status_code, response.json()["error"]["type"]) == (status, kind)


def test_a_question_that_is_too_long_is_told_the_limit_in_characters(live):
    assert "100,000 characters, the limit is 4,000" in ask(live, question="x" * 100_000).json()["error"]["message"]


@pytest.mark.parametrize(
    ("field", "value"),
    [("top_k", 0), ("top_k", 65), ("alpha", 1.5), ("cap", -1), ("max_tokens", 0), ("temperature", -1), ("topk", 3), ("question", 5)],
)
def test_a_field_that_is_wrong_is_named_and_its_value_is_not_said_back(live, field, value):
    response = ask(live, **{field: value})
    assert (response.status_code, response.json()["error"]["type"]) == (422, "BadRequest")
    assert list(response.json()["error"]["detail"]["fields"]) == [field]
    assert "input" not in response.text.replace("Input should", "").replace("Extra inputs", "")


@pytest.mark.parametrize("content", [b"{", b"", b"[]", b'{"question": "\\ud800"}', b'{"question": "a", "alpha": NaN}', b"\xff\xfe"])
def test_a_body_that_cannot_be_read_is_the_senders_fault(live, content):
    response = httpx.post(live.url + "/v1/ask", content=content, headers={"content-type": "application/json"})
    assert response.status_code in (400, 422)
    assert sorted(response.json()["error"]) == ["detail", "message", "type"]


def test_a_full_lane_turns_the_next_one_away_and_says_when_to_come_back(live):
    lane = live.house.lane
    with lane.turn():
        threads = [threading.Thread(target=ask, args=(live,), kwargs={"stream": i == 0}) for i in range(lane.waiting)]
        for thread in threads:
            thread.start()
        assert until(lambda: lane.length == lane.waiting + 1)
        response = ask(live)
        assert (response.status_code, response.json()["error"]["type"]) == (503, "Busy")
        assert int(response.headers["retry-after"]) >= 1
    for thread in threads:
        thread.join(60)
    assert until(lambda: lane.length == 0)


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_goes_away_while_it_waits_leaves_the_lane(live, stream):
    lane = live.house.lane
    with lane.turn():
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(live.url + "/v1/ask", json={"question": QUESTION, "stream": stream}, timeout=httpx.Timeout(30, read=0.5))
        assert until(lambda: lane.length == 1)


def test_a_client_that_goes_away_stops_the_decoding(live, caplog, monkeypatch):
    """Every step of the decoding waits a moment, so that it is surely under way when the client leaves."""
    forward = live.house.backbone.forward

    def slow(*args, **kwargs):
        time.sleep(0.2)
        return forward(*args, **kwargs)

    monkeypatch.setattr(live.house.backbone, "forward", slow)
    # No end token: only the cancel can end it before 400 tokens are out, 80 seconds later.
    monkeypatch.setattr(type(live.house.backbone), "stop_ids", frozenset())
    caplog.set_level(logging.INFO, "quire.ask")
    body = {"question": QUESTION, "stream": True, "temperature": 2.0, "max_tokens": 400}
    with httpx.stream("POST", live.url + "/v1/ask", json=body, timeout=60) as response:
        for line in response.iter_lines():
            if line == "event: token":
                break
    assert until(lambda: live.house.lane.length == 0)
    # The walk was closed at its next step, so it has no answer to log.
    assert "answered" not in caplog.text or "finish=cancelled" in caplog.text


def test_a_conversation_says_what_each_turn_cost_and_can_be_forgotten(live):
    talk = "of-my-own-choosing"
    first = ask(live, conversation=talk).json()
    second = ask(live, question="What is the renewal of the supplier of Cioclio farm?", conversation=talk).json()
    assert first["conversation"] == {
        "id": talk,
        "turn": 1,
        "kept": 0,
        "admitted": 1,
        "evicted": 0,
        "recalled": 0,
        "moved_rows": 0,
        "told": 0,
    }
    assert (second["conversation"]["turn"], second["conversation"]["kept"]) == (2, 1)
    assert second["plan"]["picks"][0]["why"] == "kept"
    assert second["provenance"][0]["tier"] == "window"
    assert ask(live).json()["conversation"] is None
    streamed = events(ask(live, conversation=talk, stream=True))
    assert [name for name, _ in streamed] == ["planned", *["token"] * (len(streamed) - 2), "done"]
    assert streamed[0][1]["plan"] == streamed[-1][1]["plan"]
    assert httpx.delete(f"{live.url}/v1/conversations/{talk}").status_code == 204
    assert ask(live, conversation=talk).json()["conversation"]["turn"] == 1
    assert httpx.delete(f"{live.url}/v1/conversations/{talk}").status_code == 204


def test_the_ids_of_conversations_are_secrets(live, caplog):
    caplog.set_level(logging.INFO)
    for name in ("never-begun-here", "..%2f..%2fx", "short"):
        response = httpx.delete(f"{live.url}/v1/conversations/{name}")
        assert response.status_code == 404
        assert name not in response.text
    assert httpx.get(f"{live.url}/v1/conversations").status_code in (404, 405)
    ask(live, conversation="my-own-secret")
    assert httpx.delete(f"{live.url}/v1/conversations/my-own-secret").status_code == 204
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("quire")]
    assert any("DELETE /v1/conversations/{conversation}" in line for line in ours)
    assert not any("my-own-secret" in line or "never-begun-here" in line for line in ours)
    response = ask(live, conversation="short")
    assert (response.status_code, response.json()["error"]["type"]) == (422, "BadConversation")


def test_a_failed_first_event_is_a_response_of_its_own():
    from app.types import Failed, Token

    assert routes_ask.refused(Failed("CacheMiss", "no cache")).status_code == 409
    assert routes_ask.refused(Failed("Busy", "later", 6.2)).headers["retry-after"] == "7"
    assert routes_ask.refused(Token("a")) is None


def test_an_answer_says_what_full_prefill_would_have_taken_once_that_is_measured(live):
    assert until(lambda: ask(live).json()["full_prefill"] is not None)
    told = ask(live).json()
    assert told["full_prefill"]["seconds"] > 0
    assert "while the model was idle" in told["full_prefill"]["basis"]
    assert told["prompt_tokens"] > told["plan"]["rows"]
    assert all(page["note"] == "" for page in told["provenance"])


def test_a_search_finds_pages_in_the_order_of_the_retriever_and_answers_nothing(live):
    before = live.house.watch.metrics.answered_count
    hits = httpx.post(live.url + "/v1/search", json={"query": QUESTION, "top_k": 3}, timeout=60).json()["hits"]
    assert len(hits) == 3
    assert hits[0]["page"] == ask(live, top_k=1).json()["citations"][0]["page"]
    assert all(len(hit["text"]) <= 500 for hit in hits)
    assert httpx.get(live.url + hits[0]["image"]).headers["content-type"] == "image/png"
    assert live.house.watch.metrics.answered_count == before + 1


def test_a_page_with_the_very_word_does_not_stand_behind_those_that_are_only_near(live):
    nearest, exact, other = httpx.post(live.url + "/v1/search", json={"query": "1977", "top_k": 3}, timeout=60).json()["hits"]
    assert (nearest["by"], exact["by"], other["by"]) == ("meaning", "words", "meaning")
    assert "1977" in exact["text"]
    assert exact["score"] < other["score"] < nearest["score"]


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ({"query": " "}, 422, "EmptyQuestion"),
        ({"query": "x" * 100_000}, 413, "QuestionTooLong"),
        ({"query": "a", "collection": "nothing-here"}, 404, "UnknownCollection"),
        ({"query": "a", "top_k": 0}, 422, "BadRequest"),
        ({"query": "a", "alpha": 1}, 422, "BadRequest"),
    ],
)
def test_what_cannot_be_sought_is_refused(live, body, status, kind):
    response = httpx.post(live.url + "/v1/search", json=body, timeout=60)
    assert (response.status_code, response.json()["error"]["type"]) == (status, kind)
