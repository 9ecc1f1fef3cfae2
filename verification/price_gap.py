"""How far is the tuned price policy from the best of all policies, at the n people own?"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from moldable import JobClass, SpeedUp, Workload, stationary_law
from moldable.control.targets import Target
from moldable.control.tradeoff import tradeoff
from moldable.control.trials import Trials
from moldable.control.tuning import candidates
from verification.verdict import Verdict

PRICES = (2.0, 4.0, 8.0, 16.0, 32.0)
SEED = 1
JUDGED, MANY_STATES = 2, 500_000
"""Of the tables that the tuning would judge, if their chains have no more states than this; of
larger ones a single table is judged, for each takes minutes."""
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

    def add(self, name: str, workload: Workload, servers: int) -> None:
        """Measure one system and print its row."""
        begun = time.perf_counter()
        self.rows[name] = gaps(workload, servers)
        cells = " / ".join(f"{100 * gap:.2f}" for gap in self.rows[name])
        print(f"  | {name} | {cells} |  {time.perf_counter() - begun:.0f} s", flush=True)

    def worst(self, *prices: float) -> float:
        """Return the largest gap at these prices."""
        places = [PRICES.index(price) for price in prices]
        return max(row[place] for row in self.rows.values() for place in places)

    def median(self) -> float:
        """Return the median over systems and prices."""
        return float(np.median(list(self.rows.values())))


def gaps(workload: Workload, servers: int) -> Gaps:
    """Return by how much the tuned policy costs more than the optimum, price by price."""
    best = tradeoff(workload, servers, PRICES)
    trials = Trials(workload, servers, SEED, None)
    found = []
    for control in best.controls:
        target = Target.of(None, control.price, None, trials.unit)
        knobs, _ = candidates(trials, target)
        costs = []
        for knob in knobs[: JUDGED if control.states <= MANY_STATES else 1]:
            answer = stationary_law(workload, servers, knob.policy).performance()
            costs.append(target.cost(answer.blocking.value, answer.mean_execution_time.value))
        # The optimum is known to within its own gap, which is added.
        found.append(min(costs) / control.cost - 1.0 + control.gap)
    return found


def experiments() -> Iterator[Verdict]:
    """Fill the tables and judge the one of concave curves."""
    concave, other, classes = Table(), Table(), Table()
    for servers in (30, 40, 64):
        for load in (0.7, 0.8, 0.9):
            concave.add(f"sub-linear, load {load}, n = {servers}", *_one(SUBLINEAR, load, servers))
        concave.add(f"linear, load 0.8, n = {servers}", *_one(LINEAR, 0.8, servers))
        concave.add(f"CIFAR-10, load 0.8, n = {servers}", *_one(CIFAR, 0.8, servers))
        other.add(f"NEMO, super-linear, load 0.8, n = {servers}", *_one(NEMO, 0.8, servers))
        concave.add(f"Amdahl 0.95, load 0.8, n = {servers}", *_one(AMDAHL, 0.8, servers))
    yield Verdict("concave curves: median gap to the optimum", concave.median(), 2e-3)
    yield Verdict("concave curves: worst at prices from 4", concave.worst(*PRICES[1:]), 1e-2)
    yield Verdict("concave curves: worst at price 2", concave.worst(2.0), 3e-2)
    for name, workload, servers in _several():
        classes.add(f"{name}, n = {servers}", workload, servers)
    yield Verdict("several classes: median gap to the optimum", classes.median(), 2e-3)
    yield Verdict("several classes: worst at prices from 4", classes.worst(*PRICES[1:]), 1e-2)
    yield Verdict("several classes: worst at price 2", classes.worst(2.0), 3e-2)
    yield Verdict("NEMO, super-linear: worst", other.worst(*PRICES), 0.15)


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
