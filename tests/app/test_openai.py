"""The OpenAI interface, held to what its own client makes of it, against a running server with the real reader."""

import threading
import time

import httpx
import openai
import pytest

QUESTION = "Tell me the voltage of Sleke bridge."


@pytest.fixture(scope="module")
def client(live):
    with openai.OpenAI(base_url=live.url + "/v1", api_key="qk_none_needed", max_retries=0, timeout=60) as found:
        yield found


def say(client, *turns: tuple[str, object], **fields):
    messages = [{"role": role, "content": content} for role, content in turns] or [{"role": "user", "content": QUESTION}]
    return client.chat.completions.create(model=fields.pop("model", "reader"), messages=messages, **fields)


def ours(live, **fields) -> dict:
    return httpx.post(live.url + "/v1/ask", json={"question": QUESTION, **fields}, timeout=60).json()


def until(true, seconds: float = 30.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.01)
    return False


def test_a_completion_is_the_answer_with_its_citations_and_its_usage(client, live):
    answer = ours(live, top_k=2)
    told = say(client, extra_body={"top_k": 2})
    [choice] = told.choices
    assert (choice.message.role, choice.message.content) == ("assistant", answer["text"])
    assert choice.finish_reason == ("stop" if answer["finish"] == "stop" else "length")
    assert told.model == "reader/default"
    assert [cited["page"] for cited in choice.message.citations] == [cited["page"] for cited in answer["citations"]]
    first = choice.message.citations[0]
    assert sorted(first) == ["document", "dpi", "image", "lines", "name", "page", "source_page"]
    assert first["lines"] == [{"text": line["text"], "box": line["box"]} for line in answer["citations"][0]["lines"]]
    assert httpx.get(live.url + first["image"]).headers["content-type"] == "image/png"
    assert told.usage.prompt_tokens == answer["prompt_tokens"] > answer["plan"]["rows"]
    assert told.usage.completion_tokens == answer["tokens"]
    assert told.usage.total_tokens == told.usage.prompt_tokens + told.usage.completion_tokens


def test_a_stream_says_the_same_and_cites_in_its_last_chunk(client, live):
    answer = ours(live)
    chunks = list(say(client, stream=True, stream_options={"include_usage": True}))
    assert chunks[0].choices[0].delta.role == "assistant"
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices).strip() == answer["text"]
    *pieces, last, usage = chunks
    assert last.choices[0].finish_reason in ("stop", "length")
    assert last.choices[0].delta.citations[0]["page"] == answer["citations"][0]["page"]
    assert all(chunk.choices[0].finish_reason is None for chunk in pieces)
    assert not any("citations" in (chunk.choices[0].delta.model_extra or {}) for chunk in pieces)
    assert (usage.choices, usage.usage.completion_tokens) == ([], answer["tokens"])
    assert len({chunk.id for chunk in chunks}) == 1
    assert all(chunk.usage is None for chunk in say(client, stream=True))


def test_the_streaming_helper_of_the_client_puts_it_together(client, live):
    with client.chat.completions.stream(model="reader", messages=[{"role": "user", "content": QUESTION}]) as stream:
        final = stream.get_final_completion()
    assert final.choices[0].message.content.strip() == ours(live)["text"]


def test_the_models_are_the_collections(client, live):
    ids = [model.id for model in client.models.list()]
    assert ids[0] == "reader"
    assert set(ids[1:]) == {f"reader/{row.name}" for row in live.house.catalogue.collections()}
    assert client.models.retrieve("reader/default").id == "reader/default"
    assert client.models.retrieve("reader").owned_by == "quire"
    assert say(client, model="reader/default").model == "reader/default"
    with pytest.raises(openai.NotFoundError) as refused:
        client.models.retrieve("gpt-4o")
    assert refused.value.body["type"] == "UnknownModel"


def test_choices_of_sampling_reach_the_decoding(client):
    assert say(client, max_tokens=1).usage.completion_tokens == 1
    assert say(client, max_completion_tokens=2, max_tokens=9).usage.completion_tokens == 2
    assert say(client, max_tokens=1).choices[0].finish_reason == "length"
    drawn = [say(client, temperature=4.0, seed=seed, max_tokens=12).choices[0].message.content for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    whole = say(client).choices[0].message.content
    cut = say(client, stop=[whole[1:3]]).choices[0]
    assert (cut.message.content, cut.finish_reason) == (whole[: whole.index(whole[1:3])].strip(), "stop")


def test_what_is_passed_over_is_named(client):
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]
    raw = client.chat.completions.with_raw_response.create(model="reader", messages=messages, user="somebody", n=1, tools=[])
    assert raw.headers["x-quire-ignored"] == "system, user"
    raw = client.chat.completions.with_raw_response.create(model="reader", messages=messages[1:], response_format={"type": "text"})
    assert "x-quire-ignored" not in raw.headers
    with client.chat.completions.with_streaming_response.create(model="reader", messages=messages, stream=True) as streamed:
        assert streamed.headers["x-quire-ignored"] == "system"


def test_earlier_turns_are_told_to_a_model_that_takes_them_and_named_where_it_does_not(client, live, monkeypatch):
    from dataclasses import replace

    turns = (("user", "Who owns it?"), ("assistant", "Nobody."), ("user", QUESTION))
    alone = say(client)
    assert live.house.backbone.card.turns == 0
    untold = client.chat.completions.with_raw_response.create(
        model="reader", messages=[{"role": role, "content": text} for role, text in turns]
    )
    assert untold.headers["x-quire-ignored"] == "history"
    assert untold.parse().usage.prompt_tokens == alone.usage.prompt_tokens
    monkeypatch.setattr(live.house.backbone, "card", replace(live.house.backbone.card, turns=2))
    told = say(client, *turns)
    expected = len(live.house.backbone.question_ids(QUESTION, (("Who owns it?", "Nobody."),)))
    assert told.usage.prompt_tokens - alone.usage.prompt_tokens == expected - len(live.house.backbone.question_ids(QUESTION))
    assert say(client, *turns[:2], *turns[:2], *turns).usage.prompt_tokens > told.usage.prompt_tokens
    assert say(client, *turns[:2], *turns[:2], *turns[:2], *turns[:2], *turns).usage.prompt_tokens == (
        say(client, *turns[:2], *turns).usage.prompt_tokens
    )
    with pytest.raises(openai.UnprocessableEntityError) as refused:
        say(client, ("user", "Who owns it?"), ("assistant", "No one. " * 4000), ("user", QUESTION))
    assert refused.value.body["type"] == "ContextTooLong"
    with pytest.raises(openai.UnprocessableEntityError) as refused:
        say(client, ("user", "Who?"), ("assistant", "x" * 200_000), ("user", QUESTION))
    assert refused.value.body["type"] == "ContextTooLong"


def test_parts_of_text_are_one_text(client):
    parts = [{"type": "text", "text": "Tell me the voltage"}, {"type": "text", "text": "of Sleke bridge."}]
    assert say(client, ("user", parts)).choices[0].message.content


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"n": 2}, "n"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"logprobs": True}, "logprobs"),
        ({"presence_penalty": 1.0}, "presence_penalty"),
        ({"logit_bias": {"5": 1}}, "logit_bias"),
        ({"top_p": -0.1}, "top_p"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"stop": ["a", "b", "c", "d", "e"]}, "stop"),
        ({"extra_body": {"collection": "other"}, "model": "reader/default"}, "collection"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(client, fields, named):
    with pytest.raises(openai.UnprocessableEntityError) as refused:
        say(client, **fields)
    assert refused.value.body["type"] == "BadRequest"
    assert any(field.split(".")[0] == named for field in refused.value.body["detail"]["fields"])


def test_what_clients_of_other_servers_send_is_taken_as_far_as_it_goes(client, live):
    plain = say(client, temperature=0)
    extra = {"repetition_penalty": 1.1, "provider": {"order": ["a"]}, "x\r\nx-evil: 1": 1, "é": 1}
    told = client.chat.completions.with_raw_response.create(
        model="reader", messages=[{"role": "user", "content": QUESTION}], top_p=0, temperature=2, max_tokens=10**9, extra_body=extra
    )
    assert told.headers["x-quire-ignored"] == "provider, repetition_penalty"
    assert told.parse().choices[0].message.content == plain.choices[0].message.content


def test_a_picture_in_a_message_is_refused_with_what_to_do(client):
    parts = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]
    with pytest.raises(openai.UnprocessableEntityError, match="upload a picture as a document"):
        say(client, ("user", parts))


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("turns", "model", "kind", "type_"),
    [
        ((), "gpt-4o", openai.NotFoundError, "UnknownModel"),
        ((), "reader/nowhere", openai.NotFoundError, "UnknownCollection"),
        ((), "readers", openai.NotFoundError, "UnknownModel"),
        ((("user", " "),), "reader", openai.UnprocessableEntityError, "EmptyQuestion"),
        ((("user", "hm"), ("assistant", "well")), "reader", openai.UnprocessableEntityError, "BadRequest"),
        ((("user", "x" * 5000),), "reader", openai.APIStatusError, "QuestionTooLong"),
    ],
)
def test_errors_are_the_clients_own_streamed_or_not(client, stream, turns, model, kind, type_):
    with pytest.raises(kind) as refused:
        say(client, *turns, model=model, stream=stream)
    assert refused.value.body["type"] == type_


def test_a_failure_in_the_middle_of_a_stream_is_an_error_of_the_client(client, live, monkeypatch):
    from app import engine

    def breaks(self, ids, position):
        raise engine.ContextTooLong("it does not fit")

    monkeypatch.setattr(engine.Decode, "_forward", breaks)
    with pytest.raises(openai.APIError, match="it does not fit"):
        list(say(client, stream=True))


def test_a_full_house_says_when_to_come_back(client, live):
    let_go, inside = threading.Event(), threading.Event()

    def occupy():
        with live.house.lane.turn():
            inside.set()
            let_go.wait(30)

    holders = [threading.Thread(target=occupy, daemon=True) for _ in range(live.house.lane.waiting + 1)]
    for holder in holders:
        holder.start()
    assert inside.wait(10)
    assert until(lambda: live.house.lane.length == len(holders))
    try:
        with pytest.raises(openai.InternalServerError) as refused:
            say(client)
        assert refused.value.status_code == 503
        assert int(refused.value.response.headers["retry-after"]) >= 1
    finally:
        let_go.set()
        for holder in holders:
            holder.join(10)


def test_a_client_that_leaves_stops_the_decoding(client, live, monkeypatch):
    # No end token: only the cancel can end it before 400 tokens are out.
    monkeypatch.setattr(type(live.house.backbone), "stop_ids", frozenset())
    stream = say(client, stream=True, temperature=2.0, max_tokens=400)
    for chunk in stream:
        if chunk.choices[0].delta.content:
            break
    stream.close()
    assert until(lambda: live.house.lane.length == 0)


def test_text_of_documents_and_questions_cannot_make_events_or_headers(live):
    hostile = 'x\r\ndata: {"choices": []}\n\nevent: done\r\nX-Evil: 1'
    body = {"model": "reader", "messages": [{"role": "user", "content": hostile}], "stream": True}
    response = httpx.post(live.url + "/v1/chat/completions", json=body, timeout=60)
    assert "x-evil" not in response.headers
    assert all(block.startswith(('data: {"id"', "data: [DONE]", ":")) for block in response.text.split("\n\n") if block)
    refused = httpx.post(live.url + "/v1/chat/completions", json={**body, "model": hostile}, timeout=60)
    assert refused.status_code == 404
    assert "x-evil" not in refused.headers
