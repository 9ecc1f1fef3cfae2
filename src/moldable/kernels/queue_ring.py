"""Simulate a cluster that queues jobs, first come, first served, with any sizes and any arrivals.

Running jobs are kept in a ring of time buckets, as in `bucket_ring`. While no job waits, departures
need no order and are processed only when the policy could distinguish the states. While jobs wait,
departures are processed in the order of time, and each time servers are released the job at the
head of the queue is offered all idle ones. If the policy grants it none, all jobs wait for the next
departure.

Servers that are released at exactly the same time are offered together, and those released at the
time of an arrival before it. An arrival to a queue that is not empty starts no job, although the
head has more jobs behind it then: widths are decided when servers are released.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from moldable.arrays import Floats

CURSOR, FREE = 0, 1
HEAD, WAITING, NUMBER = 0, 1, 2
ONE = np.uint64(1)
LATEST = 2.0**52
"""Latest arrival in bucket widths: floating point still tells buckets apart there."""
LOWEST, OCTAVES, CUT = -32, 80, 47
"""Histograms begin at 2**LOWEST bucket widths; CUT low bits of a float64 are ignored, which leaves
32 bins in an octave."""
BEGIN = (1023 + LOWEST) << (52 - CUT)
BINS = 2 + (OCTAVES << (52 - CUT))


def bin_edges() -> Floats:
    """Return the lower ends of all bins in bucket widths, and the upper end of the last one.

    Bin i counts times from edge i up to, but not including, edge i + 1. The first bin holds zeros
    and what is below the range, the last bin what is above it. A unit of time that is a power of
    two of bucket widths only shifts the edges.
    """
    words = np.arange(BEGIN, BEGIN + BINS - 1, dtype=np.int64) << CUT
    return np.concatenate(([0.0], words.view(np.float64), [np.inf]))


@njit(nogil=True, cache=True)
def bin_of(time):
    """Return the bin of a time in bucket widths."""
    return min(max((np.float64(time).view(np.int64) >> CUT) - BEGIN + 1, 0), BINS - 1)


@njit(nogil=True, cache=True)
def earliest(heads, following, departure):
    """Return the time of the first departure from the ring, infinite if it is empty."""
    found = np.inf
    for slot in range(heads.size):
        job = heads[slot]
        while job >= 0:
            found = min(found, departure[job])
            job = following[job]
    return found


@njit(nogil=True, cache=True)
def queue_ring(
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
    behind_reach,
    queue_idle,
    widths,
    scales,
    places,
    bound,
    heads,
    following,
    departure,
    kind,
    free,
    cursors,
    idle,
    fifo_times,
    fifo_sizes,
    fifo_labels,
    fifo_picks,
    fifo_numbers,
    queue,
    granted,
    booked,
    blocked,
    waited,
    wait_sum,
    slowdown_sum,
    bounded_sum,
    waits,
    responses,
    started,
    taken,
):
    """Let the given jobs arrive, one after the other, and start those that may.

    A row of the table is chosen by the idle servers and the jobs behind the one that is offered
    them. Each class has rows for none behind, by idle servers up to `reach`; then, for each number
    behind from 1 to `behind_reach`, rows by idle servers up to `queue_idle`. If `behind_reach` is
    0, the first rows hold whatever waits.

    Args:
        times: arrival times in bucket widths, ascending, not before those of earlier calls.
        sizes: their sizes, of unit mean.
        labels: their classes; empty if there is one class.
        picks: uniform numbers that choose the width; empty if the policy is deterministic.
        threshold: probability of the first outcome of each table entry.
        first: outcome below the threshold: a kind of job, or negative if the job waits.
        second: outcome above it.
        table_start: first entry of each class.
        columns: entries in a row.
        reach: last row of each class if nobody is behind.
        behind_reach: largest number behind that is distinguished, for each class.
        queue_idle: last row of each class if somebody is behind.
        widths: servers held by each kind.
        scales: mean execution time of each kind, in bucket widths.
        places: jobs that may wait.
        bound: execution time below which the bounded slowdown does not grow, in bucket widths; not
            positive if it is not needed.
        heads: first job in each bucket, -1 if none; their number is a power of two.
        following: next job in the same bucket.
        departure: departure time of each running job, in bucket widths.
        kind: of each running job.
        free: stack of unused running jobs.
        cursors: the next bucket to empty, and the number of unused running jobs.
        idle: one number: servers known to be idle.
        fifo_times: arrival times of the waiting jobs, a ring whose size is a power of two.
        fifo_sizes: their sizes.
        fifo_labels: their classes; empty if there is one class.
        fifo_picks: their uniform numbers; empty if the policy is deterministic.
        fifo_numbers: their positions in `started`; empty if that is empty.
        queue: position of the head in the ring, jobs that wait, and position in `started` of the
            next arrival.
        granted: incremented: jobs of each kind that started.
        booked: incremented: execution time of each kind, booked at the start.
        blocked: incremented: jobs of each class that arrived when all places were taken.
        waited: incremented: jobs of each class that started after a wait.
        wait_sum: incremented: their waiting times, by class.
        slowdown_sum: incremented: response time over execution time of the jobs that started.
        bounded_sum: incremented: the same, with `bound` in place of shorter execution times, and
            at least 1.
        waits: incremented: waiting times of the jobs that started, by class and bin.
        responses: incremented: response times of the jobs that started, by class and bin.
        started: to fill with the time at which each job starts; empty if it is not needed.
        taken: to fill with the kind of each job, -1 if it is blocked; empty if it is not needed.

    Returns:
        The number of jobs that have arrived: less than all of them if the ring of waiting jobs is
        full. Call again with a larger one and the other jobs.
    """
    # Unsigned indices avoid the test for negative ones.
    mask, unused = np.uint64(heads.size - 1), np.uint64(cursors[FREE])
    cursor, turn = cursors[CURSOR], np.int64(heads.size)
    capacity = np.int64(fifo_times.size)
    wrap = capacity - 1
    front, waiting, number = queue[HEAD], queue[WAITING], queue[NUMBER]
    one_class, no_draw, recording = labels.size == 0, picks.size == 0, started.size > 0
    label, known, arrivals = 0, idle[0], times.size
    i = 0
    while i < arrivals:
        if waiting == 0:
            now = times[i]
            present = np.int64(now)
            if not one_class:
                label = labels[i]
            # Above `reach` more idle servers change nothing, so departures are processed later. A
            # job that declines also declines whatever is released before the next one arrives.
            if known < reach[label]:
                if present - cursor >= turn:
                    cursor = present - turn  # one turn empties every bucket
                while cursor <= present:
                    slot = np.uint64(cursor) & mask
                    job = heads[slot]
                    if job >= 0:
                        # Past buckets are emptied of this turn's jobs, the present one up to now:
                        # a job that departs at the time of an arrival makes room for it.
                        here = cursor == present
                        limit = now if here else np.float64(cursor) + 1.0
                        kept = np.int32(-1)
                        while job >= 0:
                            place = np.uint64(job)
                            after = following[place]
                            if departure[place] < limit or (here and departure[place] == now):
                                known += widths[np.uint64(kind[place])]
                                free[unused] = job
                                unused += ONE
                            else:
                                following[place] = kept
                                kept = job
                            job = after
                        heads[slot] = kept
                    cursor += 1
                cursor = present
            drawn = 0.0 if no_draw else picks[i] * columns
            column = min(np.int64(drawn), columns - 1)
            row = min(known, reach[label])
            entry = np.uint64(table_start[label] + row * columns + column)
            outcome = first[entry] if drawn - column < threshold[entry] else second[entry]
            if outcome < 0:
                if places == 0:
                    blocked[label] += 1
                    if recording:
                        taken[number] = -1
                else:
                    end = np.uint64(front)
                    fifo_times[end] = now
                    fifo_sizes[end] = sizes[i]
                    if not one_class:
                        fifo_labels[end] = label
                    if not no_draw:
                        fifo_picks[end] = picks[i]
                    if recording:
                        fifo_numbers[end] = number
                    waiting = 1
            else:
                k = np.uint64(outcome)
                run = sizes[i] * scales[k]
                end_time = now + run
                unused -= ONE
                job = free[unused]
                place = np.uint64(job)
                departure[place] = end_time
                kind[place] = outcome
                slot = np.uint64(np.int64(end_time)) & mask
                following[place] = heads[slot]
                heads[slot] = job
                known -= widths[k]
                granted[k] += 1
                booked[k] += run
                slowdown_sum[label] += 1.0
                if bound > 0.0:
                    bounded_sum[label] += 1.0
                waits[label, 0] += 1
                responses[label, bin_of(run)] += 1
                if recording:
                    started[number], taken[number] = now, outcome
            number += 1
            i += 1
            continue

        # Find the next departure. The ring is not searched for more than a turn.
        best, slot = np.int32(-1), np.uint64(0)
        quiet = cursor + turn
        while True:
            slot = np.uint64(cursor) & mask
            at = np.float64(cursor) + 1.0
            previous, before, tied = np.int32(-1), np.int32(-1), False
            job = heads[slot]
            while job >= 0:
                place = np.uint64(job)
                if departure[place] < at:
                    at, best, before, tied = departure[place], job, previous, False
                elif departure[place] == at:
                    tied = True
                previous = job
                job = following[place]
            if best >= 0:
                break
            cursor += 1
            if cursor == quiet:
                at = earliest(heads, following, departure)
                if not at < LATEST:
                    cursor -= turn
                    break
                cursor = np.int64(at)
        # Arrivals before it join the queue.
        while i < arrivals and times[i] < at:
            if not one_class:
                label = labels[i]
            if waiting >= places:
                blocked[label] += 1
                if recording:
                    taken[number] = -1
            elif waiting == capacity:
                arrivals = i
                break
            else:
                end = np.uint64((front + waiting) & wrap)
                fifo_times[end] = times[i]
                fifo_sizes[end] = sizes[i]
                if not one_class:
                    fifo_labels[end] = label
                if not no_draw:
                    fifo_picks[end] = picks[i]
                if recording:
                    fifo_numbers[end] = number
                waiting += 1
            number += 1
            i += 1
        if i == arrivals:
            break
        place = np.uint64(best)
        if before < 0:
            heads[slot] = following[place]
        else:
            following[np.uint64(before)] = following[place]
        known += widths[np.uint64(kind[place])]
        free[unused] = best
        unused += ONE
        if tied:
            continue
        while waiting > 0 and known > 0:
            head = np.uint64(front)
            if not one_class:
                label = fifo_labels[head]
            drawn = 0.0 if no_draw else fifo_picks[head] * columns
            column = min(np.int64(drawn), columns - 1)
            block = min(waiting - 1, behind_reach[label])
            if block == 0:
                row = min(known, reach[label])
            else:
                row = reach[label] + 1 + (block - 1) * (queue_idle[label] + 1)
                row += min(known, queue_idle[label])
            entry = np.uint64(table_start[label] + row * columns + column)
            outcome = first[entry] if drawn - column < threshold[entry] else second[entry]
            if outcome < 0:
                break
            k = np.uint64(outcome)
            run = fifo_sizes[head] * scales[k]
            wait = at - fifo_times[head]
            end_time = at + run
            unused -= ONE
            job = free[unused]
            place = np.uint64(job)
            departure[place] = end_time
            kind[place] = outcome
            slot = np.uint64(np.int64(end_time)) & mask
            following[place] = heads[slot]
            heads[slot] = job
            known -= widths[k]
            granted[k] += 1
            booked[k] += run
            response = wait + run
            waited[label] += 1
            wait_sum[label] += wait
            slowdown_sum[label] += response / run if run > 0.0 else np.inf
            if bound > 0.0:
                bounded_sum[label] += max(response / max(run, bound), 1.0)
            waits[label, bin_of(wait)] += 1
            responses[label, bin_of(response)] += 1
            if recording:
                started[fifo_numbers[head]], taken[fifo_numbers[head]] = at, outcome
            front = (front + 1) & wrap
            waiting -= 1
    idle[0] = known
    cursors[CURSOR], cursors[FREE] = cursor, np.int64(unused)
    queue[HEAD], queue[WAITING], queue[NUMBER] = front, waiting, number
    return i
