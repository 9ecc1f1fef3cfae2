"""How do the best q0 and ell grow with n, and how good is a price that was never tuned?"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np

from moldable import Scenario, SpeedUp, untuned_price
from moldable.policies.price import PricePolicy
from moldable.simulation.candidates import try_policies
from verification.named_curves import AMDAHL, CIFAR, LINEAR, SUBLINEAR
from verification.verdict import Verdict

SERVERS = (20, 64, 200, 640, 2000, 6400, 20_000)
BLOCKED_JOB_PRICES = (4.0, 16.0, 64.0)
Q0 = np.arange(0.0, 3.6, 0.25)
STRETCHES = np.array([0.25, 0.35, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5])
"""Values of ell, in square roots of the servers."""
JOBS_PER_SERVER, FEWEST_JOBS = 100, 200_000
SEED = 11
# CIFAR-10 on four GPUs (siasosp23/artifacts, aaf7a0de). The unseen took no part in fitting the rule
# of untuned prices: Transformers on P100s (stanford-futuredata/gavel, c4fa4009) and a power law.
FITTED = {
    "sub-linear": (SUBLINEAR, 0.8),
    "Amdahl 0.95, d = 8": (AMDAHL, 0.8),
    "linear, d = 5": (LINEAR, 0.8),
    "CIFAR-10": (CIFAR, 0.8),
}
UNSEEN = {
    "Transformer": (SpeedUp({1: 1.0, 2: 1.549, 4: 2.615, 8: 3.917}), 0.75),
    "power law 0.85, d = 6": (SpeedUp.power_law(0.85, 6), 0.85),
}

Best = tuple[float, float, float]
"""q0, ell over the square root of n, and what the untuned price costs above it."""


def best_prices(curve: SpeedUp, load: float, servers: int) -> list[Best]:
    """Return the best of a grid of prices for each price of a blocked job."""
    scenario = Scenario.single(curve, load, servers)
    root = math.sqrt(servers)
    grid = [(float(q), float(c)) for q in Q0 for c in STRETCHES]
    policies = [PricePolicy.exponential(q, c * root) for q, c in grid]
    policies += [untuned_price(scenario.workload, servers, price) for price in BLOCKED_JOB_PRICES]
    jobs = max(JOBS_PER_SERVER * servers, FEWEST_JOBS)
    tried = try_policies(scenario, policies, jobs=jobs, replications=4, seed=SEED)
    found = []
    for i, price in enumerate(BLOCKED_JOB_PRICES):
        costs = (1.0 - tried.blockings) * tried.mean_times + price * tried.blockings
        least = int(np.argmin(costs[: len(grid)]))
        found.append((*grid[least], float(costs[len(grid) + i] / costs[least]) - 1.0))
    return found


def _sweep(name: str, curve: SpeedUp, load: float) -> np.ndarray:
    """Return best q0, stretch and excess by n and price, and print them."""
    rows = []
    for servers in SERVERS:
        begun = time.perf_counter()
        rows.append(best_prices(curve, load, servers))
        cells = " | ".join(f"{q:.2f}, {c:.2f} ({100 * e:.1f} %)" for q, c, e in rows[-1])
        took = time.perf_counter() - begun
        print(f"  | {name}, load {load} | {servers:,} | {cells} |  {took:.0f} s", flush=True)
    return np.array(rows)


def experiments() -> Iterator[Verdict]:
    """Sweep n for every curve; the table holds the best q0, ell / sqrt(n) and the excess."""
    fitted = {name: _sweep(name, *system) for name, system in FITTED.items()}
    unseen = {name: _sweep(name, *system) for name, system in UNSEEN.items()}
    for name in ("sub-linear", "CIFAR-10"):
        yield _exponent(name, fitted[name])
    for kind, tables in (("fitted", fitted), ("unseen", unseen)):
        excess = np.concatenate([table[:, :, 2].ravel() for table in tables.values()])
        yield Verdict(
            f"untuned prices, {kind}: median above the grid's best", np.median(excess), 0.015
        )
        yield Verdict(f"untuned prices, {kind}: worst above the grid's best", excess.max(), 0.04)


def _exponent(name: str, table: np.ndarray) -> Verdict:
    """Fit ell = c * n**x over all prices of a blocked job; the square root is x = 1/2."""
    logs = np.log(np.array(SERVERS))
    ells = np.log(table[:, :, 1]).mean(axis=1) + 0.5 * logs
    slope, level = np.polyfit(logs, ells, 1)
    what = (
        f"{name}: ell = {math.exp(level):.2f} * n**{slope:.3f}; distance of the exponent from 1/2"
    )
    return Verdict(what, abs(float(slope) - 0.5), 0.08)
