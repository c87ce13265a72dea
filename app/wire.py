"""The rooms' dataclasses go in; the bodies that HTTP carries come out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from retrieval.types import Chunk, CollectionRow, DocumentRow, Hit, JobRow, PageRow, Plan, Receipt

from . import bodies, bodies_answer, bodies_documents, types

if TYPE_CHECKING:
    from cache_compiler.patch import PatchKey
    from cache_compiler.verdict import Verdict  # the real one brings torch with it

EXCERPT = 500  # characters of a chunk that a search shows


def verdict(found: Verdict | None) -> bodies.Verdict:
    """Of a model that nobody has examined, None, the word is `unchecked`. A refused one never gets as far as this."""
    return bodies.Verdict(word="unchecked") if found is None else bodies.Verdict.model_validate(found)


def job(row: JobRow) -> bodies_documents.Job:
    # The spool's name stays at home: it is nobody's business where an upload waits.
    told = {name: value for name, value in asdict(row).items() if name not in ("spool", "number")}
    return bodies_documents.Job.model_validate({**told, "created": _moment(row.created), "updated": _moment(row.updated)})


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(round(seconds, 3), UTC)


def collection(row: CollectionRow, documents: int, pages: int, size: int) -> bodies_documents.Collection:
    return bodies_documents.Collection(name=row.name, documents=documents, pages=pages, model=row.model_name, pinned=row.pinned, bytes=size)


def document(row: DocumentRow) -> bodies_documents.Document:
    return bodies_documents.Document.model_validate(row)


def document_pages(row: DocumentRow, chunks: Iterable[Chunk], pages: Mapping[str, PageRow]) -> bodies_documents.DocumentPages:
    """A document with its pages in reading order; `pages` holds the geometry of each by key. A page that went meanwhile is left out."""
    listed = [
        bodies_documents.DocumentPage(
            page=ref.key,
            ordinal=chunk.ordinal,
            heading=chunk.heading,
            source_page=chunk.source_page,
            width=pages[ref.key].width,
            height=pages[ref.key].height,
            rows=dict(ref.rows),
            kind=pages[ref.key].kind,
        )
        for chunk in chunks
        for ref in chunk.pages
        if ref.key in pages
    ]
    return bodies_documents.DocumentPages(**document(row).model_dump(), page_list=listed)


def receipt(
    row: Receipt, files: Iterable[str], size: int, artefacts: Mapping[str, int] | None = None, left: Iterable[str] = ()
) -> bodies_documents.RemovalReceipt:
    told = {**asdict(row), "removed_files": list(files), "bytes": size, "artefacts": dict(artefacts or {}), "left": list(left)}
    return bodies_documents.RemovalReceipt.model_validate(told)


def page(row: PageRow, documents: Iterable[str]) -> bodies_documents.Page:
    lines = [bodies_documents.PageLine(text=text, box=(x0, y0, x1, y1)) for text, x0, y0, x1, y1 in row.lines]
    return bodies_documents.Page(
        key=row.key,
        width=row.width,
        height=row.height,
        lines=lines,
        rows=dict(row.rows),
        documents=list(documents),
        kind=row.kind,
    )


def image(page: str, dpi: int) -> str:
    """The address of a page's image."""
    return f"/v1/pages/{page}.png?dpi={dpi}"


def hit(value: Hit, name: str, dpi: int) -> bodies_documents.Hit:
    """A chunk that was found, with its document's name; its first page's image at `dpi`."""
    chunk = value.chunk
    first = chunk.pages[0].key
    return bodies_documents.Hit(
        document=chunk.document,
        name=name,
        page=first,
        ordinal=chunk.ordinal,
        heading=chunk.heading,
        source_page=chunk.source_page,
        score=value.score,
        by=value.by,
        text=chunk.text[:EXCERPT],
        image=image(first, dpi),
    )


def patch(key: PatchKey, layers: int, size: int) -> bodies_documents.PatchRow:
    """A stored patch of a model with so many layers."""
    page, _, dpi = key.page.partition("@")
    return bodies_documents.PatchRow(
        page=page, dpi=int(dpi), given=list(key.given), kind=key.kind, rank=key.rank, layers=layers - key.first_layer, bytes=size
    )


def plan(value: Plan) -> bodies_answer.PlanOut:
    picks = [
        bodies_answer.PickOut(
            page=pick.page.key, document=pick.chunk.document, dpi=pick.dpi, score=pick.score, why=pick.why, rows=pick.rows
        )
        for pick in value.picks
    ]
    return bodies_answer.PlanOut(rows=value.rows, picks=picks, ranking=list(value.ranking), dropped=list(value.dropped))


def citation(value: types.Citation) -> bodies_answer.Citation:
    return bodies_answer.Citation.model_validate({**asdict(value), "image": image(value.page, value.dpi)})


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
        full_prefill=bodies_answer.FullPrefill.model_validate(value.full_prefill) if value.full_prefill else None,
        prompt_tokens=value.prompt_tokens,
    )


def event(value: types.Event) -> tuple[str, bodies.Wire]:
    """An event's name in a stream, and its data."""
    if isinstance(value, types.Planned):
        return "planned", bodies_answer.Planned(plan=plan(value.plan), citations=[citation(item) for item in value.citations])
    if isinstance(value, types.Compiling):
        return "compiling", bodies_answer.Compiling(pages=list(value.pages))
    if isinstance(value, types.Token):
        return "token", bodies_answer.Token(text=value.text)
    if isinstance(value, types.Done):
        return "done", answer(value.answer)
    detail = {} if value.retry_after is None else {"retry_after": value.retry_after}
    return "failed", bodies.ErrorBody(error=bodies.Problem(type=value.type, message=value.message, detail=detail))
