"""Units of time: durations and rates as text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldable import JobClass, Scenario, SpeedUp, Workload, evaluate, tune
from moldable.errors import ControlError, WorkloadError
from moldable.model.units import (
    SECONDS,
    SPELLINGS,
    checked_unit,
    duration,
    parse_duration,
    parse_rate,
    rate,
)

UNITS = st.sampled_from(sorted(SECONDS))
FIGURES = st.floats(min_value=1e-50, max_value=1e50)
TWO = Workload(
    (
        JobClass("a", 3.0, SpeedUp([1, 1.8]), mean_size=1.5),
        JobClass("b", 1.0, SpeedUp([1, 1.9, 2.7]), mean_size=0.5),
    )
)


@given(FIGURES, UNITS, UNITS)
def test_what_is_written_reads_the_same(figure, unit, other):
    time_text, rate_text = duration(repr(figure), unit), rate(repr(figure), unit)
    assert parse_duration(time_text, unit, "x", WorkloadError) == figure
    assert parse_rate(rate_text, unit, "x", WorkloadError) == figure
    # Read in another unit and written in that, it is still the same.
    converted = parse_duration(time_text, other, "x", WorkloadError)
    again = parse_duration(duration(repr(converted), other), unit, "x", WorkloadError)
    assert again == pytest.approx(figure, rel=1e-14)
    # As many jobs arrive in the duration whatever both are measured in.
    jobs = converted * parse_rate(rate_text, other, "x", WorkloadError)
    assert jobs == pytest.approx(figure * figure, rel=1e-14)


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("6h", 6.0),
        ("90 min", 1.5),
        ("0.5 days", 12.0),
        ("5400s", 1.5),
        (" 1.5e1 Minutes ", 0.25),
        (".5 hr", 0.5),
        ("2.", 2.0),
        ("3", 3.0),
        (4, 4.0),
        ("+1 day", 24.0),
    ],
)
def test_durations_in_any_unit_are_converted(text, hours):
    assert parse_duration(text, "hours", "mean_size", WorkloadError) == hours


@pytest.mark.parametrize(
    ("text", "per_hour"),
    [
        ("5/h", 5.0),
        ("120/day", 5.0),
        ("0.1 / min", 6.0),
        ("48 jobs/d", 2.0),
        ("1 job per hour", 1.0),
        ("2 per minute", 120.0),
        ("7", 7.0),
        (0.25, 0.25),
    ],
)
def test_rates_in_any_unit_are_converted(text, per_hour):
    assert parse_rate(text, "hours", "arrival_rate", WorkloadError) == per_hour


@pytest.mark.parametrize(("name", "spellings"), SPELLINGS.items())
def test_units_have_short_and_long_spellings(name, spellings):
    for spelling in (name, name.upper(), *spellings):
        assert checked_unit(spelling) == name
        assert parse_duration(f"2{spelling}", name, "x", WorkloadError) == 2.0


@pytest.mark.parametrize(
    ("read", "text", "own", "message"),
    [
        (parse_duration, "6 parsecs", "hours", "x='6 parsecs' has an unknown unit; .*days, hours"),
        (parse_duration, "6 hurs", "hours", "did you mean 'hours'"),
        (parse_duration, "six hours", "hours", "x='six hours' is not a duration such as \"6h\""),
        (parse_duration, "5/h", "hours", "'5/h' is not a duration"),
        (parse_duration, "1h30", "hours", "'1h30' is not a duration"),
        (parse_duration, "1,5h", "hours", "'1,5h' is not a duration"),
        (parse_duration, "nan", "hours", "'nan' is not a duration"),
        (parse_duration, "", "hours", "'' is not a duration"),
        (parse_duration, "h", "hours", "'h' is not a duration"),
        (parse_duration, None, "hours", "x=None is not a number"),
        (parse_duration, True, "hours", "x=True is not a number"),
        (parse_duration, "6h", None, 'the scenario has none; add time_unit = "hours"'),
        (parse_rate, "5h", "hours", "'5h' is not a rate such as \"5/h\""),
        (parse_rate, "5 jobs", "hours", "'5 jobs' is not a rate"),
        (parse_rate, "5/parsec", "hours", "'5/parsec' has an unknown unit"),
        (parse_rate, "1/3", "hours", "'1/3' is not a rate"),
        (parse_rate, "5/h", None, 'the scenario has none; add time_unit = "hours"'),
        (parse_rate, [], "hours", r"x=\[\] is not a number"),
    ],
)
def test_what_is_no_duration_or_rate_is_refused(read, text, own, message):
    with pytest.raises(WorkloadError, match=message):
        read(text, own, "x", WorkloadError)


@pytest.mark.parametrize("unit", ["parsecs", "", 5, ["h"], True])
def test_a_scenario_refuses_an_unknown_unit(unit):
    with pytest.raises(WorkloadError, match=r"time_unit=.* is not a unit of time; .*days, hours"):
        Scenario(TWO, 4, time_unit=unit)


@pytest.mark.parametrize("text", ["1" * 10**6 + "x", "1" + " " * 10**6 + "?", "1e" * 10**6])
def test_long_texts_are_refused_at_once(text):
    began = time.perf_counter()
    for read in (parse_duration, parse_rate):
        with pytest.raises(WorkloadError):
            read(text, "hours", "x", WorkloadError)
    assert time.perf_counter() - began < 60.0  # quadratic matching would take hours


def in_minutes(workload: Workload) -> Workload:
    classes = [
        JobClass(c.name, c.arrival_rate / 60.0, c.speedup, mean_size=c.mean_size * 60.0)
        for c in workload.classes
    ]
    return Workload(classes, workload.sharing)


@pytest.mark.parametrize("sharing", ["pool", "reserved"])
@pytest.mark.parametrize("method", ["auto", "simulate"])
def test_results_are_the_same_whatever_the_unit(sharing, method):
    workload = Workload(TWO.classes, sharing)
    asked = {"method": method, "precision": 0.05, "seed": 1}
    hours = evaluate(Scenario(workload, 8, time_unit="hours"), **asked)
    minutes = evaluate(Scenario(in_minutes(workload), 8, time_unit="minutes"), **asked)
    assert (hours.time_unit, minutes.time_unit) == ("hours", "minutes")
    assert minutes.blocking.value == pytest.approx(hours.blocking.value, rel=1e-9)
    longer = 60.0 * hours.mean_execution_time.value
    assert minutes.mean_execution_time.value == pytest.approx(longer, rel=1e-9)
    assert 60.0 * minutes.departure_rate == pytest.approx(hours.departure_rate, rel=1e-9)


def test_a_limit_on_time_may_be_text_with_a_unit():
    hours = Scenario(TWO, 6, time_unit="hours")
    by_text = tune(hours, max_time="48 min")
    assert by_text.target == {"max_time": 0.8}
    assert by_text.time_unit == "hours"
    assert by_text.thresholds == tune(hours, max_time=0.8).thresholds
    with pytest.raises(ControlError, match="max_time='48 min' has a unit, but the scenario has"):
        tune(Scenario(TWO, 6), max_time="48 min")
    with pytest.raises(ControlError, match=r"max_time=0.01 h cannot be reached: .* is [0-9.]+ h; "):
        tune(hours, max_time="0.6 min")


def test_a_result_shows_its_unit():
    assert " h, busy" in repr(evaluate(Scenario(TWO, 8, time_unit="h")))
    assert " h, busy" not in repr(evaluate(Scenario(TWO, 8)))


def test_a_scenario_keeps_its_unit_at_another_load():
    assert Scenario(TWO, 8, time_unit="min").at_load(0.5).time_unit == "minutes"
