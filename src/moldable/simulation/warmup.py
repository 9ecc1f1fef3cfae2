"""Choose how long the warm-up lasts.

All replications have the same warm-up. A pilot run, which depends only on the seed and the
parameters, applies MSER-5 to the number of busy servers averaged over its replications: the
truncation with the least standard error of the mean is chosen among those in the first half. A
pilot whose best truncation is the last one tried is repeated, twice as long. Waiting jobs count as
one server each. Queues at high load forget their initial state so slowly that no pilot shows it;
their relaxation time is estimated from the load, and the warm-up is several times as long.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np

from moldable.arrays import Floats
from moldable.errors import NearlySaturatedError, SimulationError
from moldable.model.arrivals import ArrivalTimes, Renewal
from moldable.simulation.plan import PILOT, Plan, Tallies
from moldable.simulation.replications import RUNNERS
from moldable.simulation.start import exactly_stationary
from moldable.system.loss_system import System
from moldable.system.saturation import saturated_throughput
from moldable.threads import interruptible

LONGEST: Final = 2e8
LONGEST_SHARE: Final = 100.0
"""Most arrivals in a warm-up: the first, or the second times the arrivals that are counted."""
BATCHES: Final = 200
GROUP: Final = 5
REPLICATIONS: Final = 16
SPAN: Final = 20.0
"""Length of the pilot in mean execution times of the slowest kind."""
LEAST: Final = {True: 1.0, False: 6.0}
"""Shortest warm-up in the same unit, because noise may hide the slowest jobs.

Few of them are far from equilibrium if a run starts near it (True), all if it does not (False)."""
RELAXATIONS: Final = 5.0
"""Length of a warm-up in relaxation times of the queue."""
SHORT: Final = 50.0
"""Relaxation times that a replication should last."""
FEW_PLACES: Final = 3.0
"""A queue of K places relaxes at least as fast as if a share of 3 / (K + 1) servers were spare."""
CLOSEST, MOST_VARIABLE = 1e-6, 100.0
"""Least spare capacity and largest squared coefficient of variation that are counted."""
MOST_JOBS: Final = 4_000_000
"""Most arrivals in a pilot."""
DOUBLINGS: Final = 2
"""How often the length of a pilot that did not settle is doubled, if its arrivals allow."""
LASTED: Final = 2.0
"""Largest time that a number of arrivals takes in a pilot, relative to its mean. Without a variance
of the gaps it may take any time, but jobs come and go with the arrivals."""


def warmup_of(plan: Plan, kernel: str, requested: float | None) -> tuple[float, list[str]]:
    """Return the length of the warm-up, and warnings about it.

    Args:
        plan: what is run.
        kernel: which runs the pilot.
        requested: length in mean sizes; chosen by a pilot if None.
    """
    unit, rate = plan.system.workload.mean_size, plan.system.workload.arrival_rate
    if requested is not None:
        _refuse_endless(plan, requested * unit * rate, "ask for a shorter warm-up")
        return requested * unit, []
    listed = isinstance(plan.system.arrivals, ArrivalTimes)
    if listed or exactly_stationary(plan.system, plan.start):
        return 0.0, []
    # No pilot settles within less than one mean execution time of the slowest kind.
    slowest = float(plan.system.kind_scale.max())
    _refuse_endless(plan, slowest * rate, "ask for more jobs, or give warmup= (--warmup)")
    time, unsettled = choose_warmup(plan, partial(interruptible, RUNNERS[kernel]))
    notes = []
    if plan.system.places:
        relaxation = relaxation_time(plan.system)
        time = max(time, RELAXATIONS * relaxation)
        fix = "ask for more jobs, or give warmup= (--warmup)"
        _refuse_endless(plan, time * rate, fix, queue=RELAXATIONS * relaxation >= time)
        if plan.jobs / rate < SHORT * relaxation:
            notes.append(
                f"at this load the queue changes slowly: a replication of {plan.jobs:,} arrivals "
                f"has only {plan.jobs / rate / relaxation:.3g} relaxation times, so the intervals "
                f"may be too narrow; ask for more jobs (--jobs)"
            )
    if unsettled is None:
        return time, notes
    note = (
        f"the pilot run did not reach equilibrium within {unsettled / unit:.3g} mean sizes, so "
        f"a warm-up of {time / unit:.3g} may be too short; give --warmup (in Python: warmup=)"
    )
    return time, [*notes, note]


def queue_warmup(system: System) -> float:
    """Return a warm-up that is long enough for a queue, without a pilot."""
    slowest = float(np.max(system.kind_scale))
    return max(LEAST[False] * slowest, RELAXATIONS * relaxation_time(system))


def refuse_nearly_saturated(system: System, most: float) -> None:
    """Refuse a queue whose state is remembered so long that its warm-up has too many arrivals."""
    if not system.places:
        return
    arrivals = RELAXATIONS * relaxation_time(system) * system.workload.arrival_rate
    if arrivals > most:
        raise NearlySaturatedError(
            f"under policy {system.policy_name} {system.servers} servers are nearly saturated: "
            f"the queue changes so slowly that it needs a warm-up of {arrivals:.2g} arrivals, more "
            f"than {most:.2g}; add servers, or lower the load"
        )


def relaxation_time(system: System) -> float:
    """Estimate how long a queue remembers its state.

    For M/M/c it is 1 / (c mu (1 - sqrt(rho))^2), about 4 / (c mu (1 - rho)^2). Variable sizes and
    arrivals lengthen it in proportion, as they do in heavy traffic; few waiting places shorten it.
    """
    arrivals, classes = system.workload.arrival_rate, system.workload.classes
    throughput = saturated_throughput(system)
    if throughput is None:
        # Jobs that hold out for servers waste some; the best widths are a guess of the rest.
        best = max(float((c.speedup.speedups / c.speedup.widths).max()) for c in classes)
        throughput = best * system.servers / system.workload.mean_size
    spare = max(abs(1.0 - arrivals / throughput), FEW_PLACES / (system.places + 1.0), CLOSEST)
    sizes = sum(c.offered * min(c.size.variance, MOST_VARIABLE) for c in classes)
    sizes /= sum(c.offered for c in classes)
    gaps = system.arrivals
    between = gaps.gap.variance if isinstance(gaps, Renewal) else 1.0
    return 2.0 * max(1.0, sizes + min(between, MOST_VARIABLE)) / (throughput * spare**2)


def _refuse_endless(plan: Plan, arrivals: float, fix: str, *, queue: bool = False) -> None:
    """Refuse a warm-up that is much longer than the counted time; a queue may be the reason."""
    most = max(LONGEST, LONGEST_SHARE * plan.jobs)
    if arrivals <= most:
        return
    needing, last = "the slowest jobs need", "leave the slowest class out"
    if queue:
        needing = "at this load the queue changes so slowly that it needs"
        last = "take fewer waiting places"
    raise SimulationError(
        f"{needing} a warm-up of {arrivals:.2g} arrivals in each replication, more than "
        f"{most:.2g}; {fix}, lower the load, or {last}"
    )


def choose_warmup(
    plan: Plan, run: Callable[[Plan, tuple[int, ...]], Tallies]
) -> tuple[float, float | None]:
    """Run pilots until one settles.

    Returns the length of the warm-up and, if no pilot settled, the length of the last one.
    """
    slowest = float(np.max(plan.system.kind_scale))
    lengths = (_length(plan, SPAN * 2.0**k * slowest) for k in range(DOUBLINGS + 1))
    for jobs, replications in dict.fromkeys(lengths):  # MOST_JOBS may make them equal
        pilot = dataclasses.replace(
            plan, warmup=0.0, jobs=jobs, batches=BATCHES, finished=False, stream=PILOT
        )
        tallies = run(pilot, tuple(range(replications)))
        present = tallies.mean_jobs @ plan.system.kind_width.astype(float)
        if tallies.queue is not None:
            present = present + tallies.queue.mean_waiting.sum(axis=2)
        busy = present.mean(axis=1)
        time, cut = tallies.time.mean(axis=1), mser(busy)
        settled = cut < latest_cut(busy.size)
        if settled:
            break
    batch = jobs / plan.system.workload.arrival_rate  # its mean time
    steady = 1.0 / LASTED <= float(time.sum()) / (BATCHES * batch) <= LASTED
    passed = min(float(time[:cut].sum()), LASTED * cut * batch)
    enough = max(passed, LEAST[plan.start == "equilibrium"] * slowest)
    return enough, None if settled and steady else min(float(time.sum()), LASTED * BATCHES * batch)


def _length(plan: Plan, span: float) -> tuple[int, int]:
    """Return the jobs of each batch and the replications of a pilot of this time span."""
    rate, replications = plan.system.workload.arrival_rate, REPLICATIONS
    while replications > 2 and span * rate * replications > MOST_JOBS:  # noqa: PLR2004
        replications //= 2
    return max(1, int(min(span * rate, MOST_JOBS / replications) / BATCHES)), replications


def mser(series: Floats) -> int:
    """Return how many values the MSER-5 rule discards."""
    groups = series[: series.size // GROUP * GROUP].reshape(-1, GROUP).mean(axis=1)
    cuts = range(latest_cut(series.size) // GROUP + 1)
    scores = (groups[cut:].var() / (groups.size - cut) for cut in cuts)
    return int(np.argmin([np.nan_to_num(score, nan=np.inf) for score in scores])) * GROUP


def latest_cut(size: int) -> int:
    """Return the last truncation that is tried: a series truncated there has not settled."""
    return (size // GROUP // 2 - 1) * GROUP
