"""What does each law of job sizes change, relative to exponential ones?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

from moldable.paper.experiment import Results
from moldable.paper.insensitivity_cells import LAWS, REFERENCE, System, key, sizes
from moldable.paper.verdict import ALLOWED, Measured

EQUAL: Final = 1e-8
"""Relative differences below this are the rounding of two exact answers."""


@final
@dataclass(frozen=True)
class Difference:
    """What a law changes, relative to exponential sizes.

    Attributes:
        system: where.
        servers: of the cluster.
        law: of sizes.
        method: "chain" or "simulate".
        value: blocking and mean execution time themselves.
        blocking: the relative change of the blocking probability.
        mean_time: the relative change of the mean execution time.
    """

    system: System
    servers: int
    law: str
    method: str
    value: tuple[Measured, Measured]
    blocking: Measured
    mean_time: Measured

    @property
    def none_seen(self) -> bool:
        """Whether chance explains the change of blocking."""
        return abs(self.blocking.value) <= ALLOWED * self.blocking.standard_error + EQUAL


def differences(results: Results, system: System) -> list[Difference]:
    """Compare every law with the exponential one."""
    return [
        _difference(results, system, servers, law)
        for servers in sizes(results.scale, system)
        for law in LAWS
    ]


def _difference(results: Results, system: System, servers: int, law: str) -> Difference:
    cell, base = (results[key(system, servers, name)] for name in (law, REFERENCE))
    blocking, mean_time = (
        _relative(Measured(*cell[metric]), Measured(*base[metric]), same=law == REFERENCE)
        for metric in ("blocking", "mean_execution_time")
    )
    value = (Measured(*cell["blocking"]), Measured(*cell["mean_execution_time"]))
    return Difference(system, servers, law, cell["method"], value, blocking, mean_time)


def _relative(ours: Measured, base: Measured, *, same: bool) -> Measured:
    """Return the relative difference; of a number with itself, its own relative error."""
    error = ours.standard_error if same else math.hypot(ours.standard_error, base.standard_error)
    return Measured((ours.value - base.value) / base.value, error / base.value)
