"""The optimum if widths could change between phases."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from moldable import JobClass, Scenario, SpeedUp, Workload, optimum, reserve
from moldable.allocation import reserve_phases
from naive.random_curves import SHAPES, random_speedups


def by_linear_program(jobs, servers: int) -> float:
    """Return the least mean time per job; the variables are shares of widths of every phase."""
    rate = sum(arrival_rate for arrival_rate, _ in jobs)
    cost, work, one = [], [], []
    for arrival_rate, phases in jobs:
        for share, speedups in phases:
            one.append(len(speedups))
            for width, speedup in enumerate(speedups, start=1):
                cost.append(arrival_rate / rate * share / speedup)
                work.append(arrival_rate * share * width / speedup)
    sums = np.zeros((len(one), len(cost)))
    ends = np.cumsum([0, *one])
    for k in range(len(one)):
        sums[k, ends[k] : ends[k + 1]] = 1.0
    result = linprog(
        cost, A_ub=[work], b_ub=[servers], A_eq=sums, b_eq=np.ones(len(one)), method="highs"
    )
    assert result.status == 0, result.message
    return float(result.fun)


@pytest.mark.parametrize("seed", range(15))
def test_the_reference_is_the_optimum_of_the_linear_program(seed):
    rng = np.random.default_rng(seed)
    jobs, classes = [], []
    for j in range(int(rng.integers(1, 4))):
        shares = rng.dirichlet(np.ones(int(rng.integers(2, 5))))
        phases = [
            (float(share), random_speedups(str(rng.choice(SHAPES)), int(rng.integers(2, 9)), rng))
            for share in shares
        ]
        rate = float(rng.uniform(0.5, 3.0))
        jobs.append((rate, phases))
        curve = SpeedUp.from_phases([(share, SpeedUp(own)) for share, own in phases])
        classes.append(JobClass(f"class {j}", rate, curve))
    least = sum(
        rate * share * min(w / s for w, s in enumerate(own, start=1))
        for rate, phases in jobs
        for share, own in phases
    )
    servers = max(9, int(np.ceil(least * rng.uniform(1.0, 2.0))))
    scenario = Scenario(Workload(classes), servers)
    found = reserve_phases(scenario)
    assert found.mean_execution_time == pytest.approx(by_linear_program(jobs, servers), rel=1e-7)
    times = sum(c.arrival_rate * found.time_of(c) for c in classes)
    assert times / scenario.workload.arrival_rate == pytest.approx(found.mean_execution_time)
    try:
        fixed = reserve(scenario).mean_execution_time
    except ValueError:  # the fixed widths need more servers
        return
    assert found.mean_execution_time <= fixed * (1.0 + 1e-12)


def test_changing_widths_gain_nothing_if_all_phases_scale_alike():
    own = SpeedUp([1, 1.8, 2.5, 3])
    curve = SpeedUp.from_phases([(0.3, own), (0.7, own)])
    found = reserve_phases(Scenario.single(curve, 0.8, 10))
    assert found.mean_execution_time == pytest.approx(optimum(own, 0.8).mean_execution_time)


def test_a_class_without_phases_is_one_phase():
    scenario = Scenario.single([1, 1.8, 2.5], 0.9, 8)
    found = reserve_phases(scenario)
    assert found.mean_execution_time == pytest.approx(reserve(scenario).mean_execution_time)
    assert found.to_dict()["classes"][0]["phases"][0]["support"] == [2]
