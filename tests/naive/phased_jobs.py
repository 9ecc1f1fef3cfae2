"""A loss system whose jobs run through their phases one by one, event by event."""

from __future__ import annotations

import heapq

import numpy as np


def simulate_phases(phases, *, width, servers, arrival_rate, jobs, seed) -> tuple[float, float]:
    """Return blocking and mean time of accepted jobs; sizes are exponential with mean 1.

    Jobs narrower than the width are granted if fewer servers are idle, as by `fixed`. Here the
    number of servers is a multiple of the width, so that never happens.
    """
    assert servers % width == 0
    rng = np.random.default_rng(seed)
    idle, now, blocked, times = servers, 0.0, 0, []
    events: list[tuple[float, float, float, int]] = []  # end of phase, start, size, next phase
    for _ in range(jobs):
        now += rng.exponential(1.0 / arrival_rate)
        while events and events[0][0] <= now:
            ended, began, size, phase = heapq.heappop(events)
            if phase == len(phases):
                idle += width
                times.append(ended - began)
                continue
            share, curve = phases[phase]
            heapq.heappush(events, (ended + size * share / curve[width], began, size, phase + 1))
        if idle < width:
            blocked += 1
            continue
        idle -= width
        size = rng.exponential()
        share, curve = phases[0]
        heapq.heappush(events, (now + size * share / curve[width], now, size, 1))
    return blocked / jobs, float(np.mean(times))
