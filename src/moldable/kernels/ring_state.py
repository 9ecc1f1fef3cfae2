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
    """Count every job in the ring, by kind; the first arrays are those of `bucket_ring`.

    Args:
        now: jobs that departed before are still in the ring if nothing has processed them.
        since: jobs that arrived after this time are young.
        heads: see `bucket_ring`.
        following: see `bucket_ring`.
        departure: see `bucket_ring`.
        duration: see `bucket_ring`.
        kind: see `bucket_ring`.
        held: incremented: jobs in the ring.
        left: incremented: remaining time of the jobs in the system.
        young: incremented: young jobs in the system, if durations are kept.
        young_time: incremented: their execution time.
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
