"""Does tuning miss a price that would be better under a limit on few servers?

There the family has few different tables: all that a fine grid of prices makes are solved exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from moldable import PricePolicy, Scenario, Workload, stationary_law, tune
from moldable.arrays import Floats
from moldable.tuning.trials import Trials
from verification.named_curves import SUBLINEAR
from verification.verdict import Verdict

SYSTEMS = ((8, 0.8), (12, 0.8), (16, 0.9), (30, 0.8), (40, 0.8))
RANKS = (0.03, 0.25, 0.4, 0.6, 0.8)
"""Limits are what these shares of the tables keep, and a little more."""
MORE = 1e-3
SEEDS = (1, 2, 3)


def tables(workload: Workload, servers: int) -> list[PricePolicy]:
    """Return one price for each different table on a fine grid, finer where few servers allow."""
    trials = Trials(workload, servers, SEEDS[0], None)
    few = trials.exact
    q0s = np.arange(-4.0, 20.0, 0.06) if few else np.arange(-2.0, 9.0, 0.06)
    reach, steps = (2.2, 90) if few else (1.6, 60)
    stretches = math.sqrt(servers) * np.exp(np.linspace(-reach, reach, steps))
    found: dict[object, PricePolicy] = {}
    for ell in stretches.tolist():
        for q0 in q0s.tolist():
            found.setdefault(trials.price_table((q0, ell)), PricePolicy.exponential(q0, ell))
    return list(found.values())


def solved(workload: Workload, servers: int) -> tuple[Floats, Floats]:
    """Return blocking and mean time of every table."""

    def figures(policy: PricePolicy) -> tuple[float, float]:
        answer = stationary_law(Scenario(workload, servers), policy).performance()
        return answer.blocking.value, answer.mean_execution_time.value

    with ThreadPoolExecutor() as pool:
        blocking, time = np.array(list(pool.map(figures, tables(workload, servers)))).T
    return blocking, time


def excess(workload: Workload, servers: int) -> Iterator[float]:
    """Yield by how much tuned prices take longer than the best table, limit by limit and seed."""
    blocking, time = solved(workload, servers)
    for limit in (np.quantile(blocking, RANKS) + MORE).tolist():
        best = float(time[blocking <= limit].min())
        found = []
        for seed in SEEDS:
            tuned = tune(workload, servers, max_blocking=limit, seed=seed).performance
            # A table between the points of the grid may be better still.
            found.append(max(0.0, tuned.mean_execution_time.value / best - 1.0))
        told = " / ".join(f"{100 * one:.2f}" for one in found)
        print(f"  | {servers} | {blocking.size} | {limit:.4f} | {best:.4f} | {told} |", flush=True)
        yield from found


def experiments() -> Iterator[Verdict]:
    """Print a row for each limit: servers, tables, limit, best time, excess of three seeds in %."""
    found = [
        one
        for servers, load in SYSTEMS
        for one in excess(Scenario.single(SUBLINEAR, load, servers).workload, servers)
    ]
    yield Verdict("few servers, limits on blocking: median excess", float(np.median(found)), 1e-3)
    yield Verdict("the same: nine tenths of all", float(np.quantile(found, 0.9)), 1e-2)
    yield Verdict("the same: worst", max(found), 5e-2)
