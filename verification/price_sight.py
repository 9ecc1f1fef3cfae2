"""What must a policy see besides idle servers, to be nearly the best of all?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from moldable import JobClass, Policy, Scenario, stationary_law
from moldable.arrays import Floats
from moldable.optimal.optimal_control import OptimalControl, optimal_control
from verification.best_table import Sight, Tables, idle_and, idle_only
from verification.named_curves import NEMO, SUBLINEAR
from verification.price_classes import three_classes, two_classes
from verification.verdict import Verdict

PRICES = (4.0, 16.0)
STEPS = 60
"""Into which the rate at which servers come free is cut."""
SYSTEMS = {
    "sub-linear, load 0.8": (Scenario.single(SUBLINEAR, 0.8, 64).workload, 64),
    "NEMO, super-linear, load 0.8": (Scenario.single(NEMO, 0.8, 64).workload, 64),
    "two classes": (two_classes(36), 36),
    "three classes": (three_classes(28), 28),
}


def gaps(optimum: OptimalControl) -> Floats:
    """Return how much more than the optimum the best tables found cost.

    They see the idle servers; these and the number of running jobs; these and the servers that
    come free per unit of time.
    """
    problem, price = optimum.problem, optimum.price
    tables = Tables(problem, price)
    start = tables.of(optimum.widths_by_idle)
    table, cost = tables.best(idle_only(problem), start)
    jobs = problem.jobs()
    freed = np.tensordot(problem.rates * problem.widths, jobs, 1)
    steps = np.minimum(freed / freed.max() * STEPS, STEPS - 1).astype(np.int64)
    costs = [cost]
    for seen in (jobs.sum(axis=0), steps):
        sight = idle_and(problem, seen)
        costs.append(tables.best(sight, table[:, sight.idle])[1])
    return np.array(costs) / optimum.cost - 1.0 + optimum.gap


@dataclass(frozen=True)
class Listed(Policy):
    """A width for every number of idle servers, from 0."""

    widths: tuple[int, ...]

    def decide(self, job_class: JobClass, idle: int) -> Mapping[int, float]:  # noqa: ARG002
        """Look it up."""
        return {self.widths[idle]: 1.0}


def difference_to_trial() -> float:
    """Return by how much the best of all tables of six servers, each tried, is better."""
    servers, price = 6, 8.0
    scenario = Scenario.single(SUBLINEAR, 0.8, servers)
    optimum = optimal_control(scenario, price)
    tables = Tables(optimum.problem, price)
    _, cost = tables.best(idle_only(optimum.problem), tables.of(optimum.widths_by_idle))
    least = np.inf
    widest = int(SUBLINEAR.widths[-1])
    for widths in product(*(range(1, min(idle, widest) + 1) for idle in range(1, servers + 1))):
        answer = stationary_law(scenario, Listed((1, *widths))).performance()
        blocked, time = answer.blocking.value, answer.mean_execution_time.value
        least = min(least, (1.0 - blocked) * time + price * optimum.problem.mean_size * blocked)
    return abs(cost / least - 1.0)


def difference_to_optimum() -> float:
    """Return by how much a table that sees every state misses the best of all policies."""
    optimum = optimal_control(Scenario(two_classes(12), 12), 8.0, tolerance=1e-10)
    problem, tables = optimum.problem, Tables(optimum.problem, optimum.price)
    everything = Sight(np.arange(problem.states), problem.idle())
    narrow = tables.of({job_class.name: [1] * 13 for job_class in problem.workload.classes})
    _, cost = tables.best(everything, narrow[:, everything.idle])
    return abs(cost / optimum.cost - 1.0)


def cheap_blocking() -> Iterator[Verdict]:
    """Look at a best table where blocking is cheap: it is no price's, for its widths fall."""
    servers, price = 40, 2.0
    optimum = optimal_control(Scenario.single(SUBLINEAR, 0.9, servers), price)
    problem, tables = optimum.problem, Tables(optimum.problem, price)
    (kinds,), cost = tables.best(idle_only(problem), tables.of(optimum.widths_by_idle))
    widths = problem.widths[kinds[1:]]
    print(f"  sub-linear, load 0.9, n = {servers}, price 2, from 1 idle: {widths.tolist()}")
    gap = cost / optimum.cost - 1.0 + optimum.gap
    yield Verdict("cheap blocking: gap of the best table by idle servers", gap, 5e-4)
    deepest = float(np.diff(widths).min())
    yield Verdict("cheap blocking: largest fall of its widths", deepest, -1.0)


def experiments() -> Iterator[Verdict]:
    """Check the search, print what each sight leaves, and judge the servers coming free."""
    yield Verdict("best table of six servers, against all 600", difference_to_trial(), 1e-9)
    yield Verdict("a table that sees every state, to the optimum", difference_to_optimum(), 1e-9)
    yield from cheap_blocking()
    ratios, left = [], []
    for name, (workload, servers) in SYSTEMS.items():
        for price in PRICES:
            idle, jobs, free = gaps(
                optimal_control(Scenario(workload, servers), price, tolerance=1e-7)
            )
            print(
                f"  | {name}, n = {servers}, price {price:g} | {100 * idle:.3f} | "
                f"{100 * jobs:.3f} | {100 * free:.3f} |",
                flush=True,
            )
            left.append(free)
            ratios.append(free / idle)
    yield Verdict("idle servers and those coming free: worst gap to the optimum", max(left), 1e-3)
    yield Verdict("the same as a share of the gap of idle servers alone: worst", max(ratios), 0.5)
