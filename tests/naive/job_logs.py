"""What a log says, job by job in plain Python."""

from __future__ import annotations

import statistics
from collections import Counter
from datetime import UTC, timedelta


def offered_load(jobs, servers):
    """Return the server-time of (submit, start, run time, width) jobs, over servers and span."""
    work = sum(run * width for _, _, run, width in jobs)
    submits = [job[0] for job in jobs]
    return work / (servers * (max(submits) - min(submits)))


def utilisation(jobs, servers):
    """Step through the changes of the servers in use between the first and last submission."""
    begin, end = min(job[0] for job in jobs), max(job[0] for job in jobs)
    changes = sorted(
        [(start, width) for _, start, _, width in jobs]
        + [(start + run, -width) for _, start, run, width in jobs]
    )
    used = area = 0.0
    at = begin
    for time, change in changes:
        inside = min(max(time, begin), end)
        area += used * (inside - at)
        at = inside
        used += change
    return area / (servers * (end - begin))


def peak(jobs):
    """Return the most servers in use, by looking right after each start."""
    return max(
        sum(width for _, start, run, width in jobs if start <= time < start + run)
        for _, time, _, _ in jobs
    )


def hourly(jobs, origin):
    """Return the rates by hour of the day and the dispersion of the counts of whole hours.

    The log is walked hour by hour of the local clock.
    """
    moments = [_later(origin, second) for second in sorted(job[0] for job in jobs)]
    begin, end = _instant(moments[0]), _instant(moments[-1])
    counts = Counter(_instant(_hour(moment)) for moment in moments)
    covered, arrivals, whole = Counter(), Counter(), []
    hour = _hour(moments[0])
    while _instant(hour) <= end:
        first, after = _instant(hour), _instant(_later(hour, 3600))
        covered[hour.hour] += (min(after, end) - max(first, begin)) / timedelta(hours=1)
        arrivals[hour.hour] += counts[first]
        if first >= begin and after <= end:
            whole.append(counts[first])
        hour = _later(hour, 3600)
    rates = [arrivals[h] / covered[h] if covered[h] else None for h in range(24)]
    return rates, statistics.variance(whole) / statistics.mean(whole)


def _instant(moment):
    """Return a date that can be compared also when the clock is put back."""
    return moment if moment.tzinfo is None else moment.astimezone(UTC)


def _hour(moment):
    return moment.replace(minute=0, second=0, microsecond=0)


def _later(moment, seconds):
    if moment.tzinfo is None:
        return moment + timedelta(seconds=seconds)
    return (moment.astimezone(UTC) + timedelta(seconds=seconds)).astimezone(moment.tzinfo)
