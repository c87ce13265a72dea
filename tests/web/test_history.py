"""Answers kept in the browser, run by Node: by collection, without the conversation's secret, and gone with the document they were read from."""

from collections.abc import Callable
from typing import Any


def answer(question: str, document: str = "d1", collection: str = "default") -> dict[str, Any]:
    turn = {"id": "a-secret-of-this-tab", "turn": 1}
    return {"question": question, "collection": collection, "text": "yes", "citations": [{"document": document}], "conversation": turn}


def after(node: Callable[..., Any], given: list[dict[str, Any]], then: str) -> Any:
    body = "given[0].forEach((one, at) => it.remember(one, `2026-01-01T00:00:${String(at).padStart(2, '0')}Z`))"
    return node("history.js", f"(async () => {{ {body}; {then} }})()", given)


def test_answers_are_kept_by_collection_newest_first_and_without_the_secret(node: Callable[..., Any]):
    kept = after(node, [answer("a"), answer("b"), answer("c", collection="other")], "return it.answersOf('default');")
    assert [one["answer"]["question"] for one in kept] == ["b", "a"]
    assert "a-secret-of-this-tab" not in str(kept)


def test_an_answer_goes_with_any_document_it_was_read_from(node: Callable[..., Any]):
    then = "const went = it.forgetDocument('default', 'd1'); return [went, it.answersOf('default').map((one) => one.answer.question)];"
    assert after(node, [answer("a"), answer("b", "d2")], then) == [1, ["b"]]


def test_answers_from_documents_deleted_elsewhere_go_when_the_whole_shelf_is_known(node: Callable[..., Any]):
    then = "const went = it.keepOnly('default', ['d2']); return [went, it.answersOf('default').map((one) => one.answer.question)];"
    assert after(node, [answer("a"), answer("b", "d2")], then) == [1, ["b"]]


def test_no_more_than_the_last_answers_are_kept(node: Callable[..., Any]):
    kept = after(node, [answer(str(n)) for n in range(70)], "return it.answersOf('default').map((one) => one.answer.question);")
    assert kept == [str(n) for n in range(69, 9, -1)]


def test_whoever_gives_up_the_key_leaves_no_answer_of_any_collection(node: Callable[..., Any]):
    then = "it.forgetEverything(); return [it.answersOf('default'), it.answersOf('other')];"
    assert after(node, [answer("a"), answer("b", collection="other")], then) == [[], []]
