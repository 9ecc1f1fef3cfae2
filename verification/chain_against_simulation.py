"""Exact answers of medium and large systems against long simulations, in standard errors."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import numpy as np
from scipy.special import stdtrit

from moldable import Policy, Scenario, SpeedUp, Workload, simulate
from moldable.errors import NearlyDecomposableError
from moldable.exact.exact import stationary_law
from moldable.exact.pool import predicted_states
from moldable.results import Performance
from moldable.system.loss_system import build_system
from naive.random_systems import random_policy, random_workload
from verification.verdict import Verdict

SYSTEMS, RUNS, JOBS = 20, 64, 500_000
MOST_STATES = 150_000
SUB_LINEAR = SpeedUp([1, 1.8, 2.5, 3, 3.4])


def experiments() -> Iterator[Verdict]:
    """Test random systems with every policy, the paper's on a window, and a wrong rate."""
    for number in range(SYSTEMS):
        workload, servers, policy = _system(number)
        exact = stationary_law(Scenario(workload, servers), policy).performance()
        worst, least = _apart(_simulated(workload, servers, policy, number), exact)
        kind = f"n = {servers}, {len(workload.classes)} classes, {exact.provenance['policy']}"
        size = f"{exact.detail.states:,} states, blocking {exact.blocking.value:.4f} to {least:.1g}"
        yield Verdict(f"{kind}, {size}: standard errors apart", worst, 4)
    for servers in (400, 4000, 20_000):
        load = 1 - 0.1 / math.sqrt(servers)
        workload = Scenario.single(SUB_LINEAR, load, servers).workload
        exact = stationary_law(Scenario(workload, servers)).performance()
        worst, least = _apart(_simulated(workload, servers, None, servers), exact)
        what = f"n = {servers}, widths 1 and 2 on a window, blocking to {least:.1g}"
        yield Verdict(f"{what}: standard errors apart", worst, 4)
    yield _power()


def _system(number: int) -> tuple[Workload, int, Policy]:
    """Draw a system that is solved exactly and blocks some jobs."""
    for attempt in range(10_000):
        rng = np.random.default_rng([2024, number, attempt])
        servers = int(rng.integers(40, 301))
        classes = int(rng.integers(1, 4))
        workload = random_workload(rng, servers, classes=classes, most_widths=5)
        policy = random_policy(rng, workload, servers)
        if predicted_states(build_system(Scenario(workload, servers), policy)) > MOST_STATES:
            continue
        try:
            exact = stationary_law(Scenario(workload, servers), policy).performance()
        except NearlyDecomposableError:  # refused, as chain_against_gth shows it must be
            continue
        if exact.method == "chain" and 1e-3 < exact.blocking.value < 0.5:
            return workload, servers, policy
    raise AssertionError(number)


def _simulated(workload: Workload, servers: int, policy: Policy | None, seed: int) -> Performance:
    return simulate(
        Scenario(workload, servers), policy, jobs=JOBS, replications=RUNS, warmup=10.0, seed=seed
    )


def _apart(answer: Performance, exact: Performance) -> tuple[float, float]:
    """Return the largest deviation in standard errors, and the relative error of the blocking."""
    apart = []
    for a, b in zip((answer, *answer.classes), (exact, *exact.classes), strict=True):
        for name in ("blocking", "mean_execution_time"):
            found, true = getattr(a, name), getattr(b, name).value
            if math.isfinite(found.half_width) and found.half_width > 1e-12:
                apart.append(abs(found.value - true) / _error(found.half_width))
    return max(apart), _error(answer.blocking.half_width) / exact.blocking.value


def _error(half_width: float) -> float:
    return half_width / float(stdtrit(RUNS - 1, 0.975))


def _power() -> Verdict:
    """Check that a rate that is 1 % wrong deviates by more than 4 standard errors."""
    workload, servers, policy = _system(0)
    exact = stationary_law(Scenario(workload, servers), policy).performance()
    classes = tuple(
        dataclasses.replace(part, arrival_rate=1.01 * part.arrival_rate)
        for part in workload.classes
    )
    worst, _ = _apart(_simulated(Workload(classes), servers, policy, 0), exact)
    return Verdict(
        f"4 over the {worst:.0f} standard errors by which a 1 % wrong rate deviates", 4 / worst, 1
    )
