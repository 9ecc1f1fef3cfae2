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


def test_workloads_need_distinct_classes_and_a_known_sharing():
    one = JobClass("a", 1, CURVE)
    with pytest.raises(WorkloadError, match="no class"):
        Workload(())
    with pytest.raises(WorkloadError, match="two classes are called 'a'"):
        Workload((one, one))
    with pytest.raises(WorkloadError, match="did you mean 'reserved'"):
        Workload((one,), "reservd")
