"""The value policy along its costs, and the optimum."""

from __future__ import annotations

import numpy as np
import pytest

from moldable import JobClass, Scenario, SpeedUp, Workload
from moldable.errors import MoldableError
from moldable.sizes import Deterministic
from moldable.tuning import value_tradeoff

CURVE = SpeedUp([1, 1.8, 2.5])


def test_points_lie_on_the_optimums_curve_or_hardly_above_it():
    found = value_tradeoff(Scenario.single(CURVE, 0.8, 14), (2.0, 8.0, 32.0))
    for control, own in zip(found.optimum.controls, found.value_policy, strict=True):
        blocking = own.performance.blocking.value
        cost = (1 - blocking) * own.performance.mean_execution_time.value
        cost += own.blocking_cost * blocking
        assert control.cost * (1 - 1e-6) <= cost <= 1.005 * control.cost
    assert (np.diff([own.performance.blocking.value for own in found.value_policy]) < 0).all()
    assert found.seed is None
    names = ["optimum", "why_no_optimum", "value_policy", "greedy_p", "greedy", "seed", "warnings"]
    assert list(found.to_dict()) == ["time_unit", *names, "inputs"]
    assert found.to_dict()["value_policy"][0]["thresholds"].startswith("1 server from 1 idle")


def test_without_an_optimum_the_reason_is_given():
    constant = Workload((JobClass("jobs", 8.0, CURVE, size=Deterministic()),))
    found = value_tradeoff(Scenario(constant, 10), [4.0], precision=0.5, seed=3)
    assert found.optimum is None
    assert "sizes that are deterministic" in found.why_no_optimum
    assert found.seed == 3


@pytest.mark.parametrize("costs", [[], [-1.0], 3])
def test_invalid_costs_are_refused(costs):
    with pytest.raises(MoldableError):
        value_tradeoff(Scenario.single(CURVE, 0.8, 4), costs)
