"""Prices with a long tail: where they are tried, and that they keep what is asked."""

from __future__ import annotations

import pytest

from moldable import JobClass, PricePolicy, Scenario, SpeedUp, Workload, tune
from moldable.tuning.shapes import tails_tried
from tuning.systems import cost

CURVE = SpeedUp([1, 1.8, 2.5, 3, 3.4])
SMALL = Scenario.single(CURVE, 0.8, 16)


def test_a_long_tail_is_chosen_where_it_is_better_unless_it_is_forbidden():
    """NEMO on Skylake nodes (UoB-HPC/benchmarks): two run it 2.22 times as fast as one."""
    scenario = Scenario.single(SpeedUp({1: 1.0, 2: 2.22, 4: 5.295, 8: 9.099}), 0.8, 20)
    plain, long = (
        tune(scenario.workload, 20, blocked_job_price=16.0, long_tail=long_tail, seed=1)
        for long_tail in (False, None)
    )
    assert plain.tail is None
    assert cost(long.performance, 16.0) < 0.98 * cost(plain.performance, 16.0)
    assert long.policy == PricePolicy.long_tailed(long.q0, long.ell, long.tail)
    assert long.to_dict()["policy"]["tail"] == long.tail == 2.0


@pytest.mark.parametrize(
    ("curves", "tails"),
    [([CURVE], 1), ([CURVE, CURVE], 2), ([SpeedUp([1, 2.2, 3])], 2), ([SpeedUp.linear(4)], 1)],
)
def test_a_long_tail_is_tried_for_several_classes_and_bent_curves(curves, tails):
    workload = Workload(tuple(JobClass(f"{k}", 1.0, curve) for k, curve in enumerate(curves)))
    assert len(tails_tried(workload, 8, long_tail=None)) == tails
    assert len(tails_tried(workload, 8, long_tail=True)) == 2
    assert len(tails_tried(workload, 8, long_tail=False)) == 1


def test_a_long_tail_keeps_limits():
    tuned = tune(SMALL.workload, 16, max_blocking=0.12, long_tail=True, seed=1)
    plain = tune(SMALL.workload, 16, max_blocking=0.12, seed=1)
    assert tuned.certified
    assert tuned.performance.blocking.value <= 0.12
    times = [each.performance.mean_execution_time.value for each in (tuned, plain)]
    assert times[0] <= times[1]
