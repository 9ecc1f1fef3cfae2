"""Simulate runs of the chain of counts between two levels of idle servers."""

from __future__ import annotations

from numba import njit


@njit(nogil=True, cache=True)
def follow(
    rng,
    jobs,
    idle,
    passed,
    lowest,
    lost,
    floor,
    ceiling,
    end,
    chances,
    blocked,
    arrival_rate,
    rates,
    widths,
    jumps,
):
    """Simulate runs, one after the other, until each reaches a floor, a ceiling or an end.

    Args:
        rng: a numpy generator.
        jobs: running jobs by run (row) and slot (a kind and a phase); updated.
        idle: idle servers of each run; updated.
        passed: to fill: time that each run took.
        lowest: to fill: fewest idle servers of each run.
        lost: to fill: time integral of the probability that an arrival is blocked.
        floor: a run stops at this number of idle servers, or fewer.
        ceiling: a run stops at this number of idle servers, or more.
        end: time at which a run stops.
        chances: cumulative probabilities of an arrival's outcomes, by idle servers (row) and slot;
            above the last: blocked.
        blocked: probability that an arrival is blocked, by idle servers.
        arrival_rate: of all classes.
        rates: rate at which a job in each slot completes its phase.
        widths: servers held in each slot.
        jumps: cumulative probabilities of the next phase, by slot (row); above the last: completed.
    """
    reach, slots, phases = blocked.size - 1, rates.size, jumps.shape[1]
    for run in range(idle.size):
        running, free, fewest = jobs[run], idle[run], idle[run]
        now, sum_lost = 0.0, 0.0
        while floor < free < ceiling and now < end:
            completing = 0.0
            for k in range(slots):
                completing += rates[k] * running[k]
            total = arrival_rate + completing
            stay, row = rng.standard_exponential() / total, min(free, reach)
            now += stay
            if now >= end:
                sum_lost += blocked[row] * (end - (now - stay))
                now = end
                break
            sum_lost += blocked[row] * stay
            u, k = rng.random() * total, 0
            if u < arrival_rate:
                u /= arrival_rate
                while k < slots and u >= chances[row, k]:
                    k += 1
                if k < slots:
                    running[k] += 1.0
                    free -= widths[k]
                    fewest = min(fewest, free)
                continue
            u -= arrival_rate
            while k < slots - 1 and u >= rates[k] * running[k]:
                u -= rates[k] * running[k]
                k += 1
            if running[k] == 0.0:
                continue  # rounding put u above the last job
            running[k] -= 1.0
            phase = phases
            if phases > 1:
                u, phase = rng.random(), 0
                while phase < phases and u >= jumps[k, phase]:
                    phase += 1
            if phase < phases:
                running[k - k % phases + phase] += 1.0
            else:
                free += widths[k]
        idle[run], passed[run], lowest[run], lost[run] = free, now, fewest, sum_lost
