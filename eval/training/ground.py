"""A random generator in; wider ground than the card's out: more attributes, other forms of dates and amounts, more ways to say and to ask.

Facts come as short paragraphs about one thing: its name in the first sentence, "its" in those behind. `eval.world` stays as it is, for
the card's pages are known by its draws; what is drawn here is taught beside it, as much of it as a course says.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from eval import world
from eval.records import ABSENT, CARRIED, Context, Query

_PEOPLE = ["inventor", "teacher", "painter", "treasurer", "host", "buyer", "seller", "witness", "sailor", "cook"]
_DATES = ["delivery", "birthday", "founding", "inspection", "arrival", "departure"]
_SUMS = ["cost", "debt", "prize", "income", "deposit", "tax"]
_PLACES = ["birthplace", "address", "capital", "home"]
_COUNTS = {"length of the roof": "meters feet", "temperature": "degrees", "age": "years", "load": "kilos tons", "distance": "miles"}

_FACTS = [
    "The {a} of {e} is {v}.",
    "{v} is the {a} of {e}.",
    "As for {e}, the {a} is {v}.",
    "The register gives {v} as the {a} of {e}.",
    "We know that the {a} of {e} is {v}.",
    "{e} has {v} as its {a}.",
]
_MORE = ["Its {a} is {v}.", "The {a} is {v}.", "It has {v} as its {a}.", "{v} is its {a}.", "Its {a} was given as {v}."]
_QUESTIONS = [
    "What is the {a} of {e}?",
    "Name the {a} of {e}.",
    "What {a} is given for {e}?",
    "Do you know the {a} of {e}?",
    "Please give {e}'s {a}.",
    "What do we know of {e}'s {a}?",
    "{a} of {e}?",
]


def date(rng: Random) -> str:
    """ "March 14, 1999", "1999-03-14", "14/03/1999" or "14 March 1999"."""
    day, month, year = rng.randint(1, 28), rng.randint(1, 12), rng.randint(1900, 2060)
    name = world.MONTHS[month - 1]
    return rng.choice((f"{name} {day}, {year}", f"{year}-{month:02d}-{day:02d}", f"{day:02d}/{month:02d}/{year}", f"{day} {name} {year}"))


def amount(rng: Random) -> str:
    """ "4,500 dollars", "$3.5 million", "EUR 12.40" or "95 cents"."""
    whole = rng.randint(1, 9999)
    forms = (f"{whole:,} dollars", f"${rng.randint(1, 99)}.{rng.randint(1, 9)} million", f"EUR {whole % 100}.{rng.randint(0, 99):02d}")
    return rng.choice((*forms, f"{rng.randint(1, 99)} cents", f"${whole:,}"))


def _counted(units: str) -> Callable[[Random], str]:
    return lambda rng: f"{rng.randint(2, 999)}{rng.choice(('', f'.{rng.randint(1, 9)}'))} {rng.choice(units.split())}"


def _person(rng: Random) -> str:
    return " ".join(world.name(rng) for _ in range(rng.choice((1, 2, 2, 3))))


_VALUES: dict[str, Callable[[Random], str]] = {
    **dict.fromkeys(_PEOPLE, _person),
    **dict.fromkeys(_DATES, date),
    **dict.fromkeys(_SUMS, amount),
    **dict.fromkeys(_PLACES, world.name),
    **{attribute: _counted(units) for attribute, units in _COUNTS.items()},
}
ATTRIBUTES = [*_VALUES, *world.ATTRIBUTES]


def value(rng: Random, attribute: str) -> str:
    """A value of the kind that the attribute takes, new attributes and old."""
    return _VALUES[attribute](rng) if attribute in _VALUES else world.value(rng, attribute)


def ask(rng: Random, thing: str, attribute: str) -> str:
    return world.sentence_case(rng.choice(_QUESTIONS).format(a=attribute, e=world.definite(thing)))


def sentence(rng: Random) -> str:
    """One sentence by itself, for the eye: of the first form or of those behind it."""
    attribute = rng.choice(ATTRIBUTES)
    form = rng.choice((*_FACTS, *_MORE))
    return world.sentence_case(form.format(a=attribute, e=world.definite(world.entity(rng)), v=value(rng, attribute)))


def paragraphs(rng: Random, pages: int, lines: int, absent: float = 0.0) -> Context:
    """Pages of paragraphs, each a line of the page's text, which the renderer breaks by sentence and by width; about `lines` printed lines each.

    A fact behind the first of its paragraph is asked over `CARRIED` hops: its subject stands in another sentence.
    """
    leaves: list[tuple[str, ...]] = []
    queries: list[Query] = []
    seen: set[str] = set()
    for _ in range(pages):
        leaf: list[str] = []
        room = lines
        while room > 0:
            thing = world.entity(rng)
            if thing in seen:
                continue
            seen.add(thing)
            said: list[str] = []
            for attribute in rng.sample(ATTRIBUTES, min(rng.randint(1, 4), room)):
                what = value(rng, attribute)
                form = rng.choice(_MORE if said else _FACTS)
                fact = world.sentence_case(form.format(a=attribute, e=world.definite(thing), v=what))
                queries.append(Query(ask(rng, thing, attribute), what, CARRIED if said else 1, fact))
                said.append(fact)
            if rng.random() < 0.3:
                said.append(world.filler(rng))
            # A sentence wider than the page takes two lines.
            room -= sum(1 + len(words) // 50 for words in said)
            leaf.append(" ".join(said))
        leaves.append(tuple(leaf))
    if rng.random() < absent:
        queries.append(Query(ask(rng, world.entity(rng), rng.choice(ATTRIBUTES)), world.NOT_STATED, ABSENT, ""))
    rng.shuffle(queries)
    return Context(tuple(leaves), tuple(queries))
