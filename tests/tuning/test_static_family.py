"""The paper's scheme is beaten only where its best design load is."""

from __future__ import annotations

import numpy as np
import pytest

from moldable import Scenario, SpeedUp, evaluate, greedy_p
from moldable.tuning.judge import Judge
from moldable.tuning.static_family import StaticFamily
from moldable.tuning.targets import Target
from moldable.tuning.trials import Trials

CURVE = SpeedUp([1, 1.8, 2.5, 3, 3.4])


def best(workload, servers, **target):
    asked = [target.get(name) for name in ("max_blocking", "blocked_job_price", "max_time")]
    trials = Trials(workload, servers, 1, None)
    goal = Target.of(*asked, trials.unit)
    return StaticFamily(trials).best(Judge(trials, goal, 0.01)), goal


def test_widths_that_fill_the_cluster_are_not_missed():
    """Four servers each leave none of twenty over; loads nearby do, and block more."""
    scenario = Scenario.single(CURVE, 0.5, 20)
    found, _ = best(scenario.workload, 20, max_blocking=0.15)
    assert found.design_load == pytest.approx(0.75, rel=1e-12)
    fixed = evaluate(scenario, greedy_p(scenario, 0.75))
    assert found.performance.blocking == fixed.blocking
    assert found.performance.mean_execution_time.value == pytest.approx(1 / 3, rel=1e-12)


@pytest.mark.parametrize("servers", [9, 14, 20])
@pytest.mark.parametrize("load", [0.5, 0.75])
@pytest.mark.parametrize(
    "target", [{"max_blocking": 0.25}, {"blocked_job_price": 3.0}, {"max_time": 0.45}], ids=str
)
def test_no_load_of_a_grid_is_better(servers, load, target):
    scenario = Scenario.single(CURVE, load, servers)
    found, goal = best(scenario.workload, servers, **target)
    grid = [0.5, 0.68, 0.75, 2.5 / 3, 0.9, *np.linspace(0.5 * load, 1 - 1e-9, 60)]
    answers = [evaluate(scenario, greedy_p(scenario, d)) for d in grid]
    least = min(goal.merit_of(answer) for answer in answers)
    assert goal.merit_of(found.performance) <= least * 1.0005
