"""How far is the tuned price policy from the best of all policies, at the n people own?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from moldable import JobClass, PricePolicy, SpeedUp, Workload, stationary_law
from moldable.control.judge import Knob
from moldable.control.targets import Target
from moldable.control.tradeoff import tradeoff
from moldable.control.trials import Trials
from moldable.control.tuning import TAILS, candidates
from verification.verdict import Verdict

PRICES = (2.0, 4.0, 8.0, 16.0, 32.0)
SEED = 1
SUBLINEAR = SpeedUp([1, 1.8, 2.5, 3, 3.4])
AMDAHL = SpeedUp.amdahl(0.95, 8)
LINEAR = SpeedUp.linear(5)
# CIFAR-10 on four GPUs (siasosp23/artifacts, aaf7a0de); NEMO on Skylake nodes (UoB-HPC/benchmarks,
# ee6f6d55), of which two run it 2.22 times and four 5.3 times as fast as one.
CIFAR = SpeedUp([1, 1.699, 2.345, 2.797])
NEMO = SpeedUp({1: 1.0, 2: 2.22, 4: 5.295, 8: 9.099})

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


def gaps(workload: Workload, servers: int, tails: Sequence[float] = TAILS[:1]) -> list[Gaps]:
    """Return by how much the tuned policy costs more than the optimum, price by price.

    The first list is of the exponential alone, each further one of the best of so many tails.
    """
    best = tradeoff(workload, servers, PRICES)
    trials = Trials(workload, servers, SEED, None)
    found: list[Gaps] = [[] for _ in tails]
    for control in best.controls:
        target = Target.of(None, control.price, None, trials.unit)
        least = math.inf
        for row, tail in zip(found, tails, strict=True):
            knobs, _ = candidates(trials, target, tail=tail)
            with ThreadPoolExecutor(2) as pool:
                costs = pool.map(partial(_cost, workload, servers, target), knobs)
                least = min(least, *costs)
            # The optimum is known to within its own gap, which is added.
            row.append(least / control.cost - 1.0 + control.gap)
    return found


def _cost(workload: Workload, servers: int, target: Target, knob: Knob[PricePolicy]) -> float:
    answer = stationary_law(workload, servers, knob.policy).performance()
    return target.cost(answer.blocking.value, answer.mean_execution_time.value)


def experiments() -> Iterator[Verdict]:
    """Fill the tables and judge the ones of concave curves."""
    concave, other, tailed = Table(), Table(), Table()
    for servers in (30, 40, 64):
        for load in (0.7, 0.8, 0.9):
            name = f"sub-linear, load {load}, n = {servers}"
            concave.add(name, *gaps(*_one(SUBLINEAR, load, servers)))
        concave.add(f"linear, load 0.8, n = {servers}", *gaps(*_one(LINEAR, 0.8, servers)))
        concave.add(f"CIFAR-10, load 0.8, n = {servers}", *gaps(*_one(CIFAR, 0.8, servers)))
        plain, long = gaps(*_one(NEMO, 0.8, servers), TAILS)
        other.add(f"NEMO, super-linear, load 0.8, n = {servers}", plain)
        tailed.add(f"NEMO, long tail, n = {servers}", long)
        concave.add(f"Amdahl 0.95, load 0.8, n = {servers}", *gaps(*_one(AMDAHL, 0.8, servers)))
    yield Verdict("concave curves: median gap to the optimum", concave.median(), 2e-3)
    yield Verdict("concave curves: worst at prices from 4", concave.worst(*PRICES[1:]), 1e-2)
    yield Verdict("concave curves: worst at price 2", concave.worst(2.0), 3e-2)
    yield Verdict("NEMO, super-linear: worst", other.worst(*PRICES), 0.15)
    yield Verdict("NEMO, long tail: worst", tailed.worst(*PRICES), 0.03)
    yield from _of_several()


def _of_several() -> Iterator[Verdict]:
    """Judge two and three classes, each shape by the same bounds.

    The best exponential prices of all, found by exact chains, have a median of 0.21 %: more than is
    asked of them.
    """
    exponential, tailed = Table(), Table()
    for name, workload, servers in _several():
        plain, long = gaps(workload, servers, TAILS)
        exponential.add(f"{name}, n = {servers}", plain)
        tailed.add(f"{name}, long tail, n = {servers}", long)
    for name, table in (("exponential", exponential), ("long tail", tailed)):
        yield Verdict(f"several classes, {name}: median gap", table.median(), 2e-3)
        which = f"several classes, {name}: worst"
        yield Verdict(f"{which} at prices from 4", table.worst(*PRICES[1:]), 1e-2)
        yield Verdict(f"{which} at price 2", table.worst(2.0), 3e-2)


def _one(curve: SpeedUp, load: float, servers: int) -> tuple[Workload, int]:
    return Workload.single(curve, load, servers), servers


def _several() -> Iterator[tuple[str, Workload, int]]:
    """Two and three classes with curves of different concavity, at load 0.8 in all."""
    servers = 40
    two = (
        JobClass("training", 0.4 * servers, CIFAR),
        JobClass("batch", 0.2 * servers, SpeedUp([1, 1.9, 2.7]), mean_size=2.0),
    )
    yield "two classes", Workload(two), servers
    servers = 36
    three = (
        JobClass("training", 0.3 * servers, SpeedUp([1, 1.699, 2.345])),
        JobClass("batch", 0.15 * servers, SpeedUp.linear(2), mean_size=2.0),
        JobClass("short", 0.4 * servers, SpeedUp([1, 1.6]), mean_size=0.5),
    )
    yield "three classes", Workload(three), servers
