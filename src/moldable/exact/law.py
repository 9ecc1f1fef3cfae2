"""What does a stationary law say about jobs? Arrivals see it as it is, because they are Poisson."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final, Self, final

import numpy as np

from moldable.arrays import Floats, Whole
from moldable.errors import ChainError
from moldable.model.assumptions import ROUNDING
from moldable.system.loss_system import System

AGREEMENT: Final = 1e-8
"""How far the two self-checks may be off, relative to the flow of jobs."""


@final
@dataclass(frozen=True, eq=False)
class Joint:
    """Probabilities of states.

    Attributes:
        counts: jobs of each kind, a column for each state.
        weights: the probability of each state.
    """

    counts: Whole
    weights: Floats


@final
@dataclass(frozen=True, eq=False)
class PoolLaw:
    """The stationary law of classes that share servers.

    Attributes:
        pool: the system.
        busy: probabilities of 0, 1, ... busy servers.
        mean_jobs: jobs of each kind.
        joint: the law of the counts of all kinds; None where only the busy servers are known.
        states: how many were solved for.
        error_bound: on the probabilities and, relatively, on the blocking.
        neglected_mass: bound on the probability of states that were left out.
        how: the method, in words.
        formula: whether that is a closed form.
    """

    pool: System
    busy: Floats
    mean_jobs: Floats
    joint: Joint | None
    states: int
    error_bound: float
    neglected_mass: float
    how: str
    formula: bool

    @classmethod
    def of(
        cls,
        pool: System,
        joint: Joint,
        *,
        states: int,
        how: str,
        error_bound: float = 0.0,
        neglected_mass: float = 0.0,
        formula: bool = False,
    ) -> Self:
        """Take means and busy servers from the law of the counts."""
        held = pool.kind_width @ joint.counts
        busy: Floats = np.bincount(held, joint.weights, pool.servers + 1).astype(np.float64)
        mean_jobs = joint.counts @ joint.weights
        return cls(pool, busy, mean_jobs, joint, states, error_bound, neglected_mass, how, formula)

    @cached_property
    def granted(self) -> Floats:
        """Jobs of each kind granted per unit of time."""
        rates = np.zeros(self.pool.kind_width.size)
        for j, job_class in enumerate(self.pool.workload.classes):
            rates += job_class.arrival_rate * (self._seen(j) @ self.pool.wishes[j])
        return rates

    @cached_property
    def blocking(self) -> Floats:
        """Probability that a job of each class is blocked."""
        return np.array(
            [
                self._seen(j) @ _missing(self.pool.wishes[j])
                for j in range(len(self.pool.workload.classes))
            ]
        )

    def counts_known(self) -> Joint:
        """Return the law of the counts, or say how to get it."""
        if self.joint is None:
            raise ChainError(
                f"{self.how} gives busy servers and means only; use the method 'chain' for the law "
                f"of the counts"
            )
        return self.joint

    def _seen(self, j: int) -> Floats:
        """Return how often an arrival reads each row of its class's table."""
        idle = self.busy[::-1]
        last = self.pool.wishes[j].shape[0] - 1
        return np.asarray(np.append(idle[:last], idle[last:].sum()))

    def checked(self) -> PoolLaw:
        """Return the law if it obeys rate conservation and Little's law; it is no answer else."""
        flow = self.pool.workload.arrival_rate
        leaving = float((self.mean_jobs / self.pool.kind_scale).sum())
        rates = np.array([c.arrival_rate for c in self.pool.workload.classes])
        accepted = flow - float(rates @ self.blocking)
        gaps = {
            "rate conservation": abs(leaving - accepted) / flow,
            "Little's law": float(
                np.abs(self.mean_jobs / self.pool.kind_scale - self.granted).max()
            )
            / flow,
        }
        for name, gap in gaps.items():
            if not gap <= AGREEMENT:
                raise ChainError(
                    f"the exact answer fails {name} by {gap:.2g} of the flow of jobs, more than "
                    f"{AGREEMENT:g}: the equations were not solved; simulate instead"
                )
        return self


def _missing(rows: Floats) -> Floats:
    # Below that it is the shares' rounding, not blocking.
    missing = 1.0 - rows.sum(axis=1)
    return np.where(missing > ROUNDING, missing, 0.0)
