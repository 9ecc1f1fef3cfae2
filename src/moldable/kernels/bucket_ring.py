"""How does a loss system move for any sizes and any arrivals?

A loss system only asks, at each arrival, how many servers are idle; departures between two arrivals
need no order. So running jobs hang in unordered lists from a ring of time buckets about as wide as
the time between arrivals. A job further ahead than the ring's span stays where it is until its turn
of the ring comes. Departures are looked up only when the policy could tell the difference, so the
idle counts kept here are lower bounds between such times. All random numbers come in as arrays; for
Poisson arrivals and most laws of sizes `drawn_ring` fills those arrays itself, block after block,
so that threads do not wait for one another's turn to run Python.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

CURSOR, FREE = 0, 1
ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)
EXPONENTIAL, DETERMINISTIC, LOGNORMAL, PARETO, WEIBULL, LISTED, PHASES, QUANTILES = range(8)


@njit(nogil=True, cache=True)
def hang(granted, durations, widths, heads, following, departure, kind, free, cursors):
    """Let jobs of one kind run from time 0 on; the arrays are those of `bucket_ring`.

    Returns the servers they hold.
    """
    mask, unused = heads.size - 1, cursors[FREE]
    for i in range(durations.size):
        unused -= 1
        job = free[unused]
        departure[job] = durations[i]
        kind[job] = granted
        slot = np.int64(durations[i]) & mask
        following[job] = heads[slot]
        heads[slot] = job
    cursors[FREE] = unused
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
        idle: servers of each pool known to be idle.
        granted: jobs of each kind, counted on.
        booked: run time of each kind, summed on at arrival.
        blocked: jobs of each class, counted on.
    """
    # Unsigned indices spare the test for negative ones; the idle count of a single pool stays in a
    # register. Together they are worth a quarter of the time.
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
        # Beyond `reach` more idle servers change nothing, so departures wait until they matter.
        if known < reach[label]:
            present = np.int64(now)
            if present - cursor > np.int64(mask):
                cursor = present - np.int64(mask) - 1  # nothing hangs back more than one turn
            while cursor <= present:
                slot = np.uint64(cursor) & mask
                job = heads[slot]
                if job >= 0:
                    # Past buckets are emptied of this turn's jobs, the present one up to now:
                    # a job that departs at the very moment of an arrival makes room for it.
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
    """Fill `sizes` with draws of a phase-type law.

    Args:
        rng: a numpy generator.
        sizes: to fill.
        begin: cumulative probabilities of the first phase.
        stay: mean time in each phase.
        jumps: cumulative probabilities of the next phase, a row for each; beyond the last: done.
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
def look_up(sizes, table):
    """Turn standard exponential numbers into the quantiles that a table has for them.

    Args:
        sizes: the numbers, to overwrite.
        table: how many bits of a number stand below that of its cell, the number of the first cell,
            and the cubic of each cell, constant first.
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
def draw_sizes(rng, sizes, law, location, scale, numbers):
    """Fill an array with draws of one law.

    Args:
        rng: a numpy generator.
        sizes: to fill.
        law: one of the codes above.
        location: mean of a lognormal's logarithm, logarithm of a Pareto's least value, or one over
            a Weibull's shape.
        scale: deviation of a lognormal's logarithm, one over a Pareto's shape, or a Weibull's
            scale.
        numbers: the table of `look_up`, or equally likely sizes, or `begin`, `stay` and `jumps` of
            `draw_phases`.
    """
    if law == DETERMINISTIC:
        sizes[:] = 1.0
    elif law == LOGNORMAL:
        for i in range(sizes.size):
            sizes[i] = math.exp(location + scale * rng.standard_normal())
    elif law == PARETO:
        for i in range(sizes.size):
            sizes[i] = math.exp(location + scale * rng.standard_exponential())
    elif law == WEIBULL:
        for i in range(sizes.size):
            sizes[i] = scale * rng.standard_exponential() ** location
    elif law == LISTED:
        for i in range(sizes.size):
            # The largest number below 1 times a count rounds to less than the count.
            sizes[i] = numbers[np.uint64(rng.random() * numbers.size)]
    elif law == PHASES:
        count = round(math.sqrt(1.0 + numbers.size)) - 1
        jumps = numbers[2 * count :].reshape(count, count)
        draw_phases(rng, sizes, numbers[:count], numbers[count : 2 * count], jumps)
    else:
        for i in range(sizes.size):
            sizes[i] = rng.standard_exponential()
        if law == QUANTILES:
            look_up(sizes, numbers)


@njit(nogil=True, cache=True)
def draw_by_class(rng, sizes, labels, codes, locations, scales, starts, numbers):
    """Fill `sizes` with draws of the law of each job's class.

    Draws are made class by class, so that no job has to wait for the choice of its law.

    Args:
        rng: a numpy generator.
        sizes: to fill.
        labels: classes of the jobs.
        codes: the law of each class; `locations` and `scales` likewise.
        locations: see `draw_sizes`.
        scales: see `draw_sizes`.
        starts: where the numbers of each class begin, and where the last end.
        numbers: of all classes, one after the other.
    """
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
def draw_block(rng, times, sizes, labels, picks, now, gap, classes, laws):
    """Fill the arrays and return the time of the last arrival.

    Args:
        rng: a numpy generator.
        times: to fill with arrival times after `now`.
        sizes: to fill with sizes.
        labels: to fill with classes, as far as it is long.
        picks: to fill with uniform numbers, as far as it is long.
        now: time of the arrival before the first.
        gap: mean time between arrivals.
        classes: equally likely columns to draw a class from: the share of the first of two classes,
            that class, and the other.
        laws: the arguments of `draw_by_class`; a single law is that of all classes.
    """
    for i in range(times.size):
        now += gap * rng.standard_exponential()
        times[i] = now
    threshold, first, second = classes
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
    return now


@njit(nogil=True, cache=True)
def drawn_ring(rng, jobs, arrived, now, gap, classes, laws, block, ring):
    """Draw and run so many jobs, as many at a time as a block holds; return the last arrival.

    Args:
        rng: a numpy generator.
        jobs: how many.
        arrived: jobs of each class, counted on.
        now: time of the arrival before the first.
        gap: see `draw_block`.
        classes: see `draw_block`.
        laws: see `draw_block`.
        block: memory for the first arguments of `bucket_ring`.
        ring: its other arguments.
    """
    while jobs > 0:
        count = min(jobs, block[0].size)
        jobs -= count
        # Empty arrays, which mean that there is no choice, stay empty.
        times, sizes, labels, picks = (
            block[0][:count],
            block[1][:count],
            block[2][:count],
            block[3][:count],
        )
        now = draw_block(rng, times, sizes, labels, picks, now, gap, classes, laws)
        bucket_ring(times, sizes, labels, picks, *ring)
        arrived[0] += count - labels.size
        for i in range(labels.size):
            arrived[labels[i]] += 1
    return now
