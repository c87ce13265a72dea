"""What a client waits: read from the product's own stream of events; a server that does not come up is told with its own words."""

from dataclasses import replace

import pytest

from eval.bench.client import Heard, events, hear, listen, server
from eval.bench.corpus import Corpus
from eval.errors import EvalError


def test_events_are_read_and_comments_passed_over() -> None:
    lines = [b": beat\n", b"\n", b"event: token\n", b'data: {"text":"a\\nb"}\n', b"\n", b"event: done\r\n", b"data: {}\r\n"]
    assert list(events(iter(lines))) == [("token", {"text": "a\nb"}), ("done", {})]


def test_the_client_waits_at_least_as_long_as_the_engine(live_server: str) -> None:
    heard = listen(int(live_server.rpartition(":")[2]), "Who is the owner of the farm?", 1, 3, "default")
    assert heard.number == 3
    assert heard.client is not None
    assert 0 < heard.engine < heard.client
    assert heard.overhead == heard.client - heard.engine


def test_an_answer_without_text_has_no_first_text() -> None:
    assert Heard(0, None, 0.1).overhead is None


def test_a_refused_question_is_told_with_the_servers_sentence(live_server: str) -> None:
    with pytest.raises(EvalError, match="404"):
        listen(int(live_server.rpartition(":")[2]), "Who?", 1, 0, "nowhere")


def test_a_server_that_cannot_load_its_model_is_told_by_its_last_words(corpus: Corpus) -> None:
    words = ["--home", str(corpus.house.settings.home), "--model", "/nowhere"]
    with pytest.raises(EvalError, match="/nowhere"), server(words):
        raise AssertionError("it came up")


@pytest.mark.slow
def test_the_products_own_server_answers_over_the_same_home(corpus: Corpus) -> None:
    said: list[str] = []
    found = hear(corpus, 2, 0, said.append)
    assert [one.number for one in found] == [0, 1]
    assert any(one.client is not None and one.client > one.engine for one in found)


def test_a_drawn_model_is_refused_before_a_server_is_started(corpus: Corpus) -> None:
    with pytest.raises(EvalError, match="random-small"):
        hear(replace(corpus, model="random-small"), 1, 0, lambda _: None)
