"""Is blocking too rare to count found right? Descents against exact chains and counting."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np

from moldable import (
    Estimate,
    JobClass,
    MixedErlang,
    PricePolicy,
    Scenario,
    SpeedUp,
    Workload,
    evaluate,
    greedy_p,
    simulate,
    tune,
)
from moldable.arrays import Floats
from moldable.policies.policy_table import Policy
from moldable.simulation.descents import rare_blocking
from verification.named_curves import SUBLINEAR
from verification.verdict import Verdict

DESCENTS, ON_MANY_SERVERS = 150, 24
MOST_ERRORS, MOST_BIAS, MOST_SPREAD = 4.0, 0.05, 0.4
TWO, THREE = SpeedUp([1, 1.8]), SpeedUp([1, 1.8, 2.5])
CLASSES = Workload(
    (JobClass("a", 36.0, TWO), JobClass("b", 12.0, SpeedUp([1, 1.9]), mean_size=0.5))
)
ERLANG = Workload((JobClass("jobs", 45.0, TWO, size=MixedErlang([0.4, 0.6])),))
# Systems whose chains can be solved, with blocking from 1e-4 to 1e-11.
KNOWN: tuple[tuple[str, Workload, int, Policy], ...] = (
    *(
        (f"two widths, n = 400, q0 = {q0}", Scenario.single(TWO, 0.75, 400).workload, 400, price)
        for q0 in (1.5, 2.0, 2.5, 3.0)
        for price in [PricePolicy.exponential(q0, 20.0)]
    ),
    (
        "three widths, n = 100",
        Scenario.single(THREE, 0.5, 100).workload,
        100,
        PricePolicy.exponential(3, 6),
    ),
    ("two classes, n = 90", CLASSES, 90, PricePolicy.exponential(2.0, 9.0)),
    ("mixed Erlang, n = 90", ERLANG, 90, PricePolicy.exponential(2.5, 9.0)),
    (
        "greedy(p*) for load 0.95, n = 400",
        Scenario.single(TWO, 0.7, 400).workload,
        400,
        greedy_p(Scenario.single(TWO, 0.7, 400), 0.95),
    ),
)
RARE = (1e-5, 1e-8)


def experiments() -> Iterator[Verdict]:
    """Compare, then tune for limits that cannot be counted."""
    for name, workload, servers, policy in KNOWN:
        exact = evaluate(Scenario(workload, servers), policy, method="chain").blocking
        what = f"{name}, exact {exact.value:.3g}"
        yield from _against(what, _descents(workload, servers, policy, DESCENTS), exact)
    workload = Scenario.single(SUBLINEAR, 0.8, 4000).workload
    policy = PricePolicy.exponential(1.19, 57.85)
    counted = simulate(
        Scenario(workload, 4000), policy, jobs=20_000_000, replications=64, seed=1
    ).blocking
    found = _descents(workload, 4000, policy, ON_MANY_SERVERS)
    yield from _against(f"five widths, n = 4000, counted {counted}", found, counted)
    for limit in RARE:
        begun = time.perf_counter()
        tuned = tune(workload, 4000, max_blocking=limit, seed=1)
        static = tuned.static.performance.mean_execution_time if tuned.static else None
        print(
            f"  n = 4000, limit {limit:g}: blocking {tuned.performance.blocking}, mean time "
            f"{tuned.performance.mean_execution_time}, best design load {static}, "
            f"{time.perf_counter() - begun:.0f} s"
        )
        share = tuned.performance.blocking.value / limit
        yield Verdict(f"n = 4000, limit {limit:g}: share of it that is used", share, 1.0)


def _descents(workload: Workload, servers: int, policy: Policy, number: int) -> Floats:
    seeds = range(100, 100 + number)
    return np.array(
        [rare_blocking(Scenario(workload, servers), policy, seed=seed) for seed in seeds], float
    )


def _against(name: str, found: Floats, known: Estimate) -> Iterator[Verdict]:
    spread = found.std(ddof=1)
    error = math.hypot(spread / math.sqrt(found.size), known.half_width / 2.0)
    apart = abs(found.mean() - known.value)
    yield Verdict(f"{name}: standard errors between", apart / error, MOST_ERRORS)
    yield Verdict(f"{name}: one descent's spread", spread / known.value, MOST_SPREAD)
    yield Verdict(f"{name}: relative difference", apart / known.value, MOST_BIAS)
