"""Where blocking is too rare to count, the price found is nearly the best of all."""

from __future__ import annotations

import functools

import numpy as np

from moldable import PricePolicy, Scenario, SpeedUp, stationary_law, tune
from moldable.tuning.trials import Trials

SERVERS = 40
SCENARIO = Scenario.single(SpeedUp([1, 1.8, 2.5]), 0.3, SERVERS)


@functools.cache
def every_price():
    """Blocking and mean time of prices in a fine grid, exactly."""
    tables = {}
    for ell in np.geomspace(1.0, 12.0, 12):
        for q0 in np.linspace(-1.0, 9.0, 41):
            policy = PricePolicy.exponential(q0, ell)
            tables.setdefault(policy.describe(SCENARIO.workload, SERVERS), policy)
    answers = [stationary_law(SCENARIO, policy).performance() for policy in tables.values()]
    return [(a.blocking.value, a.mean_execution_time.value) for a in answers]


def test_trials_cannot_see_what_is_asked_here():
    assert not Trials(SCENARIO.workload, SERVERS, 1, 1).exact


def test_a_rare_limit_is_kept_by_nearly_the_fastest_price():
    tuned = tune(SCENARIO.workload, SERVERS, max_blocking=1e-9, seed=1)
    fastest = min(time for blocking, time in every_price() if blocking <= 1e-9)
    assert tuned.performance.blocking.value <= 1e-9
    assert tuned.performance.mean_execution_time.value <= 1.01 * fastest


def test_a_limit_on_time_with_rare_blocking_is_kept_by_nearly_the_rarest():
    tuned = tune(SCENARIO.workload, SERVERS, max_time=0.45, seed=1)
    rarest = min(blocking for blocking, time in every_price() if time <= 0.45)
    assert rarest < 1e-5
    assert tuned.performance.mean_execution_time.value <= 0.45
    assert tuned.performance.blocking.value <= 1.5 * rarest
