"""The rooms' dataclasses go in; the bodies that HTTP carries come out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from retrieval.types import Chunk, CollectionRow, DocumentRow, JobRow, PageRow, Plan, Receipt

from . import bodies, bodies_answer, types

if TYPE_CHECKING:
    from cache_compiler.verdict import Verdict  # the real one brings torch with it


def verdict(found: Verdict | None) -> bodies.Verdict:
    """Of a model that nobody has examined, None, the word is `unchecked`. A refused one never gets as far as this."""
    return bodies.Verdict(word="unchecked") if found is None else bodies.Verdict.model_validate(found)


def job(row: JobRow) -> bodies.Job:
    # The spool's name stays at home: it is nobody's business where an upload waits.
    return bodies.Job.model_validate({name: value for name, value in asdict(row).items() if name != "spool"})


def refused(name: str, collection: str, kind: str, message: str) -> bodies.Job:
    """A file that was turned away at the door: a failed job without an id, for nothing of it is kept."""
    return bodies.Job(id="", collection=collection, name=name, state="failed", error=message, detail={"type": kind})


def collection(row: CollectionRow, documents: int, pages: int) -> bodies.Collection:
    return bodies.Collection(name=row.name, documents=documents, pages=pages, model=row.model_name)


def document(row: DocumentRow) -> bodies.Document:
    return bodies.Document.model_validate(row)


def document_pages(row: DocumentRow, chunks: Iterable[Chunk], pages: Mapping[str, PageRow]) -> bodies.DocumentPages:
    """A document with its pages in reading order; `pages` holds the geometry of each by key."""
    listed = [
        bodies.DocumentPage(
            page=ref.key,
            ordinal=chunk.ordinal,
            heading=chunk.heading,
            source_page=chunk.source_page,
            width=pages[ref.key].width,
            height=pages[ref.key].height,
            rows=dict(ref.rows),
        )
        for chunk in chunks
        for ref in chunk.pages
    ]
    return bodies.DocumentPages(**document(row).model_dump(), page_list=listed)


def receipt(row: Receipt, files: Iterable[str], size: int) -> bodies.RemovalReceipt:
    return bodies.RemovalReceipt.model_validate({**asdict(row), "removed_files": list(files), "bytes": size})


def page(row: PageRow, documents: Iterable[str]) -> bodies.Page:
    lines = [bodies.PageLine(text=text, box=(x0, y0, x1, y1)) for text, x0, y0, x1, y1 in row.lines]
    return bodies.Page(key=row.key, width=row.width, height=row.height, lines=lines, rows=dict(row.rows), documents=list(documents))


def plan(value: Plan) -> bodies_answer.PlanOut:
    picks = [
        bodies_answer.PickOut(
            page=pick.page.key, document=pick.chunk.document, dpi=pick.dpi, score=pick.score, why=pick.why, rows=pick.rows
        )
        for pick in value.picks
    ]
    return bodies_answer.PlanOut(rows=value.rows, picks=picks, ranking=list(value.ranking), dropped=list(value.dropped))


def citation(value: types.Citation) -> bodies_answer.Citation:
    return bodies_answer.Citation.model_validate({**asdict(value), "image": f"/v1/pages/{value.page}.png?dpi={value.dpi}"})


def answer(value: types.Answer) -> bodies_answer.Answer:
    return bodies_answer.Answer(
        question=value.question,
        collection=value.collection,
        text=value.text,
        finish=value.finish,
        tokens=value.tokens,
        model=value.model,
        plan=plan(value.plan),
        citations=[citation(item) for item in value.citations],
        provenance=[bodies_answer.Provenance.model_validate(item) for item in value.provenance],
        timings=bodies_answer.Timings.model_validate(value.timings),
        conversation=bodies_answer.Turn.model_validate(value.conversation) if value.conversation else None,
    )


def event(value: types.Event) -> tuple[str, bodies.Wire]:
    """An event's name in a stream, and its data."""
    if isinstance(value, types.Planned):
        return "planned", bodies_answer.Planned(plan=plan(value.plan), citations=[citation(item) for item in value.citations])
    if isinstance(value, types.Token):
        return "token", bodies_answer.Token(text=value.text)
    if isinstance(value, types.Done):
        return "done", answer(value.answer)
    return "failed", bodies.ErrorBody(error=bodies.Problem(type=value.type, message=value.message))
