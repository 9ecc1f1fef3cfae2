"""The stationary distribution of classes that share servers, from their chain of job counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple, Self, final

import numpy as np

from moldable.arrays import Floats, Whole
from moldable.errors import ChainError
from moldable.exact.states import (
    MOST_STATES,
    count_states,
    product_form,
    refuse_too_many,
    whole_chain,
)
from moldable.exact.stationary import stationary
from moldable.exact.window import first_states, solve_window
from moldable.model.assumptions import ROUNDING
from moldable.system.count_model import ChainModel, chain_model
from moldable.system.loss_system import System

AGREEMENT: Final = 1e-8
"""Largest error of the two self-checks, relative to the flow of jobs."""
WINDOW_FROM: Final = 20_000
"""States of two slots above which a window is used."""


class Joint(NamedTuple):
    """Jobs of each kind, a column for each state, and the probability of each state."""

    counts: Whole
    weights: Floats


@final
@dataclass(frozen=True, eq=False)
class PoolLaw:
    """The stationary distribution of classes that share servers.

    Arrivals are Poisson, so they find the system in this distribution.

    Attributes:
        pool: the system.
        busy: probabilities of 0, 1, ... busy servers.
        mean_jobs: jobs of each kind.
        joint: distribution of the counts of all kinds; None where only the busy servers are known.
        states: number of states solved for.
        how: the method, in words.
        error_bound: on the probabilities and, relatively, on the blocking.
        neglected_mass: bound on the probability of states that were left out.
        formula: whether the method is a closed form.
    """

    pool: System
    busy: Floats
    mean_jobs: Floats
    joint: Joint | None
    states: int
    how: str
    error_bound: float = 0.0
    neglected_mass: float = 0.0
    formula: bool = False

    @classmethod
    def of(cls, pool: System, joint: Joint, **details: Any) -> Self:
        """Compute means and busy servers from the distribution of the counts."""
        counts, weights = joint
        held = pool.kind_width @ counts
        busy = np.bincount(held, weights, pool.servers + 1).astype(np.float64)
        return cls(pool, busy, counts @ weights, joint, **details)

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
        found = []
        for j, rows in enumerate(self.pool.wishes):
            missing = 1.0 - rows.sum(axis=1)
            # Smaller values are rounding errors of the shares.
            found.append(self._seen(j) @ np.where(missing > ROUNDING, missing, 0.0))
        return np.array(found)

    def counts_known(self) -> Joint:
        """Return the distribution of the counts, or raise an error that names the method for it."""
        if self.joint is None:
            raise ChainError(
                f"{self.how} gives busy servers and means only; use the method 'chain' for the "
                f"distribution of the counts"
            )
        return self.joint

    def _seen(self, j: int) -> Floats:
        """Return how often an arrival reads each row of its class's table."""
        idle = self.busy[::-1]
        last = self.pool.wishes[j].shape[0] - 1
        return np.asarray(np.append(idle[:last], idle[last:].sum()))

    def checked(self) -> PoolLaw:
        """Return the distribution, or raise an error if it violates flow balance."""
        flow = self.pool.workload.arrival_rate
        leaving = self.mean_jobs / self.pool.kind_scale
        accepted = flow - float(self.pool.workload.rates @ self.blocking)
        gaps = {
            "rate conservation": abs(float(leaving.sum()) - accepted) / flow,
            "Little's law": float(np.abs(leaving - self.granted).max()) / flow,
        }
        refuse_imbalance(gaps)
        return self


def refuse_imbalance(gaps: Mapping[str, float]) -> None:
    """Refuse an answer that violates one of these identities, given by how much of the flow."""
    for name, gap in gaps.items():
        if not gap <= AGREEMENT:
            raise ChainError(
                f"the exact answer fails {name} by {gap:.2g} of the flow of jobs, more than "
                f"{AGREEMENT:g}: the equations were not solved; simulate instead"
            )


def solve_pool(pool: System, most: int = MOST_STATES) -> PoolLaw:
    """Solve the chain of a pool; a window may grow to `most` states."""
    model = _model(pool)
    if _windowed(model):
        counts, law, error, neglected = solve_window(model, most)
        how = f"a window of {law.size:,} states"
    else:
        chain, neglected = whole_chain(model), 0.0
        guess = product_form(chain.counts, _with_room(pool, model))
        law, error = stationary(chain, guess, model.blocked(chain.counts))
        counts = chain.counts.reshape(-1, model.phases, chain.states).sum(axis=1)
        how = f"the whole chain of {law.size:,} states"
    details = {"states": law.size, "how": how, "error_bound": error, "neglected_mass": neglected}
    return PoolLaw.of(pool, Joint(counts, law), **details).checked()


def predicted_states(pool: System, *, refuse: bool = False) -> int | None:
    """Return the number of states of the chain; None if the system has no chain.

    Args:
        pool: the system.
        refuse: raise an error if there are too many to solve.
    """
    try:
        model = _model(pool)
    except ChainError:
        return None
    states = count_states(model.slot_widths, model.servers)
    if _windowed(model):
        states = min(states, first_states(model))
    if refuse:
        refuse_too_many(states, model)
    return states


def _windowed(model: ChainModel) -> bool:
    """Return whether the slots are two kinds, not two phases of one, with many states."""
    two_kinds = model.rates.size == 2 and model.phases == 1  # noqa: PLR2004 - two
    return two_kinds and count_states(model.slot_widths, model.servers) > WINDOW_FROM


def _with_room(pool: System, model: ChainModel) -> Floats:
    """Return the mean jobs in each slot if there were always room: a first guess."""
    entering = model.arrival_rate * model.outcomes[-1, : model.rates.size]
    by_kind = entering.reshape(-1, model.phases).sum(axis=1) * pool.kind_scale
    return np.asarray((by_kind[:, None] * model.residual[pool.kind_class]).ravel())


def _model(pool: System) -> ChainModel:
    if not pool.poisson:
        raise ChainError("exact answers need Poisson arrivals; use the method 'simulate'")
    model = chain_model(pool)
    if model is None:
        names = ", ".join(sorted({str(c.size) for c in pool.workload.classes if not c.size.phases}))
        raise ChainError(
            f"sizes that are {names} have no phases, so their chain has no states to list; "
            f"use the method 'simulate', or exponential or phase-type sizes"
        )
    return model
