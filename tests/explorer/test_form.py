"""The fields of the page: what they hold, what is read from them, and what is wrong."""

from __future__ import annotations

import math

import pytest

from moldable import JobClass, Scenario, Workload
from moldable.explorer.class_input import ClassInput
from moldable.explorer.form import field_names, field_values, read_form
from moldable.explorer.question import Question

ONE = Question((ClassInput("jobs", (1.0, 1.8, 2.5)),), 16, 0.8)
THIRD = 1.0 / 3.0
TWO = Question.from_scenario(
    Scenario(
        Workload(
            [
                JobClass("a", THIRD, [1, 1.7], mean_size=2.0 * THIRD),
                JobClass("b", 1.0, {2: 1.9, 4: 3.5}, size="lognormal:2"),
            ]
        ),
        7,
        waiting=5,
        time_unit="hours",
    )
)


@pytest.mark.parametrize("question", [ONE, TWO])
def test_untouched_fields_ask_the_question_of_the_start_to_the_last_digit(question):
    values = field_values(question)
    assert sorted(values) == sorted(field_names(len(question.classes)))
    form = read_form(values, question)
    assert form.problems == {}
    assert form.question == question


def test_fields_are_read_as_on_the_command_line():
    given = {
        "speedup-0": " 1=1, 2=1.9, 4=3.5 ",
        "load": "45%",
        "servers": "32",
        "waiting": "unlimited",
        "size": "lognormal:2",
        "arrivals": "renewal:2",
        "target": "max_wait_probability",
        "limit": "20%",
        "seed": "7",
    }
    question = read_form(field_values(ONE) | given, ONE).question
    assert question == Question(
        (ClassInput("jobs", (1.0, 1.9, 3.5), (1, 2, 4)),),
        32,
        0.45,
        math.inf,
        "lognormal:2",
        "renewal:2",
        ("max_wait_probability", 0.2),
        seed=7,
    )


def test_a_long_curve_can_be_edited():
    speeds = tuple(width**0.8 for width in range(1, 65))
    start = Question((ClassInput("jobs", speeds),), 128, 0.8)
    values = field_values(start)
    edited = values["speedup-0"].rpartition(",")[0] + ",30"
    question = read_form(values | {"speedup-0": edited}, start).question
    assert question.classes[0].speedup[-1] == 30.0
    assert question.classes[0].speedup[10] == pytest.approx(11**0.8, rel=1e-5)


def test_times_of_targets_may_have_units():
    given = {"waiting": "unlimited", "target": "max_mean_wait", "limit": "30 min"}
    assert read_form(field_values(TWO) | given, TWO).question.target == ("max_mean_wait", 0.5)
    assert "limit" in read_form(field_values(ONE) | given, ONE).problems


def test_names_and_size_laws_of_classes_are_kept():
    form = read_form(field_values(TWO) | {"share-0": "2", "mean_size-1": "3"}, TWO)
    first, second = form.question.classes
    assert (first.name, first.share, first.mean_size) == ("a", 2.0, 2.0 * THIRD)
    assert (second.name, second.mean_size, second.size) == ("b", 3.0, "lognormal:2")


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("load", "much", "'much' is not a number; write one like 0.8 or 80%"),
        ("load", "0", "0 must be above 0"),
        ("load", "nan", "nan must be above 0"),
        ("load", "", "'' is not a number"),
        ("servers", "16.5", "'16.5' is not a whole number; write one like 16"),
        ("servers", "0", "0 must be from 1 to 1000000"),
        ("servers", "9" * 30, "must be from 1 to 1000000"),
        ("servers", "9" * 5000, "is not a whole number"),
        ("waiting", "some", "'some' must be a whole number from 0"),
        ("size", "gaussian", "unknown"),
        ("size", "sizes.csv", "names a file"),
        ("arrivals", "-", "names a file"),
        ("arrivals", "/etc/passwd", "unknown arrivals"),
        ("speedup-0", "1,two", "two"),
        ("speedup-0", "/etc/passwd", "passwd"),
        ("speedup-0", "1," * 30_000, "is not text of at most"),
        ("seed", "-1", "-1 must be from 0"),
        ("seed", None, "'' is not a whole number"),
        ("servers", {"a": 1}, "'' is not a whole number"),
        ("servers", ["16"], "'' is not a whole number"),
    ],
)
def test_a_wrong_field_has_a_message_of_its_own(name, text, told):
    form = read_form(field_values(ONE) | {name: text}, ONE)
    assert form.question is None
    assert list(form.problems) == [name]
    assert told in form.problems[name]
    assert len(form.problems[name]) <= 1000


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"target": "max_blocking"}, "limit"),
        ({"target": "max_blocking", "limit": "2"}, "limit"),
        ({"target": "max_mean_wait", "limit": "1"}, "limit"),
        ({"target": "nothing", "limit": "1"}, "target"),
        ({"speedup-0": "4=3,8=5", "servers": "2"}, "servers"),
    ],
)
def test_fields_that_do_not_fit_together_have_a_message(given, field):
    form = read_form(field_values(ONE) | given, ONE)
    assert form.question is None
    assert list(form.problems) == [field]


def test_all_wrong_fields_are_named_at_once():
    given = {"load": "x", "servers": "y", "size": "z"}
    assert read_form(field_values(ONE) | given, ONE).problems.keys() == given.keys()
