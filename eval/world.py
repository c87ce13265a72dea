"""A random generator in; made-up things, their attributes, sentences that state them and questions that ask for them out.

This is the vocabulary of the *records* world, the only English the embedded reader knows. Every draw comes from the generator that is
passed in, and the *order of draws is part of the contract*: the card's held-out pages are known only by their seed, so one draw more
or less anywhere here would make other pages of it. The test holds every function to the recipe the reader was trained with.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from random import Random

# What a fact whose question has no answer is answered with.
NOT_STATED = "not stated"


def _words(text: str) -> list[str]:
    """A table kept as a sentence: it is read more easily than forty quoted strings."""
    return text.split()


CONSONANTS = _words("b c d f g h j k l m n p r s t v w z br cr dr fr gr pr tr st sl pl cl")
VOWELS = _words("a e i o u ai ea io ou")
ENDINGS = _words("n r s t l m k d")
MONTHS = _words("January February March April May June July August September October November December")
NOUNS = _words(
    "depot station factory museum bridge tower garden school library hotel market farm mine clinic "
    "temple castle island theater bakery project vessel train pump valve robot drone rocket telescope"
)
FILLERS = _words(
    "the a of and to in for on with from by at as it was is are were this that these those has had have been "
    "its their his her they we not but or also more most than then when where which while after before during "
    "water light field house paper music night story world table window garden winter summer market signal "
    "report meeting group system number question answer process machine letter picture morning country"
)

# Attributes by the kind of value they take.
PERSON = _words("owner manager director founder coach captain pilot doctor lawyer editor author chair guide driver keeper")
CODE = _words("code password serial license permit locker model")
MONEY = _words("price budget rent fee fine salary")
PLACE = _words("city region origin harbor venue")
DATE = _words("deadline opening launch audit renewal")
SIZE = {
    "weight": _words("kilos tons"),
    "length": _words("meters miles"),
    "height": _words("meters feet"),
    "capacity": _words("liters seats"),
    "speed": ["knots"],
    "warranty": _words("months years"),
    "depth": ["meters"],
    "voltage": ["volts"],
    "power": ["watts"],
    "range": ["miles"],
    "staff": ["people"],
    "area": ["acres"],
}
WORD = {
    "color": _words("red blue green black white yellow purple orange silver golden brown gray"),
    "status": _words("open closed pending active retired delayed"),
    "material": _words("steel glass copper wood stone rubber cotton marble"),
    "fuel": _words("diesel coal gas wood hydrogen"),
    "mascot": _words("fox owl bear wolf crane otter tiger seal"),
    "grade": _words("A B C D E F"),
}
NUMBER = _words("room floor gate desk platform phone channel")
# What ties one thing to another; only facts of two hops use these.
LINK = _words("supplier sponsor partner parent neighbor successor rival tenant insurer")

ATTRIBUTES = [*PERSON, *CODE, *MONEY, *PLACE, *DATE, *SIZE, *WORD, *NUMBER]

# A form that stands twice is drawn twice as often.
_FACTS = ["The {a} of {e} is {v}.", "The {a} of {e} is {v}.", "{e} has {a} {v}.", "{e}: {a} {v}.", "{e}, {a}: {v}.", "{e}'s {a} is {v}."]
_LINKS = ["The {a} of {e} is {v}.", "{e} has {a} {v}.", "{e}: {a} {v}."]
_ROWS = ["  {a}: {v}", "  {a} is {v}", "  its {a} is {v}"]
_QUESTIONS = [
    "{who} is the {a} of {e}?",
    "{who} is the {a} of {e}?",
    "{who} is {e}'s {a}?",
    "Which {a} does {e} have?",
    "{e} {a}?",
    "Tell me the {a} of {e}.",
]


def word(rng: Random) -> str:
    """Two or three syllables of nothing, such as "vupli" or "brobo"."""
    syllables = "".join(rng.choice(CONSONANTS) + rng.choice(VOWELS) for _ in range(rng.choice((2, 2, 3))))
    return syllables + (rng.choice(ENDINGS) if rng.random() < 0.4 else "")


def name(rng: Random) -> str:
    return word(rng).capitalize()


def entity(rng: Random) -> str:
    """A made-up thing: "Brobo tower", "green castle", "Criogibat Plimai" or "Clifai"."""
    kind = rng.random()
    if kind < 0.5:
        return f"{name(rng)} {rng.choice(NOUNS)}"
    if kind < 0.7:
        return f"{rng.choice(WORD['color'])} {rng.choice(NOUNS)}"
    if kind < 0.85:
        return f"{name(rng)} {name(rng)}"
    return name(rng)


def value(rng: Random, attribute: str) -> str:
    """A value of the kind that the attribute takes; KeyError for a word that is no attribute."""
    return _VALUES[attribute](rng)


def definite(thing: str) -> str:
    """ "the green castle", but "Brobo tower": names take no article."""
    return f"the {thing}" if thing[0].islower() else thing


def sentence_case(text: str) -> str:
    """The first letter as a capital, the others untouched (`str.capitalize` would lower the names)."""
    return text[0].upper() + text[1:]


def state(rng: Random, thing: str, attribute: str, what: str) -> str:
    """A sentence that says it: "The owner of Brobo tower is Dupu Hiovin." """
    return sentence_case(rng.choice(_FACTS).format(a=attribute, e=definite(thing), v=what))


def tie(rng: Random, thing: str, link: str, other: str) -> str:
    """A sentence that ties two things: "The supplier of Clifai is the green castle." """
    return sentence_case(rng.choice(_LINKS).format(a=link, e=definite(thing), v=definite(other)))


def row(rng: Random, attribute: str, what: str) -> str:
    """A line under a heading, indented, without its subject: "  its fuel is coal"."""
    return rng.choice(_ROWS).format(a=attribute, v=what)


def ask(rng: Random, thing: str, attribute: str) -> str:
    """One of the ways to ask for an attribute, in the words the reader knows."""
    who = "Who" if attribute in PERSON else "When" if attribute in DATE and rng.random() < 0.5 else "What"
    return sentence_case(rng.choice(_QUESTIONS).format(who=who, a=attribute, e=definite(thing)))


def ask_through(thing: str, link: str, attribute: str) -> str:
    """A question of two hops: "What is the voltage of the supplier of Clifai?" """
    return f"{'Who' if attribute in PERSON else 'What'} is the {attribute} of the {link} of {definite(thing)}?"


def filler(rng: Random) -> str:
    """A line that states nothing, of 4 to 12 words."""
    words = [rng.choice(FILLERS) if rng.random() < 0.75 else word(rng) for _ in range(rng.randint(4, 12))]
    return sentence_case(" ".join(words)) + "."


def _person(rng: Random) -> str:
    return f"{name(rng)} {name(rng)}"


def _code(rng: Random) -> str:
    letters = "".join(rng.choice(string.ascii_uppercase) for _ in range(rng.randint(2, 3)))
    return f"{letters}-{rng.randint(10, 9999)}"


def _money(rng: Random) -> str:
    if rng.random() < 0.5:
        return f"${rng.randint(1, 999)}"
    return f"${rng.randint(1, 99)},{rng.randint(0, 999):03d}"


def _date(rng: Random) -> str:
    if rng.random() < 0.7:
        return f"{rng.randint(1, 28)} {rng.choice(MONTHS)} {rng.randint(1950, 2040)}"
    return str(rng.randint(1950, 2040))


def _number(rng: Random) -> str:
    return str(rng.randint(1, 99999))


def _sized(units: list[str]) -> Callable[[Random], str]:
    return lambda rng: f"{rng.randint(2, 999)} {rng.choice(units)}"


def _one_of(words: list[str]) -> Callable[[Random], str]:
    return lambda rng: rng.choice(words)


_VALUES: dict[str, Callable[[Random], str]] = {
    **dict.fromkeys(PERSON, _person),
    **dict.fromkeys(CODE, _code),
    **dict.fromkeys(MONEY, _money),
    **dict.fromkeys(PLACE, name),
    **dict.fromkeys(DATE, _date),
    **{attribute: _sized(units) for attribute, units in SIZE.items()},
    **{attribute: _one_of(words) for attribute, words in WORD.items()},
    **dict.fromkeys(NUMBER, _number),
}
