"""How does a loss system move for any sizes and any arrivals?

A loss system only asks, at each arrival, how many servers are idle; departures between two arrivals
need no order. So running jobs hang in unordered lists from a ring of time buckets about as wide as
the time between arrivals. A job further ahead than the ring's span stays where it is until its turn
of the ring comes. All random numbers come in as arrays.
"""

from __future__ import annotations

import numpy as np
from numba import njit

CURSOR, FREE = 0, 1


@njit(nogil=True, cache=True)
def bucket_ring(
    times,
    sizes,
    labels,
    picks,
    threshold,
    first,
    second,
    table_start,
    columns,
    reach,
    pool_of,
    pool_of_kind,
    widths,
    scales,
    heads,
    following,
    departure,
    duration,
    kind,
    free,
    cursors,
    idle,
    granted,
    booked,
    blocked,
):
    """Let the given jobs arrive, one after the other.

    Args:
        times: arrival times in widths of a bucket, ascending, not before those already seen.
        sizes: their sizes, of unit mean.
        labels: their classes; empty if there is one class.
        picks: uniform numbers that draw the width; empty if the policy never draws.
        threshold: share of the first outcome of each table entry.
        first: outcome of the entry below its threshold: a kind of job, or below 0: blocked.
        second: outcome above it.
        table_start: where the table of each class begins.
        columns: entries in a row.
        reach: last row of each class's table.
        pool_of: the pool of servers each class uses.
        pool_of_kind: the same for each kind of job.
        widths: servers held by each kind.
        scales: mean size / speed-up of each kind, in widths of a bucket.
        heads: first job in each bucket, -1 if none; a power of two of them.
        following: next job in the same bucket.
        departure: when each job departs, in widths of a bucket.
        duration: how long each job runs; empty if nobody will ask.
        kind: of each job.
        free: stack of unused jobs.
        cursors: the next bucket to empty, and how many unused jobs there are.
        idle: idle servers of each pool.
        granted: jobs of each kind, counted on.
        booked: run time of each kind, summed on at arrival.
        blocked: jobs of each class, counted on.
    """
    mask = heads.size - 1
    cursor, unused = cursors[CURSOR], cursors[FREE]
    one_class, no_draw, forget = labels.size == 0, picks.size == 0, duration.size == 0
    for i in range(times.size):
        now = times[i]
        present = np.int64(now)
        if present - cursor > mask:
            cursor = present - mask - 1  # nothing hangs further back than one turn of the ring
        while cursor <= present:
            slot = cursor & mask
            job = heads[slot]
            if job >= 0:
                # Past buckets are emptied of this turn's jobs, the present one up to now.
                limit = now if cursor == present else np.float64(cursor) + 1.0
                kept = np.int32(-1)
                while job >= 0:
                    after = following[job]
                    if departure[job] < limit:
                        k = kind[job]
                        idle[pool_of_kind[k]] += widths[k]
                        free[unused] = job
                        unused += 1
                    else:
                        following[job] = kept
                        kept = job
                    job = after
                heads[slot] = kept
            cursor += 1
        cursor = present

        label = 0 if one_class else labels[i]
        pool = pool_of[label]
        row = min(idle[pool], reach[label])
        drawn = 0.0 if no_draw else picks[i] * columns
        column = min(np.int64(drawn), columns - 1)
        entry = table_start[label] + row * columns + column
        k = first[entry] if drawn - column < threshold[entry] else second[entry]
        if k < 0:
            blocked[label] += 1
            continue
        run = sizes[i] * scales[k]
        end = now + run
        unused -= 1
        job = free[unused]
        departure[job] = end
        kind[job] = k
        if not forget:
            duration[job] = run
        slot = np.int64(end) & mask
        following[job] = heads[slot]
        heads[slot] = job
        idle[pool] -= widths[k]
        granted[k] += 1
        booked[k] += run
    cursors[CURSOR], cursors[FREE] = cursor, unused
