"""Naive version of the arrival times drawn in a kernel: whole paths first, then arrivals."""

from __future__ import annotations

import itertools


def renewals(gaps, mean):
    """Return the cumulative sums of the gaps."""
    return [mean * total for total in itertools.accumulate(gaps)]


def level_after(level, uniform, leaving):
    """Return the next level, chosen by a uniform number and the rates of leaving this one."""
    left = uniform * sum(leaving[level])
    for other, rate in enumerate(leaving[level]):
        if left < rate:
            return other
        left -= rate
    return len(leaving) - 1


def modulated(needs, rates, leaving, level, stays, uniforms):
    """Return arrival times, given every random number.

    Args:
        needs: the integral of the rate between two arrivals, for each arrival.
        rates: of arrivals in each level.
        leaving: rates of jumps between levels.
        level: the first.
        stays: in units of the mean stay.
        uniforms: that draw the next level.
    """
    path, start, work = [], 0.0, 0.0
    for stay, uniform in zip(stays, uniforms, strict=True):
        end = start + stay / sum(leaving[level])
        more = work + (end - start) * rates[level]
        path.append((start, work, more, rates[level]))
        start, work = end, more
        level = level_after(level, uniform, leaving)
    times = []
    for needed in itertools.accumulate(needs):
        start, before, _, rate = next(part for part in path if part[1] <= needed < part[2])
        times.append(start + (needed - before) / rate)
    return times
