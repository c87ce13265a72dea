"""A question's words find the chunks that have them, are never syntax, and nothing of a deleted document's words is left."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest

from retrieval.catalogue import Catalogue
from retrieval.types import CollectionRow
from retrieval.words import TERMS, expression, spaced

Make = Callable[..., object]

FILL = ["the sea is wide", "the sky is blue", "the grass is green", "the night is long"]


def found(catalogue: Catalogue, question: str, limit: int = 9, collection: str = "default") -> list[int]:
    return [chunk for chunk, _ in catalogue.with_words(collection, question, limit)]


@pytest.fixture
def texts(catalogue: Catalogue, whole: Make) -> Callable[..., None]:
    """Puts texts in as document 1, and four more that share only common words as document 9."""
    whole(9, [f"9.{page}" for page in range(4)], texts=FILL).add_to(catalogue)

    def put(*said: str) -> None:
        whole(1, [f"1.{page}" for page in range(len(said))], texts=said).add_to(catalogue)

    return put


def test_a_number_or_a_name_finds_its_chunk_and_its_vector_comes_with_it(catalogue: Catalogue, texts: Callable[..., None]) -> None:
    texts("Order WR-1842 came late.", "Order WR 1843 came, and 1842 chairs.", "Ångström measured Łódź.")
    assert found(catalogue, "where is wr-1842?") == [1000, 1001]
    assert found(catalogue, "ANGSTROM") == [1002]
    assert found(catalogue, "A\u030angstro\u0308m") == [1002]
    ids, vectors = catalogue.vectors("default")
    assert catalogue.with_words("default", "angstrom", 1)[0][1].tolist() == vectors[ids.tolist().index(1002)].tolist()


def test_chinese_and_japanese_words_are_found_within_a_sentence(catalogue: Catalogue, texts: Callable[..., None]) -> None:
    texts("船長的名字是王小明。", "港口在北京以東。", "東京タワーの高さは333メートルです。")
    assert found(catalogue, "北京的港口") == [1001]
    assert found(catalogue, "船長是誰?") == [1000]
    assert found(catalogue, "タワーの高さ") == [1002]
    assert found(catalogue, "京北") == []
    assert found(catalogue, "王") == [1000]


def test_words_that_most_chunks_have_find_nothing(catalogue: Catalogue, texts: Callable[..., None]) -> None:
    texts("the captain")
    assert found(catalogue, "the") == []
    assert found(catalogue, "who is the captain") == [1000]


@pytest.mark.parametrize("question", ["", "?!", " \n", '"', '""" - * ^ ( ) : { }', "\ud800", "\x00", "_", "😀"])
def test_a_question_without_words_finds_nothing(question: str, catalogue: Catalogue, texts: Callable[..., None]) -> None:
    texts("something")
    assert expression(question) == ""
    assert found(catalogue, question) == []


@pytest.mark.parametrize(
    "question",
    [
        'captain" OR "x',
        "captain*",
        "text : captain",
        "{text}: captain",
        "-captain",
        "NOT captain",
        "captain NEAR(a b",
        "captain AND AND",
        "^captain + (",
        "captain\x00x",
        "captain';--",
        "'captain\ud800",
    ],
)
def test_nothing_in_a_question_is_syntax(question: str, catalogue: Catalogue, texts: Callable[..., None]) -> None:
    texts("Captain")
    assert found(catalogue, question) == [1000]


def test_a_long_question_costs_a_bounded_number_of_terms(catalogue: Catalogue, texts: Callable[..., None]) -> None:
    texts("w3 and more")
    assert expression("one two ONE") == '"one" OR "two"'
    assert expression(" ".join(f"w{number}" for number in range(5000))).count('"') == 2 * TERMS
    assert found(catalogue, " ".join(f"w{number}" for number in range(5000))) == [1000]
    assert found(catalogue, "w3" + "字" * 4000) == [1000]


def test_only_the_collection_that_is_asked_is_searched_best_first_up_to_the_limit(catalogue: Catalogue, whole: Make) -> None:
    catalogue.create_collection(CollectionRow("other", {}, "drawn", 8))
    said = ["a ship and much else that was there on that day", "ship", "ship ship", "nothing", "none", "naught", "nil"]
    whole(1, [f"1.{page}" for page in range(7)], texts=said).add_to(catalogue)
    whole(2, ["2.0", "2.1"], texts=["ship", "no"], collection="other").add_to(catalogue)
    assert found(catalogue, "ship") == [1002, 1001, 1000]
    assert found(catalogue, "ship", limit=2) == [1002, 1001]
    assert found(catalogue, "ship", collection="other") == [2000]
    assert found(catalogue, "ship", collection="none") == []


def test_a_replaced_document_is_found_by_its_new_words_alone(catalogue: Catalogue, texts: Callable[..., None], whole: Make) -> None:
    texts("walrus")
    whole(2, ["2.0"], texts=["penguin"], name="file-1.txt").add_to(catalogue, "d1")
    assert (found(catalogue, "walrus"), found(catalogue, "penguin")) == ([], [2000])


@pytest.mark.parametrize("way", ["document", "collection", "replaced"])
def test_no_byte_of_a_deleted_documents_words_is_left_in_the_files(way: str, catalogue: Catalogue, whole: Make) -> None:
    catalogue.create_collection(CollectionRow("other", {}, "drawn", 8))
    for number in range(10, 40):
        whole(number, [f"{number}.0"], texts=[f"zebra zyx{number} common words"], collection="other" if number % 2 else "default").add_to(
            catalogue
        )
    whole(1, ["1.0"], texts=["Zyxomatic Quagmirex"], collection="other").add_to(catalogue)
    assert b"Zyxomatic" in stored(catalogue)
    assert b"quagmirex" in stored(catalogue)
    if way == "document":
        catalogue.delete_document("d1")
    elif way == "collection":
        catalogue.delete_collection("other")
    else:
        whole(2, ["2.0"], texts=["nothing"], name="file-1.txt", collection="other").add_to(catalogue, "d1")
    # FTS5 keeps of a word only what the one before it in the alphabet has not.
    assert not [part for part in (b"yxomatic", b"omatic", b"uagmirex", b"irex") if part in stored(catalogue).lower()]
    with closing(sqlite3.connect(catalogue.path)) as other:
        other.execute("CREATE VIRTUAL TABLE temp.seen USING fts5vocab('main', 'words', 'row')")
        seen = {row[0] for row in other.execute("SELECT term FROM temp.seen")}
    assert "zebra" in seen
    assert not {"zyxomatic", "quagmirex"} & seen
    assert catalogue.faults() == []


def stored(catalogue: Catalogue) -> bytes:
    """All bytes of the catalogue's files."""
    return b"".join(path.read_bytes() for path in sorted(catalogue.path.parent.glob(f"{catalogue.path.name}*")))


def test_words_that_are_not_those_of_the_chunks_are_faults(catalogue: Catalogue, texts: Callable[..., None]) -> None:
    texts("one", "two", "three")
    assert catalogue.faults() == []
    for harm, told in (
        ("DELETE FROM words WHERE rowid = 1000", "words of 1 chunks are not those"),
        ("INSERT INTO words (rowid, text) VALUES (77, 'x')", "words of 1 chunks that are not there"),
        ("UPDATE words SET text = 'other' WHERE rowid = 1001", "words of 2 chunks are not those"),
        ("UPDATE words_content SET c0 = 'three!' WHERE id = 1002", "words of 3 chunks are not those"),
        ("UPDATE words_content SET c0 = 'four' WHERE id = 9000", "do not agree with their index"),
    ):
        with closing(sqlite3.connect(catalogue.path)) as other:
            other.execute(harm)
            other.commit()
        assert told in " ".join(catalogue.faults())


def test_a_text_without_chinese_or_japanese_is_stored_as_it_is() -> None:
    assert spaced("Ünïcode, 한국어, ไทย\n") == "Ünïcode, 한국어, ไทย\n"
    assert spaced("a統計b").split() == ["a", "統", "計", "b"]
