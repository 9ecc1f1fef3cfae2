"""Naive version of the bucket ring: a sorted list of departures."""

from __future__ import annotations

import heapq


def run(times, sizes, labels, picks, tables, pools, pool_of, kinds, running=()):
    """Let jobs arrive.

    `tables[class]` is an AliasTable whose outcome `len(kinds)` means blocked; `kinds` are (pool,
    width, scale); `running` are (departure, kind) of jobs already there.
    Returns (kind granted to each job or None, idle servers of each pool, running jobs).
    """
    idle = list(pools)
    departures = list(running)
    heapq.heapify(departures)
    for _, kind in departures:
        idle[kinds[kind][0]] -= kinds[kind][1]
    granted = []
    for i, now in enumerate(times):
        while departures and departures[0][0] <= now:
            _, kind = heapq.heappop(departures)
            idle[kinds[kind][0]] += kinds[kind][1]
        label = labels[i] if len(labels) else 0
        table = tables[label]
        row = min(idle[pool_of[label]], table.threshold.shape[0] - 1)
        drawn = picks[i] * table.columns if len(picks) else 0.0
        column = min(int(drawn), table.columns - 1)
        below = drawn - column < table.threshold[row, column]
        outcome = int((table.first if below else table.second)[row, column])
        if outcome == len(kinds):
            granted.append(None)
            continue
        pool, width, scale = kinds[outcome]
        idle[pool] -= width
        heapq.heappush(departures, (now + sizes[i] * scale, outcome))
        granted.append(outcome)
    return granted, idle, departures
