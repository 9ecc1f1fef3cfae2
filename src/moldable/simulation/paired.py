"""Simulate several policies with common random numbers.

All policies use the same arrivals, sizes and uniform numbers, so common variation cancels in their
differences. Only the initial state is drawn for each policy, from its own equilibrium.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self, final

import numpy as np

from moldable.arrays import Floats
from moldable.simulation import estimates
from moldable.simulation.queue_estimates import waiting_tallies
from moldable.simulation.replications import Progress
from moldable.simulation.run import STEP, Run, keep_shared, run_until_precise
from moldable.simulation.simulate import MOST_JOBS, RunOptions, fresh_seed, prepare_run
from moldable.system.estimate import Estimate
from moldable.system.loss_system import System
from moldable.system.performance import Performance

KERNELS: Final = {True: "queue-ring", False: "bucket-ring"}
"""With and without waiting places. In these kernels a job has the same size whatever its width."""


@final
@dataclass(frozen=True, eq=False)
class Sample:
    """A figure and the error of each replication.

    Attributes:
        estimate: the figure with its interval.
        errors: what each replication adds to its error; None if it is exact.
    """

    estimate: Estimate
    errors: Floats | None

    @property
    def value(self) -> float:
        """The figure."""
        return self.estimate.value


@final
@dataclass(frozen=True, eq=False)
class Paired:
    """A policy's performance, and its main figures as samples.

    Attributes:
        performance: all figures.
        blocking: of arriving jobs.
        time: mean execution time.
        response: mean response time; None without waiting places.
    """

    performance: Performance
    blocking: Sample
    time: Sample
    response: Sample | None = None

    @classmethod
    def exact(cls, answer: Performance) -> Self:
        """Wrap an answer without error."""
        queueing = answer.queueing
        return cls(
            answer,
            Sample(answer.blocking, None),
            Sample(answer.mean_execution_time, None),
            None if queueing is None else Sample(queueing.mean_response_time, None),
        )

    @property
    def wait(self) -> Sample | None:
        """Mean wait; None without waiting places."""
        queueing, response = self.performance.queueing, self.response
        if queueing is None or response is None:
            return None
        errors, own = response.errors, self.time.errors
        return Sample(queueing.mean_wait, None if errors is None or own is None else errors - own)

    @property
    def objective(self) -> Sample:
        """The time to minimise: response time where jobs wait, else execution time."""
        return self.response or self.time


def difference(one: Sample, other: Sample) -> Estimate:
    """Return one figure minus the other, with an interval that uses common random numbers."""
    value = one.value - other.value
    if one is other:
        return Estimate.exact(0.0)
    pair = (one.estimate.interval, other.estimate.interval)
    if pair[0] is None or pair[1] is None:
        return Estimate(value, None)
    parts = [sample.errors for sample in (one, other) if sample.errors is not None]
    if not parts:
        return Estimate.exact(value)
    if any(not part.any() for part in parts):
        # Nothing was blocked under one of them: its replications do not show its error.
        return Estimate(value, (pair[0][0] - pair[1][1], pair[0][1] - pair[1][0]))
    zero = np.zeros_like(parts[0])
    own = zero if one.errors is None else one.errors
    errors = own - (zero if other.errors is None else other.errors)
    return estimates.around(value, errors)


def simulate_together(
    systems: Mapping[str, tuple[System, str]],
    *,
    precision: float,
    seed: int | None,
    threads: int | None,
    progress: Progress | None,
    slowdown_threshold: float | str | None = None,
    jobs: int | None = None,
    max_jobs: int = MOST_JOBS,
    warmup: float | None = None,
    replications: int = STEP,
) -> dict[str, Paired]:
    """Simulate policies with common random numbers until all of them are precise enough.

    Args:
        systems: scenarios under policies, by name, with the reason for simulating each.
        precision: target half-width of the intervals of every policy.
        seed: random seed; a new one if not given.
        threads: number of threads; all cores by default.
        progress: called with (finished, planned) replications.
        slowdown_threshold: of the bounded slowdown, see `simulate`.
        jobs: arrivals of each replication, see `simulate`.
        max_jobs: stop after this number of arrivals of each system.
        warmup: in mean sizes; by default the longest that the systems need, see `simulate`.
        replications: added at a time until the precision is reached.
    """
    if not systems:
        return {}
    options = RunOptions(
        jobs=jobs,
        max_jobs=max_jobs,
        warmup=warmup,
        replications=replications,
        precision=precision,
        seed=fresh_seed() if seed is None else seed,
        threads=threads,
        progress=progress,
        slowdown_threshold=slowdown_threshold,
    )
    runs = {
        name: prepare_run(system, options, KERNELS[system.places > 0], common=True)
        for name, (system, _) in systems.items()
    }
    longest = max(run.plan.warmup for run in runs.values())
    for run in runs.values():
        run.plan = dataclasses.replace(run.plan, warmup=longest)
    converged = run_until_precise(list(runs.values()), replications, replications)
    keep_shared(list(runs.values()))
    return {name: _paired(run, systems[name][1], converged=converged) for name, run in runs.items()}


def _paired(run: Run, reason: str, *, converged: bool) -> Paired:
    answer = run.performance(reason, converged=converged)
    blocked, arrived = run.tallies.blocked.sum(axis=(0, 2)), run.tallies.arrived.sum(axis=(0, 2))
    granted = run.tallies.granted.sum(axis=0)
    times, started = granted @ run.plan.system.kind_scale, granted.sum(axis=1)
    response = None
    if answer.queueing is not None:
        waits = waiting_tallies(run.tallies).wait.sum(axis=(0, 2))
        errors = estimates.errors_of(times + waits, started)
        response = Sample(answer.queueing.mean_response_time, errors)
    return Paired(
        answer,
        Sample(answer.blocking, estimates.errors_of(blocked, arrived)),
        Sample(answer.mean_execution_time, estimates.errors_of(times, started)),
        response,
    )
