"""The Markov chain of the numbers of running jobs, for sizes made of exponential phases.

The exact solver and the lock-step simulator read this description. A *slot* is a kind of job in a
phase.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from moldable.arrays import Floats, Ints, Whole
from moldable.system.loss_system import System


@final
@dataclass(frozen=True, eq=False)
class ChainModel:
    """The chain of one pool of servers.

    Attributes:
        rates: rate at which a job in each slot completes its phase.
        widths: servers held in each slot.
        jumps: cumulative probabilities of the next phase, slot by slot.
        phases: number of phases of a size.
        residual: probability of each phase of a running job in equilibrium, by class.
        arrival_rate: of all classes.
        total_rate: of the uniform clock.
        outcomes: probability of each outcome of an arrival by idle servers: slots, then blocked
            jobs of each class.
        servers: of the pool.
    """

    rates: Floats
    widths: Floats
    jumps: Floats
    phases: int
    residual: Floats
    arrival_rate: float
    total_rate: float
    outcomes: Floats
    servers: int

    @property
    def slot_widths(self) -> Ints:
        """The widths as integers."""
        return self.widths.astype(np.int64)

    @property
    def entries(self) -> Floats:
        """Rate of arrivals into each slot (column) by idle servers."""
        return self.outcomes[:, : self.rates.size] * self.arrival_rate

    def idle(self, counts: Whole) -> Ints:
        """Return the idle servers in states that are columns of counts."""
        return np.asarray(self.servers - self.slot_widths @ counts)

    def blocked(self, counts: Whole) -> Floats:
        """Return the probability that an arrival is blocked in states that are columns."""
        chances = self.outcomes[:, self.rates.size :].sum(axis=1)
        return np.asarray(chances[np.minimum(self.idle(counts), chances.size - 1)])


def chain_model(system: System) -> ChainModel | None:
    """Describe a shared pool as a chain; None if some sizes are not phase-type."""
    laws = [law for c in system.workload.classes if (law := c.size.phases) is not None]
    if len(laws) < len(system.workload.classes):
        return None
    phases = max(len(law.alpha) for law in laws)
    jump = np.zeros((len(laws), phases, phases))
    leave = np.ones((len(laws), phases))
    residual = np.zeros((len(laws), phases))
    for j, law in enumerate(laws):
        alpha, generator = np.array(law.alpha, dtype=float), np.array(law.T, dtype=float)
        size = alpha.size
        leave[j, :size] = -np.diag(generator)
        off = generator - np.diag(np.diag(generator))
        jump[j, :size, :size] = np.cumsum(off, axis=1) / leave[j, :size, None]
        jump[j, :size, size:] = jump[j, :size, size - 1 : size]
        share = np.linalg.solve(-generator.T, alpha)
        residual[j, :size] = share / share.sum()
    owner = system.kind_class
    rates = leave[owner] / system.kind_scale[:, None]
    widths = np.repeat(system.kind_width.astype(float), phases)
    arrival = system.workload.arrival_rate
    return ChainModel(
        rates.ravel(),
        widths,
        jump[owner].ravel(),
        phases,
        residual,
        arrival,
        arrival + system.servers * float(np.max(rates.ravel() / widths)),
        outcomes(system, system.wishes),
        system.servers,
    )


def outcomes(system: System, wishes: tuple[Floats, ...], reach: int | None = None) -> Floats:
    """Return the probability of each outcome of an arrival by idle servers.

    The columns are those of `ChainModel.outcomes`.

    Args:
        system: whose sizes have phases.
        wishes: for each class, the probability of each kind (column) by idle servers (row); the
            last row holds for all larger numbers.
        reach: number of the last row; that of the longest table by default.
    """
    classes, start = system.workload.classes, _initial_phases(system)
    reach = max(rows.shape[0] for rows in wishes) - 1 if reach is None else reach
    slots = system.kind_width.size * start.shape[1]
    found = np.zeros((reach + 1, slots + len(classes)))
    arrival_rate = system.workload.arrival_rate
    for j, job_class in enumerate(classes):
        rows = wishes[j][np.minimum(np.arange(reach + 1), wishes[j].shape[0] - 1)]
        share = job_class.arrival_rate / arrival_rate
        found[:, :slots] += share * np.kron(rows, start[j])
        blocked = np.clip(1.0 - rows.sum(axis=1), 0.0, 1.0)
        blocked[blocked < 1e-12] = 0.0  # noqa: PLR2004 - rounding, not blocking
        found[:, slots + j] = share * blocked
    normal: Floats = found / found.sum(axis=1, keepdims=True)
    return normal


def _initial_phases(system: System) -> Floats:
    """Return the probability of each first phase, by class."""
    laws = [law for c in system.workload.classes if (law := c.size.phases) is not None]
    start = np.zeros((len(laws), max(len(law.alpha) for law in laws)))
    for j, law in enumerate(laws):
        start[j, : len(law.alpha)] = law.alpha
    return start
