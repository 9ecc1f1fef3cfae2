"""The systems on which tuned policies are compared with the optimum over all policies."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from moldable import Greedy, JobClass, Scenario, SpeedUp, Workload, evaluate
from moldable.exact.states import count_states
from moldable.optimal import OptimalControl, optimal_control
from naive.random_curves import random_speedups
from verification.named_curves import AMDAHL, CIFAR, LINEAR, NEMO, SUBLINEAR

COSTS = (2.0, 4.0, 8.0, 16.0, 32.0)
LOADS = (0.7, 0.8, 0.9)
SEED, SMALL_SEED, ODD_SEED = 20_261_118, 20_261_119, 20_261_120
MOST_STATES = 20_000
MOST_WIDTHS = 320
"""Servers x widths above which the optimum takes minutes."""
RAREST = 1e-6
"""Blocking below which the bounds of the dynamic program are no longer sharp."""
TOLERANCE = 1e-6


@dataclass(frozen=True)
class System:
    """A scenario and a blocking cost, in mean sizes."""

    name: str
    scenario: Scenario
    cost: float

    @cached_property
    def optimum(self) -> OptimalControl:
        """The optimum over all policies at this cost."""
        return optimal_control(self.scenario, self.cost, tolerance=TOLERANCE)

    @property
    def least_time(self) -> float:
        """Lower bound on the mean execution time of policies with the blocking of the optimum."""
        best = self.optimum
        charged = self.cost * best.problem.mean_size * best.blocking
        return (best.lower_bound - charged) / (1.0 - best.blocking)


def named(costs: tuple[float, ...] = COSTS) -> Iterator[System]:
    """Yield published and textbook curves with one class, and two classes."""
    for servers in (30, 40, 64):
        for load in LOADS:
            yield from _at_costs("sub-linear", Scenario.single(SUBLINEAR, load, servers), costs)
        for name, curve in (("linear", LINEAR), ("CIFAR-10", CIFAR), ("Amdahl 0.95", AMDAHL)):
            if servers * len(curve) <= MOST_WIDTHS:
                yield from _at_costs(name, Scenario.single(curve, 0.8, servers), costs)
    for load in LOADS:
        yield from _at_costs("two classes", two_classes(36, load), costs)


def not_concave(costs: tuple[float, ...] = COSTS) -> Iterator[System]:
    """Yield a super-linear curve, three classes whose sizes differ, and random odd curves."""
    for servers in (30, 40, 64):
        yield from _at_costs("NEMO, super-linear", Scenario.single(NEMO, 0.8, servers), costs)
    for load in LOADS:
        yield from _at_costs("three classes", three_classes(20, load), costs)
    rng = np.random.default_rng(ODD_SEED)
    for k in range(12):
        shape = ("super-linear", "dipping", "anything")[k % 3]
        yield _random(rng, f"{shape} {k}", classes=1, shapes=(shape,))


def random_systems(count: int = 60) -> Iterator[System]:
    """Yield equally many systems with one, two and three classes, n from 9 to 71."""
    rng = np.random.default_rng(SEED)
    for k in range(count):
        classes = 1 + k % 3
        yield _random(rng, f"random {k}", classes=classes, shapes=("concave", "concave", "noisy"))


def few_servers(count: int = 40) -> Iterator[tuple[Scenario, float]]:
    """Yield one class on 10 to 30 servers, and a limit just below greedy's blocking."""
    rng = np.random.default_rng(SMALL_SEED)
    for _ in range(count):
        servers, d = int(rng.integers(10, 31)), int(rng.integers(2, 6))
        curve = SpeedUp(random_speedups("concave", d, rng).tolist())
        scenario = Scenario.single(curve, float(rng.uniform(0.5, 0.95)), servers)
        share = float(rng.uniform(0.7, 0.98))
        yield scenario, share * evaluate(scenario, Greedy()).blocking.value


def two_classes(servers: int, load: float) -> Scenario:
    """Return two classes: CIFAR-10, and jobs that are twice as large."""
    part = load * servers / 2
    other = SpeedUp([1, 1.9, 2.7])
    classes = (JobClass("a", part, CIFAR), JobClass("b", part / 2, other, mean_size=2.0))
    return Scenario(Workload(classes), servers)


def three_classes(servers: int, load: float) -> Scenario:
    """Return three classes with mean sizes 1, 2 and 1/2, each with a third of the load."""
    part = load * servers / 3
    return Scenario(
        Workload(
            (
                JobClass("sub-linear", part, SUBLINEAR),
                JobClass("Amdahl", part / 2, AMDAHL, mean_size=2.0),
                JobClass("linear", 2 * part, LINEAR, mean_size=0.5),
            )
        ),
        servers,
    )


def _at_costs(name: str, scenario: Scenario, costs: tuple[float, ...]) -> Iterator[System]:
    load = math.fsum(c.offered for c in scenario.workload.classes) / scenario.servers
    for cost in costs:
        what = f"{name}, n = {scenario.servers}, load {load:.2g}, cost {cost:g}"
        yield System(what, scenario, cost)


def _random(
    rng: np.random.Generator, name: str, *, classes: int, shapes: tuple[str, ...]
) -> System:
    """Draw a system that the dynamic program solves in seconds and that blocks some jobs."""
    while True:
        servers, load = int(rng.integers(9, 72)), float(rng.uniform(0.5, 0.95))
        cost = float(np.exp(rng.uniform(math.log(2.0), math.log(32.0))))
        curves = [_curve(rng, str(rng.choice(shapes)), classes) for _ in range(classes)]
        shares, sizes = rng.dirichlet(np.full(classes, 3.0)), rng.uniform(0.4, 2.5, classes)
        parts = tuple(
            JobClass(f"class {j}", float(shares[j] * load * servers / sizes[j]), curve, sizes[j])
            for j, curve in enumerate(curves)
        )
        widths = np.concatenate([c.up_to(servers).widths for c in curves])
        if widths.max() > servers / 2 or count_states(widths, servers) > MOST_STATES:
            continue
        what = f"{name}, {classes} classes, n = {servers}, load {load:.2f}, cost {cost:.1f}"
        system = System(what, Scenario(Workload(parts), servers), cost)
        if system.optimum.blocking > RAREST:
            return system


def _curve(rng: np.random.Generator, shape: str, classes: int) -> SpeedUp:
    """Draw a curve of up to six widths, fewer with more classes, some with gaps."""
    d = int(rng.integers(2, 8 - classes))
    speedups = random_speedups(shape, d, rng)
    kept = rng.random(d) < (0.7 if rng.random() < 0.3 else 1.0)
    kept[0] = True
    return SpeedUp(
        dict(zip((np.flatnonzero(kept) + 1).tolist(), speedups[kept].tolist(), strict=True))
    )
