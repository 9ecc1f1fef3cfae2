"""Simulation of EQUI event by event: all servers are shared evenly among the running jobs.

All jobs run at the same speed, so one clock of attained service is enough: a job that arrives at
clock time v departs at v + size, and the job with the least of these departs next.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np


@dataclass(frozen=True)
class Estimate:
    """Means over replications and their standard errors."""

    blocking: float
    blocking_error: float
    mean_time: float
    mean_time_error: float


def speed(curve, share):
    """Return the best speed on up to `share` servers, interpolated linearly between widths."""
    points = [(0, 0.0), *sorted(curve.items())]
    best = 0.0
    for (left, low), (right, high) in pairwise(points):
        if share < right:
            return max(best, low + (high - low) * (share - left) / (right - left))
        best = max(best, high)
    return best


def simulate(curve, arrival_rate, draw, servers, *, arrivals, replications, warmup, seed):
    """Simulate from empty; `draw(rng, count)` gives sizes, `curve` is {width: speed-up}.

    `arrivals` are counted in each replication after `warmup` others. The mean time is that of
    accepted jobs, by Little's law over the counted time.
    """
    curve = {width: value for width, value in curve.items() if width <= servers}
    speeds = [0.0, *(speed(curve, servers / jobs) for jobs in range(1, servers + 1))]
    streams = np.random.SeedSequence(seed).spawn(replications)
    runs = [
        _replication(speeds, arrival_rate, draw, arrivals, warmup, np.random.default_rng(stream))
        for stream in streams
    ]
    blocking, times = np.array(runs).T
    root = math.sqrt(replications)
    return Estimate(
        blocking.mean(), blocking.std(ddof=1) / root, times.mean(), times.std(ddof=1) / root
    )


def _replication(speeds, arrival_rate, draw, arrivals, warmup, rng):
    servers = len(speeds) - 1
    gaps = rng.exponential(1.0 / arrival_rate, warmup + arrivals).tolist()
    sizes = np.asarray(draw(rng, warmup + arrivals)).tolist()
    attained, due = 0.0, []
    blocked, area = 0, 0.0
    for number, (gap, size) in enumerate(zip(gaps, sizes, strict=True)):
        if number == warmup:
            blocked, area = 0, 0.0
        left = gap
        while due:
            rate = speeds[len(due)]
            needed = (due[0] - attained) / rate
            if needed > left:
                attained += rate * left
                area += len(due) * left
                break
            area += len(due) * needed
            left -= needed
            attained = heapq.heappop(due)
        if len(due) == servers:
            blocked += 1
        else:
            heapq.heappush(due, attained + size)
    return blocked / arrivals, area / (arrivals - blocked)
