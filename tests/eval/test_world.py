"""The made-up world draws exactly what the reader's recipe draws, and says it in the few forms the reader knows."""

import importlib.util
from random import Random

import pytest

from eval import world


@pytest.fixture(scope="module")
def recipe(shared):
    spec = importlib.util.spec_from_file_location("recipe_world", shared / "reader" / "recipe" / "world.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_draw_is_the_recipes_and_leaves_the_generator_where_the_recipe_does(recipe):
    ours, theirs = Random(11), Random(11)
    for attribute in world.ATTRIBUTES * 5:
        assert world.entity(ours) == (thing := recipe.entity(theirs))
        assert world.value(ours, attribute) == (what := recipe.value(theirs, attribute))
        assert world.state(ours, thing, attribute, what) == recipe.fact(theirs, thing, attribute, what)
        assert world.ask(ours, thing, attribute) == recipe.ask(theirs, thing, attribute)
        assert world.filler(ours) == recipe.filler(theirs)
    assert ours.getstate() == theirs.getstate()


def test_the_attributes_stand_in_the_recipes_order(recipe):
    assert world.ATTRIBUTES == recipe.ATTRS
    assert recipe.LINK == world.LINK


def test_a_name_takes_no_article_and_keeps_its_capitals():
    assert world.definite("green castle") == "the green castle"
    assert world.definite("Brobo Vupli") == "Brobo Vupli"
    assert world.sentence_case("the coach of Brobo Vupli") == "The coach of Brobo Vupli"


def test_people_are_asked_for_with_who():
    assert world.ask_through("Clifai", "supplier", "owner") == "Who is the owner of the supplier of Clifai?"
    assert world.ask_through("red farm", "supplier", "voltage") == "What is the voltage of the supplier of the red farm?"


def test_a_word_that_is_no_attribute_has_no_values():
    with pytest.raises(KeyError):
        world.value(Random(0), "happiness")
