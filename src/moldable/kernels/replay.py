"""Schedule the jobs of a log on a cluster, first come, first served or with EASY backfill.

Time advances to the next end of a job or the next submission. Servers of all jobs that end at one
moment are released together, before the jobs that are submitted at that moment join the queue one
by one. After each of these events the queue is served:

- the head of the queue is offered the idle servers, then the next job, until one gets no width;
- with backfill, servers are reserved for that job at the earliest time at which, by the estimates,
  enough are idle. Jobs behind it may start if they end by then, or use servers that are left over.

The policy sees the idle servers and the jobs that wait behind the one that is offered them. A job
that outlasts its estimate is expected to end at once. It is not killed.

The decisions of the policy are rows of a table that is filled as they are needed: the kernel
returns when a row is missing, and continues where it stopped when it is called again.
"""

from __future__ import annotations

import numpy as np
from numba import njit

NEXT, FRONT, BACK, RUNNING, IDLE, PHASE, PLACE, KEPT, EXTRA, KIND, BEHIND, LONGEST = range(12)
"""Integers of the state: the next submission, the queue's ends, running jobs, idle servers, the
phase, the positions of a backfill pass, servers left over at the reserved time, the row that is
missing, and the longest queue."""
NOW, RESERVED = range(2)
"""Times of the state: the present and the reserved time."""
EVENT, HEADS, BACKFILL = range(3)
"""Phases of the state."""
DONE, MISSING, STUCK = range(3)
"""What the kernel returns: all jobs have started, a row is missing, or the head never starts."""


@njit(nogil=True, cache=True)
def push_end(time, job, end_times, end_jobs, running):
    """Insert a job into the heap of running jobs, ordered by their ends."""
    place = running
    while place > 0:
        parent = (place - 1) >> 1
        if end_times[parent] <= time:
            break
        end_times[place], end_jobs[place] = end_times[parent], end_jobs[parent]
        place = parent
    end_times[place], end_jobs[place] = time, job


@njit(nogil=True, cache=True)
def pop_end(end_times, end_jobs, running):
    """Remove the job that ends first from the heap and return it."""
    first = end_jobs[0]
    last = running - 1
    time, job = end_times[last], end_jobs[last]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= last:
            break
        if child + 1 < last and end_times[child + 1] < end_times[child]:
            child += 1
        if end_times[child] >= time:
            break
        end_times[place], end_jobs[place] = end_times[child], end_jobs[child]
        place = child
    end_times[place], end_jobs[place] = time, job
    return first


@njit(nogil=True, cache=True)
def insert_expected(time, job, times, jobs, running):
    """Insert a job into the list of running jobs, ordered by their expected ends."""
    place = running
    while place > 0 and times[place - 1] > time:
        times[place], jobs[place] = times[place - 1], jobs[place - 1]
        place -= 1
    times[place], jobs[place] = time, job


@njit(nogil=True, cache=True)
def remove_expected(time, job, times, jobs, running):
    """Remove a job from the list of running jobs."""
    place = np.searchsorted(times[:running], time)
    while jobs[place] != job:
        place += 1
    for after in range(place + 1, running):
        times[after - 1], jobs[after - 1] = times[after], jobs[after]


@njit(nogil=True, cache=True)
def width_of(row, idle, draw, granted, bounds):
    """Return the width that a row grants a job with this draw; 0: none."""
    column = 0
    while column < bounds.shape[2] and draw >= bounds[row, idle, column]:
        column += 1
    return np.int64(granted[row, idle, column])


@njit(nogil=True, cache=True)
def backfill_width(
    wanted, idle, left, now, reserved, estimate, least, most, first, stretch, adjusts
):
    """Return the width at which a job may start without delaying the head of the queue; 0: none.

    It is the width that the policy grants, or else the widest of the narrower ones that are
    possible, or else the narrowest of the wider ones.
    """
    if now + estimate * stretch[first + wanted - least] <= reserved or wanted <= left:
        return wanted
    if not adjusts:
        return 0
    for width in range(wanted - 1, least - 1, -1):
        slower = stretch[first + width - least]
        if slower > 0.0 and (width <= left or now + estimate * slower <= reserved):
            return width
    for width in range(wanted + 1, min(most, idle) + 1):
        slower = stretch[first + width - least]
        if slower > 0.0 and now + estimate * slower <= reserved:
            return width
    return 0


@njit(nogil=True, cache=True)
def replay_jobs(
    submit,
    run_times,
    estimates,
    kinds,
    draws,
    least,
    most,
    stretch_start,
    stretch,
    reach,
    rows,
    granted,
    bounds,
    backfills,
    adjusts,
    started,
    widths,
    expected,
    queue,
    end_times,
    end_jobs,
    expected_times,
    expected_jobs,
    counts,
    clock,
):
    """Start all jobs, or return when a row of decisions is missing.

    Args:
        submit: times of submission, ascending.
        run_times: on the recorded servers.
        estimates: of the run times.
        kinds: kind of each job.
        draws: a uniform number for each job, which chooses among random widths.
        least: narrowest width of each kind.
        most: widest width of each kind.
        stretch_start: position in `stretch` of the narrowest width of each kind.
        stretch: execution time at each width from `least` to `most`, relative to that on the
            recorded servers; 0 if the width is not allowed.
        reach: number of waiting jobs from which the decisions for a kind no longer change.
        rows: row of decisions by kind and jobs waiting behind, -1 if missing.
        granted: widths by row, idle servers and outcome; 0: none.
        bounds: draws at which each outcome but the last ends.
        backfills: whether jobs may start before the head of the queue.
        adjusts: whether the width of such a job may differ from the policy's.
        started: to fill with the time at which each job starts.
        widths: to fill with its width.
        expected: to fill with its expected end.
        queue: positions of the waiting jobs.
        end_times: heap of the ends of running jobs, room for one for each server.
        end_jobs: the jobs there.
        expected_times: sorted expected ends of running jobs.
        expected_jobs: the jobs there.
        counts: integers of the state.
        clock: times of the state.

    Returns:
        DONE, MISSING or STUCK.
    """
    jobs = submit.size
    arriving, front, back, running = counts[NEXT], counts[FRONT], counts[BACK], counts[RUNNING]
    idle, phase, place, kept = counts[IDLE], counts[PHASE], counts[PLACE], counts[KEPT]
    left, now, reserved = counts[EXTRA], clock[NOW], clock[RESERVED]
    outcome = DONE
    while arriving < jobs or front < back:
        if phase == EVENT:
            if arriving < jobs and (running == 0 or submit[arriving] < end_times[0]):
                now = submit[arriving]
                queue[back] = arriving
                back += 1
                arriving += 1
                counts[LONGEST] = max(counts[LONGEST], back - front)
            elif running == 0:
                outcome = STUCK
                break
            else:
                now = end_times[0]
                while running > 0 and end_times[0] <= now:
                    job = pop_end(end_times, end_jobs, running)
                    remove_expected(expected[job], job, expected_times, expected_jobs, running)
                    running -= 1
                    idle += widths[job]
            phase = HEADS

        if phase == HEADS:
            row = -1
            while front < back and idle > 0:
                job = queue[front]
                kind = kinds[job]
                behind = min(back - front - 1, reach[kind])
                row = rows[kind, behind] if behind < rows.shape[1] else -1
                if row < 0:
                    outcome, counts[KIND], counts[BEHIND] = MISSING, kind, behind
                    break
                width = width_of(row, idle, draws[job], granted, bounds)
                if width == 0:
                    break
                slower = stretch[stretch_start[kind] + width - least[kind]]
                started[job], widths[job] = now, width
                expected[job] = now + estimates[job] * slower
                push_end(now + run_times[job] * slower, job, end_times, end_jobs, running)
                insert_expected(expected[job], job, expected_times, expected_jobs, running)
                running += 1
                idle -= width
                front += 1
            if outcome == MISSING:
                break
            phase = EVENT
            if backfills and back - front > 1 and idle > 0:
                # The head starts as soon as the policy grants it some of the idle servers.
                job = queue[front]
                needed = idle + 1
                while width_of(row, needed, draws[job], granted, bounds) == 0:
                    needed += 1
                free, reserved, ended = idle, now, 0
                while free < needed or (
                    ended < running and expected_times[ended] <= reserved
                ):  # all that are expected to end at that moment are idle then
                    reserved = max(reserved, expected_times[ended])
                    free += widths[expected_jobs[ended]]
                    ended += 1
                left = free - needed
                place = kept = front + 1
                phase = BACKFILL

        if phase == BACKFILL:
            while place < back and idle > 0:
                job = queue[place]
                kind = kinds[job]
                width = 0
                if least[kind] <= idle:
                    behind = min(back - place - 1, reach[kind])
                    row = rows[kind, behind] if behind < rows.shape[1] else -1
                    if row < 0:
                        outcome, counts[KIND], counts[BEHIND] = MISSING, kind, behind
                        break
                    width = width_of(row, idle, draws[job], granted, bounds)
                if width > 0:
                    width = backfill_width(
                        width,
                        idle,
                        left,
                        now,
                        reserved,
                        estimates[job],
                        least[kind],
                        most[kind],
                        stretch_start[kind],
                        stretch,
                        adjusts,
                    )
                place += 1
                if width == 0:
                    queue[kept] = job
                    kept += 1
                    continue
                slower = stretch[stretch_start[kind] + width - least[kind]]
                started[job], widths[job] = now, width
                expected[job] = now + estimates[job] * slower
                if expected[job] > reserved:
                    left -= width
                push_end(now + run_times[job] * slower, job, end_times, end_jobs, running)
                insert_expected(expected[job], job, expected_times, expected_jobs, running)
                running += 1
                idle -= width
            if outcome == MISSING:
                break
            if kept < place:
                while place < back:
                    queue[kept] = queue[place]
                    kept += 1
                    place += 1
                back = kept
            phase = EVENT
    counts[NEXT], counts[FRONT], counts[BACK], counts[RUNNING] = arriving, front, back, running
    counts[IDLE], counts[PHASE], counts[PLACE], counts[KEPT] = idle, phase, place, kept
    counts[EXTRA], clock[NOW], clock[RESERVED] = left, now, reserved
    return outcome
