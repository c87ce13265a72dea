"""The workshop opens a collection only if it was made for what is loaded."""

import sqlite3
from dataclasses import fields, replace

import pytest

from cache_compiler.errors import IdentityMismatch
from cache_compiler.identity import Identity
from ingest.workshop import Workshop
from retrieval.errors import EmbedderMismatch, UnknownCollection
from retrieval.types import CollectionRow


def test_an_unknown_collection_is_an_error_unless_it_may_be_made(workshop: Workshop) -> None:
    with pytest.raises(UnknownCollection):
        workshop.collection("new")
    made = workshop.collection("new", create=True)
    assert workshop.collection("new") == made
    assert made.identity == workshop.identity.as_mapping()


@pytest.mark.parametrize("field", [field.name for field in fields(Identity)])
def test_a_collection_of_another_identity_is_refused_by_the_field(workshop: Workshop, field: str) -> None:
    other = replace(workshop.identity, **{field: "another"})
    workshop.catalogue.create_collection(CollectionRow("old", other.as_mapping(), workshop.embedder.name, workshop.embedder.dimension))
    with pytest.raises(IdentityMismatch, match=field) as refusal:
        workshop.collection("old")
    assert (refusal.value.field, refusal.value.stored) == (field, "another")


def test_a_collection_of_another_embedder_is_refused_by_both_names(workshop: Workshop) -> None:
    workshop.catalogue.create_collection(CollectionRow("old", workshop.identity.as_mapping(), "bge-m3/1:abc", 1024))
    with pytest.raises(EmbedderMismatch, match="bge-m3"):
        workshop.collection("old")


def test_a_collection_is_opened_while_another_process_commits(workshop: Workshop) -> None:
    """A question begins with this: it must not stand in line behind a document of thousands of pages."""
    made = workshop.collection("new", create=True)
    writer = sqlite3.connect(workshop.home.catalogue_path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    try:
        assert workshop.collection("new") == made
    finally:
        writer.execute("ROLLBACK")
        writer.close()


def test_the_prefix_is_the_one_that_the_identity_names(workshop: Workshop) -> None:
    assert workshop.prefix.ids == workshop.backbone.template.prefix
