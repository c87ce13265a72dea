"""A kind of context and a seed in; pages of records with their questions out, as `Sample` values and in LongBench's JSONL form.

Two kinds. `build` gives sentences in random order over the pages, each naming its subject; some facts are reached through another
(two hops). `sections` gives headings with rows beneath, running on across pages, so that a row's subject may stand on the page
before: the case that blind reuse of page caches is feared to break (Kamera). Draws are made in one fixed order (see `eval.world`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal

from . import world

Kind = Literal["build", "sections"]

# Lines of about 50 characters fill the reader's page (224 pt, DejaVu Sans 7 pt); longer sentences are drawn again.
WIDTH = 50
# The seed of the card's figures. Nothing was trained on it and nothing may be.
HELD_OUT = 990_001

# Contexts without a single question of the sort that is looked for, before it is given up.
_PATIENCE = 200

# What a question asks over, besides 1 and 2 hops: the answer is nowhere; the fact's subject is on the page before it.
ABSENT = 0
CARRIED = 3
# What a command calls them.
ONLY = {"one-hop": 1, "two-hops": 2, "carried": CARRIED, "absent": ABSENT}


@dataclass(frozen=True)
class Fact:
    """A stated attribute: its subject, the attribute, the value, and the line that says so."""

    subject: str
    attribute: str
    value: str
    line: str


@dataclass(frozen=True)
class Query:
    """A question with its gold answer. `hops` is 1, 2, `CARRIED` or `ABSENT`; `fact` is the line that holds the answer ("" when absent)."""

    question: str
    answer: str
    hops: int
    fact: str


@dataclass(frozen=True)
class Context:
    """Pages of lines, and all that was asked of them."""

    pages: tuple[tuple[str, ...], ...]
    queries: tuple[Query, ...]


@dataclass(frozen=True)
class Sample:
    """One question over one context; samples of the same context carry equal pages. `id` says how to draw it again."""

    pages: tuple[tuple[str, ...], ...]
    question: str
    answer: str
    hops: int
    fact: str
    id: str

    @property
    def context(self) -> str:
        """The pages as one text: a newline between lines, a form feed between pages."""
        return "\f".join("\n".join(page) for page in self.pages)


class RecordsError(ValueError):
    """A file that is not records in LongBench's form, or contexts without a question of the sort that is asked for; the message says where."""


def build(
    rng: Random, pages: int, lines: int, *, width: int = WIDTH, hops: float = 0.25, dense: float = 0.6, absent: float = 0.0
) -> Context:
    """Sentences in random order. `dense` is the share of lines that state facts, `hops` sets how many of them tie two things.

    `absent` is how many more questions are asked whose answer is nowhere; of a fraction, the chance of one.
    """
    table: dict[tuple[str, str], str] = {}
    plain: list[Fact] = []
    stated: list[str] = []
    queries: list[Query] = []
    things = [world.entity(rng) for _ in range(max(2, pages * lines // 3))]
    wanted = max(1, int(pages * lines * dense))
    for _ in range(wanted * 6):
        if len(stated) == wanted:
            break
        if plain and rng.random() < hops * 0.5:
            far = rng.choice(plain)
            thing, link = world.entity(rng), rng.choice(world.LINK)
            line = world.tie(rng, thing, link, far.subject)
            if (thing, link) in table or len(line) > width:
                continue
            table[thing, link] = world.definite(far.subject)
            queries.append(Query(world.ask_through(thing, link, far.attribute), far.value, 2, far.line))
            queries.append(Query(world.ask(rng, thing, link), world.definite(far.subject), 1, line))
        else:
            thing, attribute = rng.choice(things), rng.choice(world.ATTRIBUTES)
            what = world.value(rng, attribute)
            line = world.state(rng, thing, attribute, what)
            if (thing, attribute) in table or len(line) > width or line in stated:
                continue
            table[thing, attribute] = what
            plain.append(Fact(thing, attribute, what, line))
            queries.append(Query(world.ask(rng, thing, attribute), what, 1, line))
        stated.append(line)
    rows = stated + [world.filler(rng)[:width] for _ in range(pages * lines - len(stated))]
    rng.shuffle(rows)
    _ask_for_nothing(rng, absent, things, table, queries)
    rng.shuffle(queries)
    return Context(tuple(tuple(rows[p * lines : (p + 1) * lines]) for p in range(pages)), tuple(queries))


def sections(rng: Random, pages: int, lines: int, *, width: int = WIDTH, absent: float = 0.0) -> Context:
    """Headings with two to five rows beneath each; a section that a page's end cuts goes on at the top of the next page."""
    table: dict[tuple[str, str], str] = {}
    rows: list[str] = []
    facts: list[tuple[int, int, Fact]] = []  # row of the heading, row of the fact, fact
    seen: set[str] = set()
    while len(rows) < pages * lines:
        thing = world.entity(rng)
        if thing in seen:
            continue
        seen.add(thing)
        heading = len(rows)
        rows.append(world.sentence_case(thing) + ":")
        for attribute in rng.sample(world.ATTRIBUTES, rng.randint(2, 5)):
            what = world.value(rng, attribute)
            table[thing, attribute] = what
            line = world.row(rng, attribute, what)[:width]
            facts.append((heading, len(rows), Fact(thing, attribute, what, line)))
            rows.append(line)
    queries: list[Query] = []
    for heading, at, fact in facts:
        if at < pages * lines:
            hops = 1 if heading // lines == at // lines else CARRIED
            queries.append(Query(world.ask(rng, fact.subject, fact.attribute), fact.value, hops, fact.line))
    _ask_for_nothing(rng, absent, sorted(seen), table, queries)
    rng.shuffle(queries)
    return Context(tuple(tuple(rows[p * lines : (p + 1) * lines]) for p in range(pages)), tuple(queries))


def _ask_for_nothing(rng: Random, many: float, things: Sequence[str], table: dict[tuple[str, str], str], queries: list[Query]) -> None:
    """Add questions about a thing of the page, or another, whose attribute is stated nowhere: `many` of them, a fraction being a chance."""
    for number in range(max(1, math.ceil(many))):
        if rng.random() >= many - number:
            return
        for _ in range(20):
            thing = rng.choice(things) if rng.random() < 0.6 else world.entity(rng)
            attribute = rng.choice(world.ATTRIBUTES)
            if (thing, attribute) not in table:
                queries.append(Query(world.ask(rng, thing, attribute), world.NOT_STATED, ABSENT, ""))
                break


def contexts(
    kind: Kind,
    n: int,
    pages: int,
    lines: int,
    seed: int = HELD_OUT,
    *,
    hops: float = 0.0,
    dense: float = 0.8,
    absent: float = 0.0,
) -> Iterator[Context]:
    """Draw n contexts one after the other from one generator, as the card's figures were (`dense` 0.8); sections know no hops."""
    rng = Random(seed)
    for _ in range(n):
        if kind == "sections":
            yield sections(rng, pages, lines, absent=absent)
        else:
            yield build(rng, pages, lines, hops=hops, dense=dense, absent=absent)


def samples(
    kind: Kind,
    n: int,
    pages: int,
    lines: int,
    seed: int = HELD_OUT,
    *,
    each: int | None = 3,
    hops: float = 0.0,
    dense: float = 0.8,
    absent: float = 0.0,
    only: int | None = None,
) -> list[Sample]:
    """The first `each` questions (None: all) of each of n contexts; `only`: of its questions over so many hops, as `Query.hops` counts.

    The card's rows, with the held-out seed: 1 x 12 one hop is ("build", 50, 1, 12, each=4); 4 x 12 is ("build", 32, 4, 12, each=4);
    8 x 12 is ("build", 20, 8, 12, each=4); rows under headings are ("sections", 40, 2, 6, each=None); two hops are those samples with
    `hops` 2 of ("build", 40, 1, 12, each=6, hops=0.6).
    """
    return [
        Sample(context.pages, query.question, query.answer, query.hops, query.fact, f"{kind}-{pages}x{lines}-{seed}-{c}-{q}")
        for c, context in enumerate(contexts(kind, n, pages, lines, seed, hops=hops, dense=dense, absent=absent))
        for q, query in [(q, query) for q, query in enumerate(context.queries) if only in (None, query.hops)][:each]
    ]


def first(
    n: int,
    kind: Kind,
    pages: int,
    lines: int,
    seed: int = HELD_OUT,
    *,
    each: int | None = 4,
    hops: float = 0.0,
    absent: float = 0.0,
    only: int | None = None,
) -> list[Sample]:
    """The first n questions of as many contexts as that takes: a context may hold fewer questions than `each`.

    Raises RecordsError where such contexts have no questions of the sort that is asked for.
    """
    contexts = n if each is None else -(-n // each)
    while len(drawn := samples(kind, contexts, pages, lines, seed, each=each, hops=hops, absent=absent, only=only)) < n:
        if not drawn and contexts >= _PATIENCE:
            raise RecordsError(
                f"{contexts} contexts of {pages} x {lines} lines hold no question of this sort; name other contexts or another sort"
            )
        contexts *= 2
    return drawn[:n]


def write(path: Path, rows: Sequence[Sample]) -> None:
    """One JSON object a line, with LongBench's keys and two of ours behind them (`hops`, `fact`), which its readers pass over."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for sample in rows:
            file.write(json.dumps(as_row(sample), ensure_ascii=False) + "\n")


def as_row(sample: Sample) -> dict[str, object]:
    """LongBench's record; `length` counts words, as theirs does for English."""
    return {
        "input": sample.question,
        "context": sample.context,
        "answers": [sample.answer],
        "length": len(sample.context.split()),
        "dataset": "records",
        "language": "en",
        "all_classes": None,
        "_id": sample.id,
        "hops": sample.hops,
        "fact": sample.fact,
    }


def read(path: Path) -> list[Sample]:
    """What `write` wrote. Raises RecordsError for rows of another data set, and for rows that lack a field or are no JSON."""
    found = []
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                row = json.loads(line)
                if row["dataset"] != "records":
                    raise RecordsError(f"{path}, line {number}: dataset is {row['dataset']!r}, not 'records'; give a file of records")
                pages = tuple(tuple(page.split("\n")) for page in row["context"].split("\f"))
                found.append(Sample(pages, row["input"], row["answers"][0], row["hops"], row["fact"], row["_id"]))
            except (json.JSONDecodeError, KeyError, IndexError, TypeError, AttributeError) as error:
                raise RecordsError(f"{path}, line {number}: {error!r}; each line is one JSON object with LongBench's fields") from error
    return found
