"""A curriculum gives each part its share of the allowance, and each course its weight in the part; a file that is none is refused."""

from collections import Counter
from random import Random

import pytest

from eval.training.curriculum import BUILT_IN, Curriculum, CurriculumError, read
from eval.training.lessons import Course

TWO_PARTS = """
[[part]]
share = 0.25
[[part.course]]
pages = [1]
[[part]]
share = 0.75
[[part.course]]
weight = 3
pages = [2, 4]
text = 0.5
[[part.course]]
pages = [8]
"""


@pytest.fixture
def two_parts(tmp_path):
    path = tmp_path / "two.toml"
    path.write_text(TWO_PARTS)
    return read(path)


def test_each_part_lasts_for_its_share(two_parts):
    rng = Random(0)
    assert {two_parts.pick(rng, 0.249).pages for _ in range(20)} == {(1,)}
    assert {two_parts.pick(rng, spent).pages for spent in (0.25, 0.99, 1.0) for _ in range(20)} == {(2, 4), (8,)}


def test_each_course_comes_as_often_as_it_weighs(two_parts):
    rng = Random(0)
    counts = Counter(two_parts.pick(rng, 0.5).pages for _ in range(1000))
    assert 700 < counts[2, 4] < 800


def test_what_a_course_does_not_say_is_the_default(two_parts):
    course = two_parts.parts[1].courses[0]
    assert course == Course(pages=(2, 4), text=0.5)


def test_one_course_may_be_all():
    course = Course(shortest=2)
    assert Curriculum.of(course).pick(Random(0), 1.0) is course


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[part]]\nshare = 0.5\n[[part.course]]\n", "make 0.5, not 1"),
        ("[[part]]\nshare = 1\n[[part.course]]\nlines = 3\n", "a course has no lines"),
        ("[[part]]\nshare = 1\n", "no curriculum"),
        ("part", "no curriculum"),
    ],
)
def test_a_file_that_is_no_curriculum_is_refused_with_the_reason(tmp_path, text, says):
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(CurriculumError, match=says) as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(CurriculumError, match="again, bound, far, far-moving, reader"):
        read(BUILT_IN / "nothing.toml")


@pytest.mark.parametrize("path", sorted(BUILT_IN.glob("*.toml")), ids=lambda path: path.stem)
def test_the_built_in_ones_end_with_every_length_that_is_measured(path):
    pages = {n for course in read(path).parts[-1].courses for n in course.pages}
    assert {1, 2, 4, 8} <= pages
