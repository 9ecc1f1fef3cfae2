"""The distributions of run times, waits and widths of recorded jobs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from moldable.arrays import Floats
from moldable.base_result import finite
from moldable.traces.trace import Trace

LEVELS: Final = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
HIGH: Final = 0.95


@final
@dataclass(frozen=True, slots=True)
class Distribution:
    r"""A distribution of recorded times, in seconds.

    Attributes:
        mean: their mean.
        cv: coefficient of variation, standard deviation / mean.
        quantiles: by level.
        edges: ends of the bins of a histogram, powers of two.
        counts: jobs in each bin.

    Examples:
        >>> _ = Path("log.csv").write_text("submit,run_time,servers\n0,60,2\n30,90,4\n")
        >>> summarise(read_trace("log.csv")).classes[0].run_time.mean
        75.0
    """

    mean: float
    cv: float
    quantiles: Mapping[float, float]
    edges: tuple[float, ...]
    counts: tuple[int, ...]

    @staticmethod
    def of(times: Floats) -> Distribution:
        """Describe positive times."""
        low, high = (math.floor(math.log2(float(end))) for end in (times.min(), times.max()))
        edges = 2.0 ** np.arange(low, high + 2)
        counts = np.histogram(times, edges)[0]
        mean = float(times.mean())
        levels = np.quantile(times, LEVELS)
        return Distribution(
            mean=mean,
            cv=float(times.std() / mean),
            quantiles=dict(zip(LEVELS, levels.tolist(), strict=True)),
            edges=tuple(edges.tolist()),
            counts=tuple(counts.tolist()),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        return {
            "mean": self.mean,
            "cv": self.cv,
            "quantiles": {f"{level:g}": value for level, value in self.quantiles.items()},
            "histogram": {"edges": list(self.edges), "counts": list(self.counts)},
        }


@final
@dataclass(frozen=True, slots=True)
class Waits:
    r"""Recorded waits, in seconds, of the jobs whose start is known.

    Attributes:
        jobs: how many these are.
        mean: their mean.
        median: their median.
        high: the wait that 95 % of them do not exceed.
        longest: the longest of them.

    Examples:
        >>> _ = Path("log.csv").write_text("submit,wait,run_time,servers\n0,5,60,2\n9,15,90,4\n")
        >>> summarise(read_trace("log.csv")).waits.mean
        10.0
    """

    jobs: int
    mean: float
    median: float
    high: float
    longest: float

    @staticmethod
    def of(waits: Floats) -> Waits | None:
        """Describe waits; None if none is known."""
        known = waits[~np.isnan(waits)]
        if not known.size:
            return None
        median, high = np.quantile(known, (0.5, HIGH)).tolist()
        return Waits(int(known.size), float(known.mean()), median, high, float(known.max()))

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, ready for JSON."""
        names = ("jobs", "mean", "median", "high", "longest")
        return {name.replace("high", "quantile_95"): getattr(self, name) for name in names}


@final
@dataclass(frozen=True, slots=True)
class ClassSummary:
    r"""The jobs of one class.

    Attributes:
        name: name of the class.
        jobs: how many there are.
        work_share: share of the server-time of all jobs.
        arrival_rate: jobs per second; NaN if all were submitted at the same time.
        interarrival_cv: coefficient of variation of the times between submissions; 1 for Poisson
            arrivals.
        run_time: distribution of the run times.
        widths: number of jobs by width.
        waits: recorded waits, if known.
        estimate_ratio: median of run time / requested time, if known.

    Examples:
        >>> _ = Path("log.csv").write_text("submit,run_time,servers\n0,60,2\n30,90,4\n")
        >>> summarise(read_trace("log.csv")).classes[0].widths
        {2: 1, 4: 1}
    """

    name: str
    jobs: int
    work_share: float
    arrival_rate: float
    interarrival_cv: float
    run_time: Distribution
    widths: Mapping[int, int]
    waits: Waits | None
    estimate_ratio: float | None

    @property
    def mean_width(self) -> float:
        """Mean number of servers of a job."""
        return sum(width * jobs for width, jobs in self.widths.items()) / self.jobs

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        return {
            "name": self.name,
            "jobs": self.jobs,
            "work_share": self.work_share,
            "arrival_rate": finite(self.arrival_rate),
            "interarrival_cv": finite(self.interarrival_cv),
            "run_time": self.run_time.to_dict(),
            "mean_width": self.mean_width,
            "widths": {str(width): jobs for width, jobs in self.widths.items()},
            "waits": None if self.waits is None else self.waits.to_dict(),
            "estimate_ratio": self.estimate_ratio,
        }


def class_summary(trace: Trace, index: int, span: float, work: float) -> ClassSummary:
    """Describe the jobs of one class.

    Args:
        trace: the log.
        index: of the class.
        span: seconds from the first submission of the log to the last.
        work: server-time of all jobs of the log.
    """
    part = trace.select(np.flatnonzero(trace.job_class == index))
    widths, jobs = np.unique(part.servers, return_counts=True)
    ratios = part.run_time / part.requested_time
    known = ratios[~np.isnan(ratios)]
    return ClassSummary(
        name=trace.classes[index],
        jobs=len(part),
        work_share=float((part.run_time * part.servers).sum()) / work,
        arrival_rate=rate(len(part), span),
        interarrival_cv=interarrival_cv(part.submit),
        run_time=Distribution.of(part.run_time),
        widths=dict(zip(widths.tolist(), jobs.tolist(), strict=True)),
        waits=Waits.of(part.wait),
        estimate_ratio=float(np.median(known)) if known.size else None,
    )


def rate(jobs: int, span: float) -> float:
    """Return jobs per second; NaN if all were submitted at the same time."""
    return jobs / span if span > 0.0 else math.nan


def interarrival_cv(submit: Floats) -> float:
    """Return the coefficient of variation of the times between submissions."""
    gaps = np.diff(submit)
    if gaps.size < 2 or gaps.sum() <= 0.0:  # noqa: PLR2004 - a variance needs two
        return math.nan
    return float(gaps.std() / gaps.mean())
