"""How far is the tuned price policy from the best of all policies, at the n people own?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from moldable import JobClass, PricePolicy, SpeedUp, Workload, stationary_law
from moldable.chain.states import MOST_STATES
from moldable.control.judge import Judge
from moldable.control.optimal_control import OptimalControl
from moldable.control.targets import Target
from moldable.control.tradeoff import tradeoff
from moldable.control.trials import Trials
from moldable.control.tuning import TAILS, candidates
from moldable.control.yardstick import fits
from verification.best_table import Tables, granted_widths, idle_only
from verification.verdict import Verdict

PRICES = (2.0, 4.0, 8.0, 16.0, 32.0)
SEED, PRECISION = 1, 0.01
SUBLINEAR = SpeedUp([1, 1.8, 2.5, 3, 3.4])
AMDAHL = SpeedUp.amdahl(0.95, 8)
LINEAR = SpeedUp.linear(5)
# CIFAR-10 on four GPUs (siasosp23/artifacts, aaf7a0de); NEMO on Skylake nodes (UoB-HPC/benchmarks,
# ee6f6d55), of which two run it 2.22 times and four 5.3 times as fast as one.
CIFAR = SpeedUp([1, 1.699, 2.345, 2.797])
NEMO = SpeedUp({1: 1.0, 2: 2.22, 4: 5.295, 8: 9.099})

SHAPES = ("exponential", "long tail", "any table")
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


def gaps(workload: Workload, servers: int, *, wider: bool = False) -> list[Gaps]:
    """Return by how much the tuned policy costs more than the optimum, price by price.

    If wider, two more lists follow: of the better of the exponential and the long tail, and of the
    best table from idle servers to widths, of whatever kind, that it leads to.
    """
    best = tradeoff(workload, servers, PRICES)
    trials = Trials(workload, servers, SEED, None)
    found: list[Gaps] = [[] for _ in range(3 if wider else 1)]
    for control in best.controls:
        target = Target.of(None, control.price, None, trials.unit)
        policies = _tuned(trials, target, wider=wider)
        costs = [_cost(trials, target, policy) for policy in policies]
        if wider:
            costs.append(_least_of_tables(control, policies[-1]))
        for row, cost in zip(found, costs, strict=True):
            # The optimum is known to within its own gap, which is added.
            row.append(cost / control.cost - 1.0 + control.gap)
    return found


def _tuned(trials: Trials, target: Target, *, wider: bool) -> list[PricePolicy]:
    """Choose as `tune` does, never by the exact figures that the choice is measured by."""
    judge = Judge(trials, target, PRECISION)
    tails = TAILS if wider else TAILS[:1]
    judged = [judge.settle(*candidates(trials, target, tail=tail)[0])[:2] for tail in tails]
    plain, _ = judged[0]
    long, _ = min(judged, key=lambda one: target.merit_of(one[1]))
    return [plain.policy, long.policy] if wider else [plain.policy]


def _cost(trials: Trials, target: Target, policy: PricePolicy) -> float:
    answer = stationary_law(trials.workload, trials.servers, policy).performance()
    return target.cost(answer.blocking.value, answer.mean_execution_time.value)


def _least_of_tables(control: OptimalControl, tuned: PricePolicy) -> float:
    """Begin with the tuned table, and with what the optimum does most often."""
    tables = Tables(control.problem, control.price)
    starts = granted_widths(tuned, control.problem), control.widths_by_idle
    sight = idle_only(control.problem)
    return min(tables.best(sight, tables.of(widths))[1] for widths in starts)


def experiments() -> Iterator[Verdict]:
    """Fill the tables and judge the ones of concave curves."""
    concave, bent = Table(), _by_shape()
    for servers in (30, 40, 64):
        for load in (0.7, 0.8, 0.9):
            name = f"sub-linear, load {load}, n = {servers}"
            concave.add(name, *gaps(*_one(SUBLINEAR, load, servers)))
        concave.add(f"linear, load 0.8, n = {servers}", *gaps(*_one(LINEAR, 0.8, servers)))
        concave.add(f"CIFAR-10, load 0.8, n = {servers}", *gaps(*_one(CIFAR, 0.8, servers)))
        concave.add(f"Amdahl 0.95, load 0.8, n = {servers}", *gaps(*_one(AMDAHL, 0.8, servers)))
        rows = gaps(*_one(NEMO, 0.8, servers), wider=True)
        _add_each(bent, f"NEMO, super-linear, load 0.8, n = {servers}", rows)
    yield Verdict("concave curves: median gap to the optimum", concave.median(), 2e-3)
    yield Verdict("concave curves: worst at prices from 4", concave.worst(*PRICES[1:]), 1e-2)
    yield Verdict("concave curves: worst at price 2", concave.worst(2.0), 3e-2)
    yield Verdict("NEMO, super-linear: worst", bent["exponential"].worst(*PRICES), 0.15)
    yield Verdict("NEMO, long tail: worst", bent["long tail"].worst(*PRICES), 0.03)
    rows = gaps(*_one(SUBLINEAR, 0.8, 64), wider=True)
    _add_each(_by_shape(), "sub-linear, load 0.8, n = 64", rows)
    yield from _of_several()


def _of_several() -> Iterator[Verdict]:
    """Judge two and three classes, on as many servers as the programme can take.

    The same is asked of them as of single curves, but their medians are above it; so is that of the
    best tables by idle servers found, whatever they are made from (`price_sight` shows why).
    """
    tables = _by_shape()
    names, *systems = zip(*_several(), strict=True)
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(partial(gaps, wider=True), *systems)
        for name, servers, rows in zip(names, systems[1], found, strict=True):
            _add_each(tables, f"{name}, n = {servers}", rows)
    for shape in SHAPES[:2]:
        table, which = tables[shape], f"several classes, {shape}"
        yield Verdict(f"{which}: median gap", table.median(), 2e-3)
        above = _median_above(table, tables[SHAPES[2]])
        yield Verdict(f"{which}: median above the best table found", above, 5e-4)
        yield Verdict(f"{which}: worst gap at prices from 4", table.worst(*PRICES[1:]), 1e-2)
        yield Verdict(f"{which}: worst gap at price 2", table.worst(2.0), 3e-2)
    print(f"  several classes, any table: median {100 * tables[SHAPES[2]].median():.2f} %")


def _median_above(table: Table, floor: Table) -> float:
    """Return the median by which the rows are above those of another table, in their order."""
    rows, floors = (np.array(list(one.rows.values())) for one in (table, floor))
    return float(np.median(rows - floors))


def _by_shape() -> dict[str, Table]:
    return {shape: Table() for shape in SHAPES}


def _add_each(tables: dict[str, Table], name: str, rows: Sequence[Gaps]) -> None:
    for (shape, table), row in zip(tables.items(), rows, strict=True):
        table.add(f"{name}, {shape}", row)


def _one(curve: SpeedUp, load: float, servers: int) -> tuple[Workload, int]:
    return Workload.single(curve, load, servers), servers


def _several() -> Iterator[tuple[str, Workload, int]]:
    """Two and three classes on the most servers that the programme can take."""
    for name, build in (("two classes", two_classes), ("three classes", three_classes)):
        servers = 30
        while fits(build(servers + 1), servers + 1, MOST_STATES):
            servers += 1
        yield name, build(servers), servers


def two_classes(servers: int) -> Workload:
    """Curves of different concavity, load 0.8 in all."""
    training = JobClass("training", 0.4 * servers, CIFAR)
    batch = JobClass("batch", 0.2 * servers, SpeedUp([1, 1.9, 2.7]), mean_size=2.0)
    return Workload((training, batch))


def three_classes(servers: int) -> Workload:
    """Three curves, one of them linear, load 0.8 in all."""
    training = JobClass("training", 0.3 * servers, SpeedUp([1, 1.699, 2.345]))
    batch = JobClass("batch", 0.15 * servers, SpeedUp.linear(2), mean_size=2.0)
    short = JobClass("short", 0.4 * servers, SpeedUp([1, 1.6]), mean_size=0.5)
    return Workload((training, batch, short))
