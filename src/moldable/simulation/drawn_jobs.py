"""Draw the jobs of a scenario one after the other, in Python.

This suits runs of thousands of jobs in which a policy is asked about every one. `arrival_source`
draws for kernels, which need millions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from moldable.model.scenario import Scenario
from moldable.simulation.arrival_source import refuse_bad_labels, refuse_fast_changes

BLOCK: Final = 4096
"""Jobs drawn at a time."""


class Job(NamedTuple):
    """A job of a simulated cluster.

    Attributes:
        submitted: time of its submission.
        job_class: index of its class in the scenario.
        size: its execution time on one server.
        u: number from [0, 1) that draws its width under a random policy.

    Examples:
        >>> scenario = Scenario.single([1, 1.8], 0.7, 8)
        >>> jobs = [Job(submitted=0.0, job_class=0, size=60.0, u=0.5)]
        >>> [(entry.event, entry.time) for entry in rehearse(scenario, FixedWidth(1), jobs)]
        [('granted', 0.0), ('ended', 60.0)]
    """

    submitted: float
    job_class: int
    size: float
    u: float


def draw_jobs(  # noqa: PLR0917
    scenario: Scenario,
    count: int,
    seed: int | np.random.SeedSequence,
    scale: float = 1.0,
    begin: float = 0.0,
    block: int = BLOCK,
) -> Iterator[Job]:
    """Yield the jobs of a scenario in the order of their arrival; fewer if a list of times ends.

    The jobs depend on nothing but the arguments, so that several policies can be given the same.

    Args:
        scenario: its classes and its arrivals are used.
        count: number of jobs.
        seed: random seed.
        scale: factor by which all times are multiplied.
        begin: added to the arrival times.
        block: jobs drawn at a time.
    """
    refuse_bad_labels(scenario)
    rng, classes = np.random.default_rng(seed), scenario.workload.classes
    rates, given = scenario.workload.rates, scenario.arrivals.labels
    refuse_fast_changes(scenario.arrivals, float(rates.sum()))
    stream = scenario.arrivals.stream(float(rates.sum()), rng, scale)
    for first in range(0, count, block):
        times = stream.take(min(block, count - first))
        index = rng.choice(len(classes), times.size, p=rates / rates.sum())
        if given is not None:
            index = given[first : first + times.size]
        sizes = np.zeros(times.size)
        for j, each in enumerate(classes):
            own = index == j
            sizes[own] = each.size.sample(rng, int(own.sum())) * each.mean_size * scale
        u = rng.random(times.size)
        yield from map(Job, (times + begin).tolist(), index.tolist(), sizes.tolist(), u.tolist())
