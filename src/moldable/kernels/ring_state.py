"""Insert jobs into the ring of time buckets of `bucket_ring`, and count the jobs in it."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def insert(granted, durations, widths, heads, following, departure, kind, free, cursors):
    """Start jobs of one kind at time 0 and return the servers that they hold.

    The arrays are those of `bucket_ring`.
    """
    mask, unused = heads.size - 1, cursors[-1]
    for i in range(durations.size):
        unused -= 1
        job = free[unused]
        departure[job] = durations[i]
        kind[job] = granted
        slot = np.int64(durations[i]) & mask
        following[job] = heads[slot]
        heads[slot] = job
    cursors[-1] = unused
    return widths[granted] * durations.size


@njit(nogil=True, cache=True)
def survey(now, since, heads, following, departure, duration, kind, held, left, young, young_time):
    """Count the jobs in the ring by kind; the arrays up to `kind` are those of `bucket_ring`.

    Incremented are the jobs `held` in the ring, including departed ones that nothing has processed
    yet, the remaining time `left` of those in the system at time `now`, and, if durations are kept,
    the number `young` and the execution time `young_time` of those that arrived after `since`.
    """
    for slot in range(heads.size):
        job = heads[slot]
        while job >= 0:
            k = kind[job]
            held[k] += 1
            if departure[job] > now:
                left[k] += departure[job] - now
                if duration.size and departure[job] - duration[job] > since:
                    young[k] += 1
                    young_time[k] += duration[job]
            job = following[job]
