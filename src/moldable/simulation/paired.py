"""How are policies simulated so that they can be told apart?

All of them meet the same arrivals, sizes and draws: whatever luck one run has, the others share it,
and it cancels in their differences. Only the start is drawn for each, from its own equilibrium.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self, final

import numpy as np

from moldable.arrays import Floats
from moldable.simulation import estimates
from moldable.simulation.plan import MAIN, Plan
from moldable.simulation.replications import Progress, count_workers, cut
from moldable.simulation.rounds import STEP, Rounds, until_enough
from moldable.simulation.simulate import (
    MOST_JOBS,
    ROUND_JOBS,
    check_seed_and_threads,
    compile_kernel,
    fresh_seed,
    warmup_of,
)
from moldable.simulation.summary import performance
from moldable.system.loss_system import System
from moldable.system.performance import Estimate, Performance

KERNEL = "bucket-ring"
"""Jobs keep their sizes in it, whatever width they are given."""


@final
@dataclass(frozen=True, eq=False)
class Sample:
    """A figure and what each replication adds to its error; None if it is exact.

    Attributes:
        estimate: the figure with its interval.
        errors: of each replication, in the figure's units.
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
    """A policy's performance, and its two figures as samples."""

    performance: Performance
    blocking: Sample
    time: Sample

    @classmethod
    def exact(cls, answer: Performance) -> Self:
        """Wrap an answer without error."""
        return cls(answer, Sample(answer.blocking, None), Sample(answer.mean_execution_time, None))


def difference(one: Sample, other: Sample) -> Estimate:
    """Return one figure minus the other, with an interval that knows what they share."""
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
        # Nothing was blocked in one of them: its replications say nothing about its error.
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
) -> dict[str, Paired]:
    """Simulate policies on common random numbers until all of them are precise enough.

    Args:
        systems: one scenario under each policy, by name, with the reason for simulating it.
        precision: of every policy's own figures.
        seed: of the random numbers; a fresh one if not given.
        threads: how many; all cores by default.
        progress: called with (finished, planned) replications.
    """
    if not systems:
        return {}
    check_seed_and_threads(seed, threads)
    seed = fresh_seed() if seed is None else int(seed)
    plans = {
        name: Plan(
            system,
            "equilibrium",
            0.0,
            ROUND_JOBS,
            1,
            finished=False,
            seed=seed,
            stream=MAIN,
            common=True,
        )
        for name, (system, _) in systems.items()
    }
    runs = _rounds(plans, precision, threads, progress)
    converged = until_enough(list(runs.values()), STEP)
    if len({run.gathered and run.gathered.replications for run in runs.values()}) > 1:
        raise KeyboardInterrupt  # only whole rounds can be compared
    return {name: _paired(run, systems[name][1], converged=converged) for name, run in runs.items()}


def _rounds(
    plans: Mapping[str, Plan], precision: float, threads: int | None, progress: Progress | None
) -> dict[str, Rounds]:
    """Prepare every plan, all with the longest warm-up that any of them needs."""
    workers = count_workers(threads, None)
    notes: dict[str, list[str]] = {}
    longest = 0.0
    for name, plan in plans.items():
        compile_kernel(plan, KERNEL, cut(range(STEP), KERNEL, workers)[0])
        needed, notes[name] = warmup_of(plan, KERNEL, None)
        longest = max(longest, needed)

    def rounds(name: str) -> Rounds:
        plan = dataclasses.replace(plans[name], warmup=longest)
        means = (workers, None, progress)
        return Rounds(plan, KERNEL, "assigned", precision, MOST_JOBS, *means, notes=notes[name])

    return {name: rounds(name) for name in plans}


def _paired(run: Rounds, reason: str, *, converged: bool) -> Paired:
    tallies, system = run.tallies, run.plan.system
    answer = performance(run, reason, converged=converged)
    granted = tallies.granted.sum(axis=0)
    return Paired(
        answer,
        Sample(
            answer.blocking,
            estimates.errors_of(tallies.blocked.sum(axis=(0, 2)), tallies.arrived.sum(axis=(0, 2))),
        ),
        Sample(
            answer.mean_execution_time,
            estimates.errors_of(granted @ system.kind_scale, granted.sum(axis=1)),
        ),
    )
