"""How far is the tuned price policy from the best of all policies, at the n people own?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from moldable import JobClass, PricePolicy, SpeedUp, Workload, stationary_law
from moldable.chain.states import MOST_STATES
from moldable.control.judge import Judge
from moldable.control.optimal_control import OptimalControl
from moldable.control.shapes import tails_tried
from moldable.control.targets import Target
from moldable.control.tradeoff import tradeoff
from moldable.control.trials import Trials
from moldable.control.tuning import candidates
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

LOADS = (0.7, 0.8, 0.9)
SEEN_THROUGH = 0.8
"""The load at which the best tables of several classes are looked for."""
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


@dataclass(frozen=True)
class Several:
    """Several classes on one cluster."""

    name: str
    workload: Workload
    servers: int
    load: float

    def __str__(self) -> str:
        return f"{self.name}, load {self.load}, n = {self.servers}"


def gaps(workload: Workload, servers: int, shapes: int = 1) -> list[Gaps]:
    """Return by how much the tuned policy costs more than the optimum, price by price.

    A list for each of the first so many shapes: the exponential, the better of it and the long
    tail, and the best table from idle servers to widths, of whatever kind, that this leads to.
    """
    best = tradeoff(workload, servers, PRICES)
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
        for load in LOADS:
            name = f"sub-linear, load {load}, n = {servers}"
            concave.add(name, *gaps(*_one(SUBLINEAR, load, servers)))
        concave.add(f"linear, load 0.8, n = {servers}", *gaps(*_one(LINEAR, 0.8, servers)))
        concave.add(f"CIFAR-10, load 0.8, n = {servers}", *gaps(*_one(CIFAR, 0.8, servers)))
        concave.add(f"Amdahl 0.95, load 0.8, n = {servers}", *gaps(*_one(AMDAHL, 0.8, servers)))
        rows = gaps(*_one(NEMO, 0.8, servers), len(SHAPES))
        _add_each(bent, f"NEMO, super-linear, load 0.8, n = {servers}", rows)
    yield Verdict("concave curves: median gap to the optimum", concave.median(), 2e-3)
    yield Verdict("concave curves: worst at prices from 4", concave.worst(*PRICES[1:]), 1e-2)
    yield Verdict("concave curves: worst at price 2", concave.worst(2.0), 3e-2)
    yield Verdict("NEMO, super-linear: worst", bent[TUNED].worst(*PRICES), 0.02)
    yield Verdict("NEMO, exponential: worst", bent[EXPONENTIAL].worst(*PRICES), 0.10)
    rows = gaps(*_one(SUBLINEAR, 0.8, 64), len(SHAPES))
    _add_each(_by_shape(), "sub-linear, load 0.8, n = 64", rows)
    yield from _of_several()


def _of_several() -> Iterator[Verdict]:
    """Judge two and three classes, on as many servers as the programme can take.

    The tuned policy is asked for the same as on single curves, over the same loads and prices. At
    one load, which is judged alone, too, the best tables by idle servers are looked for; that takes
    long. Their own median is above what is asked there, so that prices fail it as well; how close
    they come to these tables is judged beside it (`price_sight` shows what they lack).
    """
    tables, there = _by_shape(), _by_shape()
    systems = list(_several())
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(_gaps_of, systems)
        for system, rows in zip(systems, found, strict=True):
            _add_each(tables, str(system), rows)
            if system.load == SEEN_THROUGH:
                for shape, row in zip(SHAPES, rows, strict=True):
                    there[shape].rows[str(system)] = row
    print(f"  any table, load {SEEN_THROUGH}: median {100 * there[ANY].median():.3f} %", flush=True)
    for shape in (TUNED, EXPONENTIAL):
        table, which = tables[shape], f"several classes, {shape}"
        yield Verdict(f"{which}: median gap", table.median(), 2e-3)
        yield Verdict(f"{which}: worst gap at prices from 4", table.worst(*PRICES[1:]), 1e-2)
        yield Verdict(f"{which}: worst gap at price 2", table.worst(2.0), 3e-2)
        at_one = f"{which}, load {SEEN_THROUGH}"
        yield Verdict(f"{at_one}: median gap", there[shape].median(), 2e-3)
        above = _median_above(there[shape], there[ANY])
        yield Verdict(f"{at_one}: median above the best table found", above, 5e-4)


def _median_above(table: Table, floor: Table) -> float:
    """Return the median by which the rows are above those of another table, in their order."""
    rows, floors = (np.array(list(one.rows.values())) for one in (table, floor))
    return float(np.median(rows - floors))


def _gaps_of(system: Several) -> list[Gaps]:
    shapes = len(SHAPES) if system.load == SEEN_THROUGH else 2
    return gaps(system.workload, system.servers, shapes)


def _by_shape() -> dict[str, Table]:
    return {shape: Table() for shape in SHAPES}


def _add_each(tables: dict[str, Table], name: str, rows: Sequence[Gaps]) -> None:
    for shape, row in zip(SHAPES[: len(rows)], rows, strict=True):
        tables[shape].add(f"{name}, {shape}", row)


def _one(curve: SpeedUp, load: float, servers: int) -> tuple[Workload, int]:
    return Workload.single(curve, load, servers), servers


def _several() -> Iterator[Several]:
    """Two and three classes on the most servers that the programme can take, a load each."""
    for name, build in (("two classes", two_classes), ("three classes", three_classes)):
        servers = 30
        while fits(build(servers + 1), servers + 1, MOST_STATES):
            servers += 1
        for load in LOADS:
            yield Several(name, build(servers, load), servers, load)


def two_classes(servers: int, load: float = 0.8) -> Workload:
    """Curves of different concavity, half of the load each."""
    half = 0.5 * load * servers
    training = JobClass("training", half, CIFAR)
    batch = JobClass("batch", 0.5 * half, SpeedUp([1, 1.9, 2.7]), mean_size=2.0)
    return Workload((training, batch))


def three_classes(servers: int, load: float = 0.8) -> Workload:
    """Three curves, one of them linear; they share the load as 3 to 3 to 2."""
    part = load * servers / 8.0
    training = JobClass("training", 3.0 * part, SpeedUp([1, 1.699, 2.345]))
    batch = JobClass("batch", 1.5 * part, SpeedUp.linear(2), mean_size=2.0)
    short = JobClass("short", 4.0 * part, SpeedUp([1, 1.6]), mean_size=0.5)
    return Workload((training, batch, short))
