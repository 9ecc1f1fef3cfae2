"""Classes and workloads."""

from __future__ import annotations

import pytest

from moldable import JobClass, SpeedUp, Workload
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
        ("arrival_rate", "5/h", "pass 5 here and time_unit='hours' to the scenario"),
        ("mean_size", "90 min", "pass 90 here and time_unit='minutes'"),
        ("mean_size", "6", "is not a number; write it without quotes"),
        ("weight", "6h", "is not a number; write it without quotes"),
    ],
)
def test_text_with_a_unit_is_refused_with_the_way_to_give_it(field, text, fix):
    with pytest.raises(WorkloadError, match=f"class 'a': {field}='{text}' .*{fix}"):
        JobClass(**({"name": "a", "arrival_rate": 1.0, "speedup": CURVE} | {field: text}))


def test_workloads_need_distinct_classes_and_a_known_sharing():
    one = JobClass("a", 1, CURVE)
    with pytest.raises(WorkloadError, match="no class"):
        Workload(())
    with pytest.raises(WorkloadError, match="two classes are called 'a'"):
        Workload((one, one))
    with pytest.raises(WorkloadError, match="did you mean 'reserved'"):
        Workload((one,), "reservd")
