"""How long does a run take to forget its start?

One warm-up for the whole run, in units of time, from a pilot that depends on nothing but the seed
and the parameters: MSER-5 on the busy servers, averaged over the pilot's replications. The cut that
leaves the least standard error of the mean wins; cuts in the last half are not believed, and a
pilot whose best cut is the last one tried is run again, twice as long.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Final

import numpy as np

from moldable.arrays import Floats
from moldable.simulation.plan import PILOT, Plan, Tallies

BATCHES: Final = 200
GROUP: Final = 5
REPLICATIONS: Final = 16
SPAN: Final = 20.0
"""Length of the pilot in mean execution times of the slowest kind."""
LEAST: Final = {True: 1.0, False: 6.0}
"""Warm-up in the same unit below which no pilot is believed: noise may hide the slowest jobs.

Few are far from equilibrium when a run starts near it (True), all when it does not (False)."""
MOST_JOBS: Final = 4_000_000
"""Arrivals that a pilot may spend in all."""
DOUBLINGS: Final = 2
"""How often a pilot that did not settle is made twice as long, if its arrivals allow."""
LASTED: Final = 2.0
"""Time that a number of arrivals may take in a pilot, relative to its mean. Gaps without a variance
may make it any number; jobs come and go with the arrivals, so that is no reason to run on."""


def choose_warmup(
    plan: Plan, run: Callable[[Plan, tuple[int, ...]], Tallies]
) -> tuple[float, float | None]:
    """Run pilots until one settles.

    Returns the time to leave out and, if no pilot settled, how long the last one was.
    """
    slowest = float(np.max(plan.system.kind_scale))
    lengths = (_length(plan, SPAN * 2.0**k * slowest) for k in range(DOUBLINGS + 1))
    for jobs, replications in dict.fromkeys(lengths):  # those beyond MOST_JOBS are all alike
        pilot = dataclasses.replace(
            plan, warmup=0.0, jobs=jobs, batches=BATCHES, finished=False, stream=PILOT
        )
        tallies = run(pilot, tuple(range(replications)))
        busy = (tallies.mean_jobs @ plan.system.kind_width.astype(float)).mean(axis=1)
        time, cut = tallies.time.mean(axis=1), mser(busy)
        settled = cut < latest_cut(busy.size)
        if settled:
            break
    batch = jobs / plan.system.workload.arrival_rate  # the mean time of one
    steady = 1.0 / LASTED <= float(time.sum()) / (BATCHES * batch) <= LASTED
    passed = min(float(time[:cut].sum()), LASTED * cut * batch)
    enough = max(passed, LEAST[plan.start == "equilibrium"] * slowest)
    return enough, None if settled and steady else min(float(time.sum()), LASTED * BATCHES * batch)


def _length(plan: Plan, span: float) -> tuple[int, int]:
    """Return the jobs of each batch and the replications of a pilot of this span."""
    rate, replications = plan.system.workload.arrival_rate, REPLICATIONS
    while replications > 2 and span * rate * replications > MOST_JOBS:  # noqa: PLR2004
        replications //= 2
    return max(1, int(min(span * rate, MOST_JOBS / replications) / BATCHES)), replications


def mser(series: Floats) -> int:
    """Return how many values to leave out by the MSER-5 rule."""
    groups = series[: series.size // GROUP * GROUP].reshape(-1, GROUP).mean(axis=1)
    best, least = 0, np.inf
    for cut in range(latest_cut(series.size) // GROUP + 1):
        rest = groups[cut:]
        score = float(rest.var()) / rest.size
        if score < least:
            best, least = cut, score
    return best * GROUP


def latest_cut(size: int) -> int:
    """Return the last cut that is tried: a series cut there has not been seen to settle."""
    return (size // GROUP // 2 - 1) * GROUP
