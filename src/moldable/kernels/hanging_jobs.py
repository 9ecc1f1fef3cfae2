"""Which jobs hang in the ring of time buckets? They are put there and looked at from outside."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def hang(granted, durations, widths, heads, following, departure, kind, free, cursors):
    """Let jobs of one kind run from time 0 on; the arrays are those of `bucket_ring`.

    Returns the servers they hold.
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
    """Look at every job that hangs in the ring.

    Args:
        now: jobs that departed until now are only counted as held: nobody has looked them up.
        since: jobs that arrived after this time are young.
        heads: the first array of `bucket_ring` that describes the jobs; the next four follow it.
        following: see there.
        departure: see there.
        duration: see there.
        kind: see there.
        held: jobs of each kind hanging in the ring, counted on.
        left: time that those in the system still need, summed on.
        young: young jobs in the system, counted on, if durations are kept.
        young_time: their whole run time, summed on.
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
