"""Which chain do the counts of running jobs form, when sizes are made of exponential phases?

Both the exact solver and the lock-step simulator read this description. A *slot* is a kind of job
in a phase; without phases, a kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from moldable.arrays import Floats, Whole
from moldable.system.loss_system import System


@final
@dataclass(frozen=True, eq=False)
class ChainModel:
    """The chain of one pool of servers.

    Attributes:
        rates: rate at which a job in each slot completes its phase; a slot is a kind and a phase.
        widths: servers held in each slot.
        jumps: cumulative probabilities of the next phase, slot by slot.
        phases: how many phases a size has.
        residual: phase of a running job in equilibrium, by class.
        arrival_rate: of all classes.
        total_rate: of the uniform clock.
        outcomes: probability of each outcome of an arrival by idle servers: slots, then blocked
            jobs of each class.
    """

    rates: Floats
    widths: Floats
    jumps: Floats
    phases: int
    residual: Floats
    arrival_rate: float
    total_rate: float
    outcomes: Floats

    def blocked(self, counts: Whole, servers: int) -> Floats:
        """Return the probability that an arrival is blocked, for states as columns of counts."""
        idle = servers - self.widths.astype(np.int64) @ counts
        chances = self.outcomes[:, self.rates.size :].sum(axis=1)
        return np.asarray(chances[np.minimum(idle, chances.size - 1)])


def chain_model(system: System) -> ChainModel | None:
    """Describe a shared pool as a chain, or None if some size law has no phases."""
    laws = [job_class.size.phases for job_class in system.workload.classes]
    if any(law is None for law in laws):
        return None
    present = [law for law in laws if law is not None]
    phases = max(len(law.alpha) for law in present)
    start = np.zeros((len(present), phases))
    jump = np.zeros((len(present), phases, phases))
    leave = np.ones((len(present), phases))
    residual = np.zeros((len(present), phases))
    for j, law in enumerate(present):
        alpha, generator = np.array(law.alpha, dtype=float), np.array(law.T, dtype=float)
        size = alpha.size
        start[j, :size], leave[j, :size] = alpha, -np.diag(generator)
        off = generator - np.diag(np.diag(generator))
        jump[j, :size, :size] = np.cumsum(off, axis=1) / leave[j, :size, None]
        jump[j, :size, size:] = jump[j, :size, size - 1 : size]
        share = np.linalg.solve(-generator.T, alpha)
        residual[j, :size] = share / share.sum()
    owner = system.kind_class
    rates = leave[owner] / system.kind_scale[:, None]
    widths = np.repeat(system.kind_width.astype(float), phases)
    arrival = sum(job_class.arrival_rate for job_class in system.workload.classes)
    fastest = float(np.max(rates.ravel() / widths))
    return ChainModel(
        rates.ravel(),
        widths,
        jump[owner].ravel(),
        phases,
        residual,
        arrival,
        arrival + system.servers * fastest,
        _outcomes(system, start),
    )


def _outcomes(system: System, start: Floats) -> Floats:
    classes = system.workload.classes
    total = sum(job_class.arrival_rate for job_class in classes)
    reach = max(rows.shape[0] for rows in system.wishes) - 1
    kinds, phases = system.kind_width.size, start.shape[1]
    outcomes = np.zeros((reach + 1, kinds * phases + len(classes)))
    for j, job_class in enumerate(classes):
        rows = system.wishes[j][np.minimum(np.arange(reach + 1), system.wishes[j].shape[0] - 1)]
        share = job_class.arrival_rate / total
        outcomes[:, : kinds * phases] += share * np.kron(rows, start[j])
        blocked = np.clip(1.0 - rows.sum(axis=1), 0.0, 1.0)
        blocked[blocked < 1e-12] = 0.0  # noqa: PLR2004 - rounding, not blocking
        outcomes[:, kinds * phases + j] = share * blocked
    normal: Floats = outcomes / outcomes.sum(axis=1, keepdims=True)
    return normal
