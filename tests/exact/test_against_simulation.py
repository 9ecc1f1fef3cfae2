"""Exact answers against simulation on medium systems, in standard errors."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy.special import stdtrit

from moldable import Scenario, Workload, simulate
from moldable.exact.exact import stationary_law
from moldable.exact.pool import predicted_states
from moldable.system.loss_system import build_system
from naive.random_systems import random_policy, random_workload
from seeds import seeds

RUNS, JOBS = 64, 60_000


def medium_system(seed, most_states=40_000):
    """Draw (workload, servers, policy, exact answer) that blocks some jobs.

    One in five is solved by formula, the others by their chain.
    """
    for attempt in range(1000):
        rng = np.random.default_rng([77, seed, attempt])
        servers = int(rng.integers(30, 121))
        workload = random_workload(rng, servers, classes=int(rng.integers(1, 4)), most_widths=4)
        policy = random_policy(rng, workload, servers)
        if predicted_states(build_system(Scenario(workload, servers), policy)) > most_states:
            continue
        exact = stationary_law(Scenario(workload, servers), policy).performance()
        wanted = "closed-form" if seed % 5 == 0 else "chain"
        if exact.method == wanted and 0.01 < exact.blocking.value < 0.5:
            return workload, servers, policy, exact
    raise AssertionError(seed)


def simulated(workload, servers, policy, seed):
    return simulate(
        Scenario(workload, servers), policy, jobs=JOBS, replications=RUNS, warmup=8.0, seed=seed
    )


def standard_errors(answer, exact):
    """Return how far blocking and time of each class, and overall, are from the exact ones."""
    apart = []
    for a, b in zip((answer, *answer.classes), (exact, *exact.classes), strict=True):
        for name in ("blocking", "mean_execution_time"):
            found, true = getattr(a, name), getattr(b, name).value
            if math.isfinite(found.half_width) and found.half_width > 1e-12:
                error = found.half_width / stdtrit(RUNS - 1, 0.975)
                apart.append(abs(found.value - true) / error)
    return apart


@pytest.mark.parametrize("seed", seeds(20, few=6))
def test_a_medium_system_is_what_a_simulation_gives(seed):
    workload, servers, policy, exact = medium_system(seed)
    apart = standard_errors(simulated(workload, servers, policy, seed), exact)
    assert apart
    assert max(apart) < 4


@pytest.mark.parametrize("seed", range(3))
def test_a_rate_one_percent_off_would_be_noticed(seed):
    workload, servers, policy, exact = medium_system(seed)
    faster = Workload(
        tuple(
            dataclasses.replace(part, arrival_rate=1.01 * part.arrival_rate)
            for part in workload.classes
        )
    )
    assert max(standard_errors(simulated(faster, servers, policy, seed), exact)) > 4
