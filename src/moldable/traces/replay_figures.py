"""Waiting, response, bounded slowdown and utilisation of the jobs of a schedule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, final

import numpy as np

from moldable.arrays import Floats, Ints, Mask
from moldable.system.estimate import Estimate, Interval
from moldable.traces.schedule import Schedule

SHORTEST: Final = 10.0
"""Run time in seconds below which a job counts as this long in the bounded slowdown."""
NOTICED: Final = 0.1
"""Relative change of a response time from which a job counts as earlier or later."""
CONFIDENCE: Final = 0.95


@final
@dataclass(frozen=True, slots=True)
class Figures:
    r"""Figures of the judged jobs; times are in seconds.

    Attributes:
        mean_wait: mean waiting time.
        median_wait: median waiting time.
        wait_95: 95th percentile of the waiting time.
        mean_response: mean of waiting plus execution time.
        bounded_slowdown: mean of response time / recorded run time, at least 1; run times below
            10 seconds count as 10 seconds.
        utilisation: share of the servers' time that is used between the first and the last
            submission of a judged job.
        mean_width: mean number of servers of a job.

    Examples:
        >>> _ = Path("log.csv").write_text("submit,run_time,servers\n0,60,4\n9,90,4\n9,90,2\n")
        >>> trace = read_trace("log.csv")
        >>> found = replay(trace, "greedy", servers=6, judged_from=0, copies=0)
        >>> found["rigid EASY"].figures.mean_wait.value
        17.0
    """

    mean_wait: Estimate
    median_wait: Estimate
    wait_95: Estimate
    mean_response: Estimate
    bounded_slowdown: Estimate
    utilisation: Estimate
    mean_width: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Return each figure with its interval."""
        return {each.name: as_pair(getattr(self, each.name)) for each in fields(self)}


@final
@dataclass(frozen=True, slots=True)
class ClassFigures:
    r"""Figures of the judged jobs of one class.

    Attributes:
        name: of the class.
        jobs: judged jobs.
        mean_wait: mean waiting time in seconds.
        mean_response: mean response time in seconds.
        bounded_slowdown: mean bounded slowdown.
        earlier: share of the jobs whose response time is more than 10 % below the baseline's.
        later: share of the jobs whose response time is more than 10 % above it.

    Examples:
        >>> _ = Path("log.csv").write_text("submit,run_time,servers\n0,60,4\n9,90,4\n9,90,2\n")
        >>> trace = read_trace("log.csv")
        >>> found = replay(trace, "greedy", servers=6, curves="linear", judged_from=0, seed=1)
        >>> found["greedy"].classes[0].jobs
        3
    """

    name: str
    jobs: int
    mean_wait: float
    mean_response: float
    bounded_slowdown: float
    earlier: float
    later: float


@final
@dataclass(frozen=True, eq=False)
class Times:
    """The judged jobs under one schedule.

    Attributes:
        wait: waiting times.
        response: response times.
        slowdown: bounded slowdowns.
        width: servers.
        utilisation: of the cluster, see `Figures`.
    """

    wait: Floats
    response: Floats
    slowdown: Floats
    width: Floats
    utilisation: float

    def figures(self) -> dict[str, float]:
        """Return the figures of this schedule by name."""
        return {
            "mean_wait": float(self.wait.mean()),
            "median_wait": float(np.median(self.wait)),
            "wait_95": float(np.quantile(self.wait, 0.95)),
            "mean_response": float(self.response.mean()),
            "bounded_slowdown": float(self.slowdown.mean()),
            "utilisation": self.utilisation,
            "mean_width": float(self.width.mean()),
        }


def times(
    submit: Floats, recorded: Floats, found: Schedule, servers: int, judged: slice | Mask
) -> Times:
    """Return the judged jobs under a schedule.

    Args:
        submit: times of submission of all jobs.
        recorded: run times in the log.
        found: the schedule.
        servers: of the cluster.
        judged: which jobs count.
    """
    wait = (found.start - submit)[judged]
    response = wait + found.run_time[judged]
    slowdown = np.maximum(response / np.maximum(recorded[judged], SHORTEST), 1.0)
    begin, end = float(submit[judged][0]), float(submit[judged][-1])
    inside = np.minimum(found.start + found.run_time, end) - np.maximum(found.start, begin)
    busy = float((np.maximum(inside, 0.0) * found.width).sum())
    share = busy / (servers * (end - begin)) if end > begin else math.nan
    return Times(wait, response, slowdown, found.width[judged].astype(np.float64), share)


def summarise(copies: Sequence[Times]) -> Figures:
    """Return the medians over several copies of a log, with their intervals."""
    found = [copy.figures() for copy in copies]
    return Figures(**{name: median([each[name] for each in found]) for name in found[0]})


def median(values: Sequence[float]) -> Estimate:
    """Return the median with a 95 % confidence interval from order statistics.

    The smallest and the largest of m values enclose the median of their distribution with
    probability 1 - 2**(1 - m), whatever it is. Below 6 values there is no interval.
    """
    ordered, count = sorted(values), len(values)
    trimmed, outside = -1, 0.0
    while outside <= 1.0 - CONFIDENCE:
        trimmed += 1
        outside += 2.0 * math.comb(count, trimmed) / 2.0**count
    interval: Interval | None = None
    if trimmed > 0:
        interval = (ordered[trimmed - 1], ordered[count - trimmed])
    return Estimate(float(np.median(ordered)), interval)


def share_earlier(response: Floats, baseline: Floats) -> float:
    """Return the share of jobs whose response time is more than 10 % below the baseline's."""
    return float(np.mean(response < (1.0 - NOTICED) * baseline))


def share_later(response: Floats, baseline: Floats) -> float:
    """Return the share of jobs whose response time is more than 10 % above the baseline's."""
    return float(np.mean(response > (1.0 + NOTICED) * baseline))


def by_class(
    names: Sequence[str], labels: Ints, found: Times, baseline: Times
) -> tuple[ClassFigures, ...]:
    """Return the figures of each class that has judged jobs."""
    parts = []
    for place, name in enumerate(names):
        own = labels == place
        if own.any():
            response, before = found.response[own], baseline.response[own]
            parts.append(
                ClassFigures(
                    name,
                    int(own.sum()),
                    float(found.wait[own].mean()),
                    float(response.mean()),
                    float(found.slowdown[own].mean()),
                    share_earlier(response, before),
                    share_later(response, before),
                )
            )
    return tuple(parts)


def as_pair(figure: Estimate) -> dict[str, Any]:
    """Return a figure and its interval, ready for JSON."""
    value = figure.value if math.isfinite(figure.value) else None
    interval = None if figure.interval is None or value is None else list(figure.interval)
    return {"value": value, "interval": interval}
