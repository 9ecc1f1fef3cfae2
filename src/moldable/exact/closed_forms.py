"""Closed forms of the stationary distribution.

- One width: Erlang's formula, for any sizes.
- One width that does not divide the servers, and one narrow job in the remainder: a recursion, for
  exponential sizes.
- Rigid jobs: the recursion of Kaufman (1981) and Roberts (1981), for any sizes.

All terms are positive and are computed from the largest one outwards, so nothing cancels or
overflows on clusters of any size.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from moldable.arrays import Floats
from moldable.checks import checked_int, positive
from moldable.errors import ChainError
from moldable.exact.pool import Joint, PoolLaw
from moldable.model.assumptions import ROUNDING
from moldable.model.sizes import Exponential
from moldable.system.loss_system import System

NEVER: Final = 1e-290
"""Probability that is neglected, below which doubles lose their digits."""
MOST_SLOTS: Final = 20_000_000


def erlang_b(slots: int, offered: float) -> float:
    """Return the probability that all slots are taken: Erlang's formula B.

    Args:
        slots: number of slots, at least 1.
        offered: mean number of slots that jobs would take if none were blocked.

    Examples:
        >>> round(erlang_b(10, 8.0), 6)
        0.121661
    """
    slots = checked_int(slots, "slots", ChainError, most=MOST_SLOTS)
    offered = positive(offered, "offered", ChainError)
    return float(occupied_slots(slots, offered)[-1])


def occupied_slots(slots: int, offered: float) -> Floats:
    """Return the distribution of taken slots: Poisson, truncated at the number of slots."""
    mode = min(slots, int(offered))
    up = np.cumprod(offered / np.arange(mode + 1, slots + 1))
    down = np.cumprod(np.arange(mode, 0, -1) / offered)[::-1]
    weights = np.concatenate((down, (1.0,), up))
    law: Floats = weights / weights.sum()
    return law


def closed_form(pool: System) -> PoolLaw | None:
    """Return the distribution of a pool by formula, or None where no formula is known."""
    return (_erlang(pool) or _rigid(pool) or _remainder(pool)) if pool.poisson else None


def _offered(pool: System) -> Floats:
    """Return the mean jobs of each kind if its whole class got it and none were blocked."""
    return np.asarray(pool.workload.rates[pool.kind_class] * pool.kind_scale)


def _one_kind_each(pool: System) -> bool:
    """Return whether every class has one width, granted whenever it is free."""
    if pool.kind_class.tolist() != list(range(len(pool.workload.classes))):
        return False
    for kind, rows in enumerate(pool.wishes):
        free = np.arange(rows.shape[0]) >= min(pool.kind_width[kind], rows.shape[0] - 1)
        # In rows where the width does not fit, the class is blocked, or they never occur.
        if not np.allclose(rows[free, kind], 1.0, rtol=0.0, atol=ROUNDING):
            return False
    return True


def _erlang(pool: System) -> PoolLaw | None:
    if len(pool.workload.classes) > 1 or not _one_kind_each(pool):
        return None
    slots = pool.servers // int(pool.kind_width[0])
    law = occupied_slots(slots, float(_offered(pool)[0]))
    return PoolLaw.of(
        pool,
        Joint(np.arange(slots + 1, dtype=np.int64)[None, :], law),
        states=slots + 1,
        how="Erlang's formula: one width, any sizes",
        formula=True,
    )


def _rigid(pool: System) -> PoolLaw | None:
    if not _one_kind_each(pool):
        return None
    from moldable.kernels.state_space import kaufman_roberts

    offered = _offered(pool)
    busy = kaufman_roberts(pool.servers, pool.kind_width, offered)
    room = np.cumsum(busy)[pool.servers - pool.kind_width]
    return PoolLaw(
        pool,
        busy=busy,
        mean_jobs=offered * room,
        joint=None,
        states=pool.servers + 1,
        how="the recursion of Kaufman and Roberts: rigid jobs, any sizes",
        formula=True,
    )


def _remainder(pool: System) -> PoolLaw | None:
    """Solve one width that leaves a remainder, which one narrow job fills exactly.

    The number of wide jobs alone has Erlang's distribution, as the narrow job takes none of their
    slots. The states with the narrow job follow from the balance of flows across each cut.
    """
    job_class, rows = pool.workload.classes[0], pool.wishes[0]
    wide = int(np.argmax(pool.kind_width))
    width = int(pool.kind_width[wide])
    slots, rest = divmod(pool.servers, width)
    if len(pool.workload.classes) > 1 or not isinstance(job_class.size, Exponential):
        return None
    granted = rows[min(width, rows.shape[0] - 1) :, wide]  # wherever it fits
    if not 0 < rest < rows.shape[0] or not np.allclose(granted, 1.0, rtol=0.0, atol=ROUNDING):
        return None
    filling = np.flatnonzero((pool.kind_width == rest) & (rows[rest] >= 1.0 - ROUNDING))
    if not filling.size:
        return None
    narrow, arrivals = int(filling[0]), job_class.arrival_rate
    with_narrow = _with_narrow(slots, arrivals, pool.kind_scale[[wide, narrow]])
    either = occupied_slots(slots, arrivals * float(pool.kind_scale[wide]))
    counts = np.zeros((pool.kind_width.size, 2 * slots + 2), dtype=np.int64)
    counts[wide] = np.tile(np.arange(slots + 1), 2)
    counts[narrow, slots + 1 :] = 1
    return PoolLaw.of(
        pool,
        Joint(counts, np.concatenate((np.maximum(either - with_narrow, 0.0), with_narrow))),
        states=2 * slots + 2,
        how="one width with a remainder, exponential sizes",
        formula=True,
    )


def _with_narrow(slots: int, arrivals: float, scales: Floats) -> Floats:
    """Return the probabilities of each number of wide jobs while the narrow one runs.

    Relative to the wide jobs' own distribution t, the row g satisfies
    arrivals t(x) (g(x+1) - g(x)) = (the narrow job's rate) x (the row's mass up to x).
    It is scaled by the flow into it.
    """
    wide, narrow = scales.tolist()
    law = occupied_slots(slots, arrivals * wide)
    if law[-1] < NEVER:
        return np.zeros(slots + 1)
    first = int(np.argmax(law > law.max() * 1e-280))
    mass, relative = 0.0, 1.0
    row = np.zeros(slots + 1)
    for x in range(first, slots + 1):
        row[x] = law[x] * relative
        mass += row[x]
        relative += mass / (narrow * arrivals * law[x])
        if relative > 1e200:  # noqa: PLR2004 - keep far from overflow
            row[: x + 1] *= 1e-200
            mass, relative = mass * 1e-200, relative * 1e-200
    scaled: Floats = row * (arrivals * law[-1] / (mass / narrow + arrivals * row[-1]))
    return scaled
