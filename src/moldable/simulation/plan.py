"""What exactly is to be run, and what comes back?

A plan is a picklable value: any worker on any machine that gets the plan and a list of replications
returns the same tallies.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from moldable.arrays import Floats
from moldable.simulation.start import Start
from moldable.system.loss_system import System

MAIN, PILOT, TRIAL, DESCENT, JUDGED = range(5)
"""First part of the spawn key of random numbers that must never be shared."""

Report = Callable[[float], None]
"""Hears which share of a chunk is done; may raise to stop it."""


def child_seed(seed: int, *key: int) -> int:
    """Return the seed of one part of a run, which shares no random numbers with any other part.

    Sums such as ``seed + 1`` would: part 1 of seed 1 and part 0 of seed 2 would be the same.
    """
    return int(np.random.SeedSequence(seed, spawn_key=key).generate_state(1, np.uint64)[0])


@final
@dataclass(frozen=True, eq=False)
class Plan:
    """One kind of replication.

    Attributes:
        system: what is simulated.
        start: how it begins.
        warmup: time that is not counted, in units of time.
        jobs: arrivals to count in each batch.
        batches: how many batches are tallied one by one.
        finished: whether jobs that began and ended in the window are told apart.
        seed: of the whole run.
        stream: MAIN or PILOT, which never share random numbers.
        common: whether every policy meets the same arrivals, sizes and draws.
    """

    system: System
    start: Start
    warmup: float
    jobs: int
    batches: int
    finished: bool
    seed: int
    stream: int
    common: bool = False

    def seeds(self, replication: int, part: int) -> np.random.SeedSequence:
        """Return the seed sequence of one part of one replication, whoever asks for it."""
        return np.random.SeedSequence(self.seed, spawn_key=(self.stream, replication, part))


@final
@dataclass(frozen=True, eq=False)
class Tallies:
    """What was counted: batches x replications x (classes or kinds).

    Attributes:
        replications: which replications these are.
        arrived: jobs of each class.
        blocked: jobs of each class that were blocked.
        granted: jobs of each kind.
        mean_jobs: jobs of each kind in the system, averaged over time.
        booked: run time of the jobs of each kind, booked at arrival; NaN where sizes have no part.
        finished_jobs: jobs of each class that arrived and completed in the window.
        finished_time: their run time.
        time: how long each window lasted.
        seconds: processor time spent inside kernels.
    """

    replications: tuple[int, ...]
    arrived: Floats
    blocked: Floats
    granted: Floats
    mean_jobs: Floats
    booked: Floats
    finished_jobs: Floats
    finished_time: Floats
    time: Floats
    seconds: float

    @classmethod
    def empty(cls, plan: Plan, replications: tuple[int, ...]) -> Tallies:
        """Return tallies of the right shape, all zero."""
        shape = (plan.batches, len(replications))
        classes = (*shape, len(plan.system.workload.classes))
        kinds = (*shape, plan.system.kind_width.size)
        by_class = ("arrived", "blocked", "finished_jobs", "finished_time")
        counted = {name: np.zeros(classes) for name in by_class}
        counted |= {name: np.zeros(kinds) for name in ("granted", "mean_jobs", "booked")}
        return cls(replications, **counted, time=np.zeros(shape), seconds=0.0)


def joined(parts: list[Tallies]) -> Tallies:
    """Put the tallies of several chunks together, in the order of their replications."""
    replications = tuple(r for part in parts for r in part.replications)
    order = np.argsort(replications)
    counted = {
        field.name: np.concatenate([getattr(part, field.name) for part in parts], axis=1)[:, order]
        for field in dataclasses.fields(Tallies)[1:-1]
    }
    seconds = sum(part.seconds for part in parts)
    return Tallies(tuple(sorted(replications)), **counted, seconds=seconds)
