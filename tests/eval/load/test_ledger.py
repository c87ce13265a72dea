"""What counts is order: a question that was sent before a deletion was acknowledged may know the document, a later one may not."""

import time
from random import Random

from eval.load.ledger import KEPT, Ledger
from eval.load.papers import paper


def test_a_question_sent_after_the_receipt_must_not_know_the_document_by_name_or_by_value() -> None:
    ledger, given = Ledger(), paper(1)
    ledger.arrived(given, "d1")
    before = time.monotonic()
    entry = ledger.take(Random(1), keep=0)
    ledger.deleted(entry, ["p"])
    after = entry.gone + 0.001
    assert ledger.known_of(before, {"d1"}, given.value) == []
    assert len(ledger.known_of(after, {"d1"}, f"It is {given.value}.")) == 2
    assert ledger.known_of(after, {"d2"}, "It is blue.") == []


def test_a_document_is_taken_once_and_no_more_than_may_go() -> None:
    ledger = Ledger()
    for number in range(3):
        ledger.arrived(paper(number), f"d{number}")
    taken = [ledger.take(Random(1), keep=1) for _ in range(4)]
    assert len({entry.document for entry in taken if entry}) == 2
    assert taken[2:] == [None, None]
    assert len(ledger.live()) == 1
    assert ledger.gone() == []


def test_every_breach_is_counted_and_the_first_are_kept_in_words() -> None:
    ledger = Ledger()
    for number in range(KEPT + 5):
        ledger.breach("status", str(number))
    assert ledger.breaches["status"] == KEPT + 5
    assert ledger.examples["status"] == [str(number) for number in range(KEPT)]


def test_an_empty_ledger_has_nothing_to_ask_for() -> None:
    assert Ledger().pick(Random(1)) is None
