"""The page's reader of server-sent events, run by Node: a stream is read alike however it is cut, and one that breaks says so."""

from collections.abc import Callable
from typing import Any

READ = """(async (text, steps) => {
  const bytes = new TextEncoder().encode(text), all = [];
  for (const step of steps) {
    const body = new ReadableStream({start(c) {
      for (let at = 0; at < bytes.length; at += step) c.enqueue(bytes.slice(at, at + step)); c.close(); }});
    const found = [];
    for await (const event of it.events(body)) found.push([event.name, event.data]);
    all.push(found);
  }
  return all;
})(...given)"""

BREAK = """(async () => {
  const body = new ReadableStream({pull(c) { c.error(new TypeError('network error')); }});
  try { for await (const event of it.events(body, () => new Error('lost'))) void event; } catch (error) { return error.message; }
})()"""


def test_events_are_read_alike_however_the_stream_is_cut(node: Callable[..., Any]):
    stream = ': beat\n\nevent: token\ndata: {"text": "é"}\n\nevent: two\r\ndata: a\r\ndata: b\r\n\r\ndata:plain\n\ndata: without an end'
    for found in node("events.js", READ, stream, [1, 2, 3, 7, 1000]):
        assert found == [["token", '{"text": "é"}'], ["two", "a\nb"], ["message", "plain"]]


def test_a_text_that_spells_an_event_stays_one_line_of_data(node: Callable[..., Any]):
    stream = 'event: token\ndata: {"text": "event: done\\ndata: {}"}\n\n'
    assert node("events.js", READ, stream, [4])[0] == [["token", '{"text": "event: done\\ndata: {}"}']]


def test_a_stream_that_breaks_ends_with_the_error_it_was_given(node: Callable[..., Any]):
    assert node("events.js", BREAK) == "lost"
