"""Classes and workloads."""

from __future__ import annotations

import pytest

from moldable import JobClass, Scenario, SpeedUp, Workload
from moldable.errors import WorkloadError

CURVE = SpeedUp([1, 1.8])


@pytest.mark.parametrize("field", ["arrival_rate", "mean_size", "weight"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_impossible_rates_are_refused(field, value):
    with pytest.raises(WorkloadError, match=f"class 'a': {field}="):
        JobClass(**{"name": "a", "arrival_rate": 1.0, "speedup": CURVE, field: value})


@pytest.mark.parametrize(
    ("field", "text", "fix"),
    [
        ("arrival_rate", "5h", 'is not a rate such as "5/h" or "120/day"'),
        ("arrival_rate", "5/parsec", "has an unknown unit; known: days, hours"),
        ("mean_size", "6 hrz", "has an unknown unit; did you mean"),
        ("mean_size", "long", 'is not a duration such as "6h"'),
        ("weight", "6h", "is not a number; write it without quotes"),
    ],
)
def test_text_that_is_no_rate_or_duration_is_refused(field, text, fix):
    with pytest.raises(WorkloadError, match=f"class 'a': {field}='{text}' .*{fix}"):
        JobClass(**({"name": "a", "arrival_rate": 1.0, "speedup": CURVE} | {field: text}))


def test_rates_and_sizes_may_have_units():
    solver = JobClass("solver", "120/day", CURVE, "90 min", time_unit="hours")
    assert (solver.arrival_rate, solver.mean_size, solver.time_unit) == (5.0, 1.5, "hours")
    own = JobClass("training", "5/h", CURVE, "90 min")  # in the unit of the rate
    assert (own.arrival_rate, own.mean_size, own.time_unit) == (5.0, 1.5, "hours")
    assert JobClass("plain", 5, CURVE).time_unit is None


def test_classes_in_other_units_are_converted_to_one_unit():
    slow, fast = JobClass("slow", "5/h", CURVE, "90 min"), JobClass("fast", "2/min", CURVE, "30 s")
    both = Workload([slow, fast])
    assert both.time_unit == "hours"
    assert both.arrival_rate == pytest.approx(125.0)
    assert Scenario(both, 16).time_unit == "hours"
    minutes = Scenario(both, 16, time_unit="minutes")
    assert [part.mean_size for part in minutes.workload.classes] == pytest.approx([90.0, 0.5])
    assert minutes.load == pytest.approx(Scenario(both, 16).load) == pytest.approx(8.5 / 16)


def test_workloads_need_distinct_classes_and_a_known_sharing():
    one = JobClass("a", 1, CURVE)
    with pytest.raises(WorkloadError, match="no class"):
        Workload(())
    with pytest.raises(WorkloadError, match="two classes are called 'a'"):
        Workload((one, one))
    with pytest.raises(WorkloadError, match="did you mean 'reserved'"):
        Workload((one,), "reservd")
