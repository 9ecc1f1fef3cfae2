"""On few servers there are few tables, and none that is better under a limit may be missed."""

from __future__ import annotations

import pytest

from moldable import PricePolicy, Scenario, SpeedUp, evaluate, tune

CURVE = SpeedUp([1, 1.8, 2.5, 3, 3.4])


@pytest.mark.parametrize(
    ("servers", "limit", "q0", "ell"),
    [(12, 0.2, 1.1, 1.10836), (12, 0.14, 2.0, 1.10836), (40, 0.16, -0.28316, 18.5365)],
)
@pytest.mark.parametrize("seed", [1, 3])
def test_no_table_known_to_be_good_is_missed(servers, limit, q0, ell, seed):
    """The known ones come from all tables of a fine grid, each of them solved exactly."""
    scenario = Scenario.single(CURVE, 0.8, servers)
    known = evaluate(scenario, PricePolicy.exponential(q0, ell))
    assert known.blocking.value <= limit
    tuned = tune(scenario.workload, servers, max_blocking=limit, seed=seed).performance
    assert tuned.blocking.value <= limit
    assert tuned.mean_execution_time.value <= known.mean_execution_time.value * (1 + 1e-3)


def test_a_wider_limit_is_never_slower():
    scenario = Scenario.single(CURVE, 0.8, 12)
    found = [
        tune(scenario.workload, 12, max_blocking=limit, seed=1) for limit in (0.2, 0.22, 0.24, 0.26)
    ]
    times = [tuned.performance.mean_execution_time.value for tuned in found]
    assert times == sorted(times, reverse=True)
