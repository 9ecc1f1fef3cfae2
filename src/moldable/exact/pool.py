"""Which exact method fits a pool of servers?"""

from __future__ import annotations

import dataclasses
from typing import Final

import numpy as np

from moldable.arrays import Floats, Ints, Whole
from moldable.errors import ChainError
from moldable.exact.closed_forms import closed_form
from moldable.exact.law import Joint, PoolLaw
from moldable.exact.states import MOST_STATES, count_states, refuse_too_many, whole_chain
from moldable.exact.stationary import stationary
from moldable.exact.window import first_states, product_form, solve_window
from moldable.system.count_model import ChainModel, chain_model
from moldable.system.loss_system import System

WINDOW_FROM: Final = 20_000
"""States of two slots from which a window is worth its bookkeeping."""
TWO: Final = 2


def formula(pool: System) -> PoolLaw:
    """Return the law of a pool by formula, or refuse."""
    law = closed_form(pool)
    if law is None:
        raise ChainError(
            f"no closed form is known for {pool.policy_name} on {pool.servers} servers with these "
            f"sizes and arrivals; use the method 'chain' or 'simulate'"
        )
    return law.checked()


def solved(pool: System, most: int = MOST_STATES) -> PoolLaw:
    """Return the law of a pool from its chain, or refuse with the number of states.

    A window may grow to `most` states.
    """
    model = _model(pool)
    if _two_kinds(model) and count_states(_widths(model), pool.servers) > WINDOW_FROM:
        return _windowed(pool, model, most).checked()
    chain = whole_chain(model, pool.servers)
    guess = product_form(chain.counts, _with_room(pool, model))
    law, error = stationary(chain, guess, model.blocked(chain.counts, pool.servers))
    by_kind = chain.counts.reshape(-1, model.phases, chain.states).sum(axis=1)
    return PoolLaw.of(
        pool,
        Joint(by_kind, law),
        states=chain.states,
        error_bound=error,
        how=f"the whole chain of {chain.states:,} states",
    ).checked()


def predicted_states(pool: System) -> int | None:
    """Return how many states the chain would have; None if the system has no chain."""
    try:
        model = _model(pool)
    except ChainError:
        return None
    return _predicted(pool, model)


def refuse_large(pool: System) -> None:
    """Refuse a chain that would be too large, with the number of its states."""
    try:
        model = _model(pool)
    except ChainError:
        return  # solving it will say why there is none
    refuse_too_many(_predicted(pool, model), pool.servers, model.rates.size)


def _predicted(pool: System, model: ChainModel) -> int:
    states = count_states(_widths(model), pool.servers)
    if _two_kinds(model) and states > WINDOW_FROM:
        return min(states, first_states(_narrow_first(model)[0], pool.servers))
    return states


def _with_room(pool: System, model: ChainModel) -> Floats:
    """Return the jobs in each slot if there were always room: a first guess."""
    entering = model.arrival_rate * model.outcomes[-1, : model.rates.size]
    by_kind = entering.reshape(-1, model.phases).sum(axis=1) * pool.kind_scale
    return np.asarray((by_kind[:, None] * model.residual[pool.kind_class]).ravel())


def _windowed(pool: System, model: ChainModel, most: int) -> PoolLaw:
    ordered, order = _narrow_first(model)
    window = solve_window(ordered, pool.servers, most)
    return PoolLaw.of(
        pool,
        Joint(window.chain.counts[order], window.law),
        states=window.chain.states,
        error_bound=window.error_bound,
        neglected_mass=window.neglected_mass,
        how=f"a window of {window.chain.states:,} states",
    )


def _narrow_first(model: ChainModel) -> tuple[ChainModel, Whole]:
    """Return the two slots with the narrower first, and the order that undoes it."""
    order = np.argsort(model.widths, kind="stable")
    outcomes = model.outcomes.copy()
    outcomes[:, :TWO] = model.outcomes[:, order]
    return (
        dataclasses.replace(
            model, rates=model.rates[order], widths=model.widths[order], outcomes=outcomes
        ),
        np.argsort(order),
    )


def _two_kinds(model: ChainModel) -> bool:
    """Are the slots two kinds, not two phases of one, between which jobs move?"""
    return model.rates.size == TWO and model.phases == 1


def _widths(model: ChainModel) -> Ints:
    return model.widths.astype(np.int64)


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
