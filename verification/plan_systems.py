"""Random scenarios to plan, with losses and with queues."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from moldable import JobClass, Scenario, Workload
from naive.random_curves import random_speedups

SEED = 20_261_121
SIZES = ("exponential", "lognormal:1.5", "deterministic", "weibull:0.7")


def scenarios(count: int, *, exponential: bool) -> Iterator[tuple[str, Scenario]]:
    """Yield scenarios with one to three classes on 6 to 40 servers, by a description.

    Args:
        count: number of scenarios; every other one has unlimited waiting places.
        exponential: whether all sizes are exponential.
    """
    rng = np.random.default_rng(SEED)
    for k in range(count):
        servers = int(rng.integers(6, 41))
        waiting = ("unlimited", 0)[k % 2]
        classes = int(rng.integers(1, 4))
        offered = rng.dirichlet(np.full(classes, 3.0)) * rng.uniform(0.4, 0.75) * servers
        size = "exponential" if exponential else str(rng.choice(SIZES))
        parts = []
        for j in range(classes):
            mean = float(rng.uniform(0.5, 2.0))
            curve = random_speedups("concave", int(rng.integers(2, 6)), rng)
            parts.append(JobClass(f"c{j}", float(offered[j]) / mean, curve, mean, size=size))
        scenario = Scenario(Workload(tuple(parts)), servers, waiting=waiting)
        yield f"n = {servers}, {classes} classes, {waiting} places, {size}", scenario
