"""How far is the tuned price policy from the best of all policies, at the n people own?"""

from __future__ import annotations

from collections.abc import Iterator

from moldable import Scenario, SpeedUp, Workload
from verification.gap_table import (
    EXPONENTIAL,
    LOADS,
    PRICES,
    SHAPES,
    TUNED,
    Table,
    add_each,
    by_shape,
    gaps,
)
from verification.named_curves import AMDAHL, CIFAR, LINEAR, NEMO, SUBLINEAR
from verification.verdict import Verdict


def experiments() -> Iterator[Verdict]:
    """Fill the tables and judge the ones of concave curves."""
    concave, bent = Table(), by_shape()
    for servers in (30, 40, 64):
        for load in LOADS:
            name = f"sub-linear, load {load}, n = {servers}"
            concave.add(name, *gaps(*_one(SUBLINEAR, load, servers)))
        concave.add(f"linear, load 0.8, n = {servers}", *gaps(*_one(LINEAR, 0.8, servers)))
        concave.add(f"CIFAR-10, load 0.8, n = {servers}", *gaps(*_one(CIFAR, 0.8, servers)))
        concave.add(f"Amdahl 0.95, load 0.8, n = {servers}", *gaps(*_one(AMDAHL, 0.8, servers)))
        rows = gaps(*_one(NEMO, 0.8, servers), len(SHAPES))
        add_each(bent, f"NEMO, super-linear, load 0.8, n = {servers}", rows)
    yield Verdict("concave curves: median gap to the optimum", concave.median(), 2e-3)
    yield Verdict("concave curves: worst at prices from 4", concave.worst(*PRICES[1:]), 1e-2)
    yield Verdict("concave curves: worst at price 2", concave.worst(2.0), 3e-2)
    yield Verdict("NEMO, super-linear: worst", bent[TUNED].worst(*PRICES), 0.02)
    yield Verdict("NEMO, exponential: worst", bent[EXPONENTIAL].worst(*PRICES), 0.10)
    rows = gaps(*_one(SUBLINEAR, 0.8, 64), len(SHAPES))
    add_each(by_shape(), "sub-linear, load 0.8, n = 64", rows)


def _one(curve: SpeedUp, load: float, servers: int) -> tuple[Workload, int]:
    return Scenario.single(curve, load, servers).workload, servers
