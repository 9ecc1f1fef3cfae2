"""Divisions of random workloads against HiGHS; whole servers against brute force."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from moldable import JobClass, Scenario, SpeedUp, Workload, reserve, reserve_whole
from naive.highs import solve_q
from naive.pairs import best_division
from naive.random_curves import SHAPES, random_speedups
from verification.verdict import Verdict


def random_classes(rng: np.random.Generator, count: int, widest: int) -> tuple[JobClass, ...]:
    """Draw classes of mixed shapes."""
    return tuple(
        JobClass(
            f"class {j}",
            arrival_rate=float(rng.uniform(0.1, 3)),
            speedup=SpeedUp(
                random_speedups(str(rng.choice(SHAPES)), int(rng.integers(1, widest + 1)), rng)
            ),
            mean_size=float(rng.uniform(0.2, 4)),
            weight=float(rng.uniform(0.1, 5)),
        )
        for j in range(count)
    )


def servers_between(classes: tuple[JobClass, ...], share: float) -> int:
    """Choose a number of servers between the least feasible one and the largest useful one."""
    ends = []
    for extreme in (np.min, np.max):
        cost = [c.offered * float(extreme(c.speedup.widths / c.speedup.speedups)) for c in classes]
        ends.append(sum(cost))
    widest = max(int(c.speedup.widths[-1]) for c in classes)
    return max(math.ceil(ends[0] + share * (ends[1] - ends[0])), widest)


def experiments() -> Iterator[Verdict]:
    """Compare both divisions with independent answers."""
    rng = np.random.default_rng(7)
    apart = violation = 0.0
    randomising = 0
    for _ in range(200):
        classes = random_classes(rng, int(rng.integers(1, 51)), 60)
        servers = servers_between(classes, float(rng.uniform(0, 1)))
        division = reserve(Scenario(Workload(classes), servers))
        apart = max(apart, abs(division.objective - solve_q(classes, servers)))
        violation = max(violation, *(c.max_violation for c in division.certificates()))
        randomising = max(randomising, len(division.randomising))
    yield Verdict("200 workloads: largest difference from HiGHS", apart, 1e-9)
    yield Verdict("200 workloads: largest KKT violation", violation, 1e-9)
    yield Verdict("200 workloads: largest number of classes with two widths", randomising, 1)
    apart = 0.0
    for _ in range(300):
        classes = random_classes(rng, int(rng.integers(1, 4)), 6)
        servers = servers_between(classes, float(rng.uniform(0, 0.6))) + 2
        curves = [
            dict(zip(c.speedup.widths.tolist(), c.speedup.speedups.tolist(), strict=True))
            for c in classes
        ]
        rates, sizes = [c.arrival_rate for c in classes], [c.mean_size for c in classes]
        best = best_division(curves, rates, sizes, [c.weight for c in classes], servers)
        if best < math.inf:
            whole = reserve_whole(Scenario(Workload(classes), servers)).objective
            apart = max(apart, abs(whole / best - 1))
    yield Verdict("300 whole-server divisions: largest difference from brute force", apart, 1e-11)
