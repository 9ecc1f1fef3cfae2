"""By how much does the tuned price policy cost more than the best of all policies?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from moldable import PricePolicy, Scenario, Workload, stationary_law
from moldable.optimal.optimal_control import OptimalControl
from moldable.optimal.tradeoff import tradeoff
from moldable.tuning.judge import Judge
from moldable.tuning.shapes import tails_tried
from moldable.tuning.targets import Target
from moldable.tuning.trials import Trials
from moldable.tuning.tuning import candidates
from verification.best_table import Tables, granted_widths, idle_only

PRICES = (2.0, 4.0, 8.0, 16.0, 32.0)
LOADS = (0.7, 0.8, 0.9)
SEED, PRECISION = 1, 0.01
EXPONENTIAL, TUNED, ANY = SHAPES = ("exponential alone", "tuned", "any table")
"""The second, the better of the exponential and the long tail, is what `tune` takes for several
classes and for curves that are not concave."""
Gaps = list[float]


@dataclass
class Table:
    """Gaps by system, each a list over the prices."""

    rows: dict[str, Gaps] = field(default_factory=dict)

    def add(self, name: str, found: Gaps) -> None:
        """Keep one system's row and print it."""
        self.rows[name] = found
        print(f"  | {name} | {' / '.join(f'{100 * gap:.2f}' for gap in found)} |", flush=True)

    def worst(self, *prices: float) -> float:
        """Return the largest gap at these prices."""
        places = [PRICES.index(price) for price in prices]
        return max(row[place] for row in self.rows.values() for place in places)

    def median(self) -> float:
        """Return the median over systems and prices."""
        return float(np.median(list(self.rows.values())))


def gaps(workload: Workload, servers: int, shapes: int = 1) -> list[Gaps]:
    """Return by how much the tuned policy costs more than the optimum, price by price.

    A list for each of the first so many shapes: the exponential, the better of it and the long
    tail, and the best table from idle servers to widths, of whatever kind, that this leads to.
    """
    best = tradeoff(Scenario(workload, servers), PRICES)
    trials = Trials(workload, servers, SEED, None)
    found: list[Gaps] = [[] for _ in range(shapes)]
    for control in best.controls:
        target = Target.of(None, control.price, None, trials.unit)
        policies = _tuned(trials, target, long_tail=shapes > 1)
        known = {policy: _cost(trials, target, policy) for policy in set(policies)}
        costs = [known[policy] for policy in policies]
        if shapes == len(SHAPES):
            costs.append(_least_of_tables(control, policies[-1]))
        for row, cost in zip(found, costs, strict=True):
            # The optimum is known to within its own gap, which is added.
            row.append(cost / control.cost - 1.0 + control.gap)
    return found


def _tuned(trials: Trials, target: Target, *, long_tail: bool) -> list[PricePolicy]:
    """Choose as `tune` does, never by the exact figures that the choice is measured by."""
    judge = Judge(trials, target, PRECISION)
    tails = tails_tried(trials.workload, trials.servers, long_tail=long_tail)
    judged = [judge.settle(*candidates(trials, target, tail=tail)[0])[:2] for tail in tails]
    plain, _ = judged[0]
    long, _ = min(judged, key=lambda one: target.merit_of(one[1]))
    return [plain.policy, long.policy] if long_tail else [plain.policy]


def _cost(trials: Trials, target: Target, policy: PricePolicy) -> float:
    answer = stationary_law(Scenario(trials.workload, trials.servers), policy).performance()
    return target.cost(answer.blocking.value, answer.mean_execution_time.value)


def _least_of_tables(control: OptimalControl, tuned: PricePolicy) -> float:
    """Begin with the tuned table, and with what the optimum does most often."""
    tables = Tables(control.problem, control.price)
    starts = granted_widths(tuned, control.problem), control.widths_by_idle
    sight = idle_only(control.problem)
    return min(tables.best(sight, tables.of(widths))[1] for widths in starts)


def by_shape() -> dict[str, Table]:
    """Return an empty table for each shape."""
    return {shape: Table() for shape in SHAPES}


def add_each(tables: dict[str, Table], name: str, rows: Sequence[Gaps]) -> None:
    """Add one system's rows, each to the table of its shape."""
    for shape, row in zip(SHAPES[: len(rows)], rows, strict=True):
        tables[shape].add(f"{name}, {shape}", row)
