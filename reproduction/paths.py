"""Simulation of single paths, event by event.

The library's simulators return averages; a plot of a path, or the time average of a distance,
needs the path itself. It is simulated here in plain Python: jobs with exponential sizes arrive, are
granted min(drawn width, idle) servers, and leave. Time is in mean sizes.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final

import numpy as np
import numpy.typing as npt

from moldable.results import Optimum
from reproduction.convergence import Floats

BLOCK: Final = 65_536
"""Random numbers drawn in one block."""


def sampled_path(
    solution: Optimum,
    start: Mapping[int, int],
    times: Sequence[float] | Floats,
    generator: np.random.Generator,
) -> npt.NDArray[np.int64]:
    """Follow greedy(p*) and return the jobs of each width at the given times.

    Args:
        solution: the optimum, for a known number of servers.
        start: jobs of each width at time 0.
        times: increasing, from 0.
        generator: of the random numbers.

    Returns:
        A row for each time, a column for each of the widths 1..d.
    """
    servers = _servers(solution)
    curve = [0.0, *solution.frontier.speedup.speedups.tolist()]
    shares = list(accumulate(solution.probabilities.tolist()))
    counts = [0] * len(curve)
    for width, jobs in start.items():
        counts[width] = jobs
    idle = servers - sum(width * jobs for width, jobs in enumerate(counts))
    arriving = servers * solution.load
    leaving = math.fsum(s * jobs for s, jobs in zip(curve, counts, strict=True))
    draws, waits = _uniforms(generator), _exponentials(generator)
    rows: list[list[int]] = []
    now = 0.0
    while True:
        now += next(waits) / (arriving + leaving)
        while len(rows) < len(times) and times[len(rows)] <= now:
            rows.append(counts[1:])
        if len(rows) == len(times):
            return np.array(rows, dtype=np.int64)
        event = next(draws) * (arriving + leaving)
        if event < arriving:
            # The last share may fall short of 1 by rounding.
            wish = min(bisect_right(shares, event / arriving), len(shares) - 1) + 1
            width = min(wish, idle)
            change = 1 if width else 0
        else:
            width, change = _leaver(event - arriving, curve, counts), -1
        counts[width] += change
        idle -= width * change
        leaving += curve[width] * change


def _leaver(event: float, curve: list[float], counts: list[int]) -> int:
    """Return the width of the job that leaves, drawn in proportion to the rates."""
    last = 0
    for width, jobs in enumerate(counts):
        if jobs:
            last = width
            event -= curve[width] * jobs
            if event < 0.0:
                break
    return last


def _servers(solution: Optimum) -> int:
    if solution.servers is None:
        raise ValueError("a path needs an optimum for a known number of servers")
    return solution.servers


def _uniforms(generator: np.random.Generator) -> Iterator[float]:
    while True:
        yield from generator.random(BLOCK).tolist()


def _exponentials(generator: np.random.Generator) -> Iterator[float]:
    while True:
        yield from generator.standard_exponential(BLOCK).tolist()
