"""A TOML file in; a curriculum out: parts of the training, one after the other, each a mixture of courses with their weights.

[[part]]
share = 0.4                  # of the allowance; the shares of all parts make 1
[[part.course]]
weight = 3                   # how often beside the part's other courses (default 1)
pages = [1]                  # and any other field of `Course`
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from random import Random
from typing import Any

from .lessons import Course


class CurriculumError(ValueError):
    """A file that is no curriculum; the message names the file, the part and the field."""


@dataclass(frozen=True)
class Part:
    """A share of the allowance, 0 to 1, and what is taught in it."""

    share: float
    courses: tuple[Course, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True)
class Curriculum:
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, course: Course) -> Curriculum:
        """One course from beginning to end."""
        return cls((Part(1.0, (course,), (1.0,)),))

    def pick(self, rng: Random, spent: float) -> Course:
        """A course of the part that is on when `spent` of the allowance is used up."""
        end = 0.0
        for part in self.parts:
            end += part.share
            if spent < end:
                break
        return rng.choices(part.courses, part.weights)[0]


BUILT_IN = Path(__file__).resolve().parent / "curricula"


def read(path: Path) -> Curriculum:
    """Raises CurriculumError where the file is absent or says something that no curriculum says."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
        parts = tuple(_part(part) for part in found["part"])
    except FileNotFoundError as error:
        names = ", ".join(sorted(p.stem for p in BUILT_IN.glob("*.toml")))
        raise CurriculumError(f"{path} is not there; give a TOML file, or one of: {names}") from error
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        raise CurriculumError(f"{path} is no curriculum ({error!r}); see eval/training/curriculum.py for its form") from error
    total = sum(part.share for part in parts)
    if not parts or abs(total - 1) > 1e-6:
        raise CurriculumError(f"{path}: the parts' shares make {total:g}, not 1; correct them")
    return Curriculum(parts)


def _part(found: Mapping[str, Any]) -> Part:
    courses = found["course"]
    return Part(float(found["share"]), tuple(map(_course, courses)), tuple(float(course.get("weight", 1)) for course in courses))


def _course(found: Mapping[str, Any]) -> Course:
    known = {field.name: field.type for field in fields(Course)}
    given: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in found.items() if name != "weight"}
    if strange := given.keys() - known.keys():
        raise ValueError(f"a course has no {', '.join(sorted(strange))}; it has {', '.join(known)}")
    return Course(**given)
