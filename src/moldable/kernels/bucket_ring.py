"""Simulate a loss system with any size distributions and any arrivals.

An arrival only needs the number of idle servers, so departures between two arrivals need no order.
Running jobs are kept in unordered lists, one for each bucket of a ring of time buckets about as
wide as the time between arrivals. A job that departs later than one turn of the ring stays in its
bucket until its turn. Departures are processed only when the policy could distinguish the states,
so in between the idle counts kept here are lower bounds. `bucket_ring` takes all random numbers as
arrays; `draw_and_run` fills those arrays itself for most arrivals and size distributions, so that
threads need not wait for Python's lock.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

CURSOR, FREE = 0, 1
ONE, TWO, THREE, FOUR, FIVE = [np.uint64(i) for i in range(1, 6)]
NOW, FIRST, LEVEL, LEFT = range(4)
EXPONENTIAL, DETERMINISTIC, LOGNORMAL, PARETO, WEIBULL, LISTED, PHASES, GRID = range(8)
PIECES, IN_PYTHON = 8, 9


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
        times: arrival times in bucket widths, ascending, not before those of earlier calls.
        sizes: their sizes, of unit mean.
        labels: their classes; empty if there is one class.
        picks: uniform numbers that choose the width; empty if the policy is deterministic.
        threshold: probability of the first outcome of each table entry.
        first: outcome below the threshold: a kind of job, or negative if the job is blocked.
        second: outcome above it.
        table_start: first entry of each class.
        columns: entries in a row.
        reach: last row of each class's table.
        pool_of: the pool of servers of each class.
        pool_of_kind: the same for each kind of job.
        widths: servers held by each kind.
        scales: mean execution time of each kind, in bucket widths.
        heads: first job in each bucket, -1 if none; their number is a power of two.
        following: next job in the same bucket.
        departure: departure time of each job, in bucket widths.
        duration: execution time of each job; empty if it is not needed.
        kind: of each job.
        free: stack of unused jobs.
        cursors: the next bucket to empty, and the number of unused jobs.
        idle: servers of each pool known to be idle.
        granted: incremented: jobs of each kind.
        booked: incremented: execution time of each kind, booked at arrival.
        blocked: incremented: blocked jobs of each class.
    """
    # Unsigned indices avoid the test for negative ones; the idle count of a single pool stays in a
    # register. Together they save a quarter of the time.
    mask, unused = np.uint64(heads.size - 1), np.uint64(cursors[FREE])
    cursor = cursors[CURSOR]
    one_class, no_draw, forget = labels.size == 0, picks.size == 0, duration.size == 0
    one_pool, pool, label, known = idle.size == 1, 0, 0, idle[0]
    for i in range(times.size):
        now = times[i]
        if not one_class:
            label = labels[i]
            pool = pool_of[label]
        if not one_pool:
            known = idle[pool]
        # Above `reach` more idle servers change nothing, so departures are processed later.
        if known < reach[label]:
            present = np.int64(now)
            if present - cursor > np.int64(mask):
                cursor = present - np.int64(mask) - 1  # one turn empties every bucket
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
                            k = np.uint64(kind[place])
                            if one_pool:
                                known += widths[k]
                            else:
                                idle[pool_of_kind[k]] += widths[k]
                            free[unused] = job
                            unused += ONE
                        else:
                            following[place] = kept
                            kept = job
                        job = after
                    heads[slot] = kept
                cursor += 1
            cursor = present
            if not one_pool:
                known = idle[pool]

        row = min(known, reach[label])
        drawn = 0.0 if no_draw else picks[i] * columns
        column = min(np.int64(drawn), columns - 1)
        entry = np.uint64(table_start[label] + row * columns + column)
        granted_kind = first[entry] if drawn - column < threshold[entry] else second[entry]
        if granted_kind < 0:
            blocked[label] += 1
            continue
        k = np.uint64(granted_kind)
        run = sizes[i] * scales[k]
        end = now + run
        unused -= ONE
        job = free[unused]
        place = np.uint64(job)
        departure[place] = end
        kind[place] = granted_kind
        if not forget:
            duration[place] = run
        slot = np.uint64(np.int64(end)) & mask
        following[place] = heads[slot]
        heads[slot] = job
        known -= widths[k]
        if not one_pool:
            idle[pool] = known
        granted[k] += 1
        booked[k] += run
    if one_pool:
        idle[0] = known
    cursors[CURSOR], cursors[FREE] = cursor, np.int64(unused)


@njit(nogil=True, cache=True)
def draw_phases(rng, sizes, begin, stay, jumps):
    """Fill `sizes` from a phase-type distribution.

    `begin` are the cumulative probabilities of the first phase, `stay` the mean time in each phase,
    and `jumps` the cumulative probabilities of the next phase (columns); above the last: completed.
    """
    count = stay.size
    for i in range(sizes.size):
        u, phase = rng.random(), 0
        while u >= begin[phase] and phase < count - 1:
            phase += 1
        size = 0.0
        while phase < count:
            size += stay[phase] * rng.standard_exponential()
            u, row, phase = rng.random(), phase, 0
            while phase < count and u >= jumps[row, phase]:
                phase += 1
        sizes[i] = size


@njit(nogil=True, cache=True)
def look_up_grid(sizes, table):
    """Replace standard exponential numbers by quantiles.

    The table holds how many bits of a number stand below that of its cell, the number of the first
    cell, and the cubic of each cell, constant first.
    """
    shift, first = np.uint64(table[0]), np.int64(table[1])
    last, rest, unit = table.size // 4 - 1, (ONE << shift) - ONE, 0.5 ** table[0]
    words = sizes.view(np.uint64)
    for i in range(sizes.size):
        word = words[i]
        cell = min(max(np.int64(word >> shift) - first, 0), last)
        share = np.float64(np.int64(word & rest)) * unit
        at = np.uint64(2 + 4 * cell)
        slope = table[at + ONE] + share * (table[at + TWO] + share * table[at + THREE])
        sizes[i] = table[at] + share * slope


@njit(nogil=True, cache=True)
def look_up_pieces(sizes, table):
    """Replace standard exponential numbers by quantiles, whose logarithms are cubic in pieces.

    The table holds how many bits of a number stand below that of its cell, the number of the first
    cell, the number of cells, the piece in which each begins and the last one ends; then for each
    piece its beginning, one over its length, and its cubic, constant first.
    """
    shift, first, last = np.uint64(table[0]), int(table[1]), int(table[2]) - 1
    begin, words = last + 5, sizes.view(np.uint64)
    for i in range(sizes.size):
        number = sizes[i]
        cell = min(max(int(words[i] >> shift) - first, 0), last)
        low, high = int(table[3 + cell]), int(table[4 + cell])
        while low < high:
            middle = (low + high + 1) >> 1
            if table[begin + 6 * middle] <= number:
                low = middle
            else:
                high = middle - 1
        at = np.uint64(begin + 6 * low)
        share = max((number - table[at]) * table[at + ONE], 0.0)
        slope = table[at + THREE] + share * (table[at + FOUR] + share * table[at + FIVE])
        sizes[i] = math.exp(table[at + TWO] + share * slope)


@njit(nogil=True, cache=True)
def draw_sizes(rng, sizes, code, location, scale, numbers):
    """Fill an array with draws from one distribution.

    Args:
        rng: a numpy generator.
        sizes: to fill.
        code: of the distribution, see above; what is drawn in Python is left alone.
        location: mean of a lognormal's logarithm, logarithm of a Pareto's least value, or one over
            a Weibull's shape.
        scale: standard deviation of a lognormal's logarithm, one over a Pareto's shape, or a
            Weibull's scale.
        numbers: the table of `look_up_grid` or `look_up_pieces`, or equally likely sizes, or
            `begin`, `stay` and `jumps` of `draw_phases`.
    """
    if code == DETERMINISTIC:
        sizes[:] = 1.0
    elif code == LOGNORMAL:
        for i in range(sizes.size):
            sizes[i] = math.exp(location + scale * rng.standard_normal())
    elif code == PARETO:
        for i in range(sizes.size):
            sizes[i] = math.exp(location + scale * rng.standard_exponential())
    elif code == WEIBULL:
        for i in range(sizes.size):
            sizes[i] = scale * rng.standard_exponential() ** location
    elif code == LISTED:
        for i in range(sizes.size):
            # The largest number below 1 times a count rounds to below the count.
            sizes[i] = numbers[np.uint64(rng.random() * numbers.size)]
    elif code == PHASES:
        count = round(math.sqrt(1.0 + numbers.size)) - 1
        jumps = numbers[2 * count :].reshape(count, count)
        draw_phases(rng, sizes, numbers[:count], numbers[count : 2 * count], jumps)
    elif code != IN_PYTHON:
        for i in range(sizes.size):
            sizes[i] = rng.standard_exponential()
        if code == GRID:
            look_up_grid(sizes, numbers)
        elif code == PIECES:
            look_up_pieces(sizes, numbers)


@njit(nogil=True, cache=True)
def draw_by_class(rng, sizes, labels, codes, locations, scales, starts, numbers):
    """Fill `sizes` from the distribution of each job's class.

    `codes`, `locations` and `scales` are those of `draw_sizes` for each class; `numbers` holds the
    numbers of all classes, `starts` where each begins and the last ends.
    """
    # Drawn class by class, so that the distribution is not looked up for every job.
    places = np.zeros(codes.size + 1, np.int64)
    for i in range(labels.size):
        places[labels[i] + 1] += 1
    grouped = np.empty(sizes.size)
    for j in range(codes.size):
        places[j + 1] += places[j]
        own, part = grouped[places[j] : places[j + 1]], numbers[starts[j] : starts[j + 1]]
        draw_sizes(rng, own, codes[j], locations[j], scales[j], part)
    for i in range(labels.size):
        label = labels[i]
        sizes[i] = grouped[places[label]]
        places[label] += 1


@njit(nogil=True, cache=True)
def modulate(rng, times, clock, gaps, stays, jumps):
    """Turn standard exponential numbers into the arrival times of a Markov-modulated process.

    A number is the integral of the rate until the next arrival: what a stay in a level does not use
    is left for the next level. `gaps` are the mean times between arrivals in each level, `stays`
    the mean times in it, `jumps` cumulative probabilities of the next level (columns), and `clock`
    is explained in `draw_times`.
    """
    now, level, left = clock[NOW], int(clock[LEVEL]), clock[LEFT]
    for i in range(times.size):
        need = times[i]
        wait = need * gaps[level]
        # Not `wait >= left`: without arrivals in a level a gap is infinite, and 0 times it is NaN.
        while not wait < left:
            need -= left / gaps[level]
            now += left
            u, row, level = rng.random(), level, 0
            while u >= jumps[row, level] and level < stays.size - 1:
                level += 1
            left = stays[level] * rng.standard_exponential()
            wait = need * gaps[level]
        left -= wait
        now += wait
        times[i] = now
    clock[NOW], clock[LEVEL], clock[LEFT] = now, level, left


@njit(nogil=True, cache=True)
def draw_times(rng, times, clock, gap, law, levels):
    """Fill `times` with the next arrival times.

    Args:
        rng: a numpy generator.
        times: to fill.
        clock: state: time of the last arrival, the first gap in mean gaps (negative once it is over
            or if it is distributed as all others), the level and the time left in it.
        gap: mean time between arrivals.
        law: distribution of the gaps in mean gaps: the last arguments of `draw_sizes`.
        levels: the last arguments of `modulate`; empty if there is one level.
    """
    draw_sizes(rng, times, *law)
    if levels[0].size:
        modulate(rng, times, clock, *levels)
        return
    if clock[FIRST] >= 0.0:
        times[0] = clock[FIRST]
        clock[FIRST] = -1.0
    now = clock[NOW]
    for i in range(times.size):
        now += gap * times[i]
        times[i] = now
    clock[NOW] = now


@njit(nogil=True, cache=True)
def draw_jobs(rng, sizes, labels, picks, classes, laws):
    """Draw which jobs arrive.

    Args:
        rng: a numpy generator.
        sizes: to fill with sizes.
        labels: to fill with classes; may be empty.
        picks: to fill with uniform numbers; may be empty.
        classes: an alias table of the classes: thresholds, first and second classes; empty if
            `labels` are given.
        laws: the last arguments of `draw_by_class`; a single distribution is that of all classes.
    """
    threshold, first, second = classes
    if threshold.size:
        for i in range(labels.size):
            drawn = rng.random() * threshold.size
            column = np.uint64(drawn)
            below = drawn - column < threshold[column]
            labels[i] = first[column] if below else second[column]
    codes, locations, scales, _, numbers = laws
    if codes.size == 1:
        draw_sizes(rng, sizes, codes[0], locations[0], scales[0], numbers)
    else:
        draw_by_class(rng, sizes, labels, *laws)
    for i in range(picks.size):
        picks[i] = rng.random()


@njit(nogil=True, cache=True)
def draw_and_run(rng, jobs, arrived, arrivals, classes, laws, block, ring):
    """Draw and run a number of jobs, block after block, and add them to `arrived` by class.

    `arrivals`, `classes` and `laws` are the last arguments of `draw_times` and `draw_jobs`, `block`
    is memory for the first arguments of `bucket_ring`, and `ring` its other arguments.
    """
    while jobs > 0:
        count = min(jobs, block[0].size)
        jobs -= count
        # Empty arrays, which mean that nothing is chosen, stay empty.
        times, sizes = block[0][:count], block[1][:count]
        labels, picks = block[2][:count], block[3][:count]
        draw_times(rng, times, *arrivals)
        draw_jobs(rng, sizes, labels, picks, classes, laws)
        bucket_ring(times, sizes, labels, picks, *ring)
        arrived[0] += count - labels.size
        for i in range(labels.size):
            arrived[labels[i]] += 1
