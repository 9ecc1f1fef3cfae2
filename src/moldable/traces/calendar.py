"""The arrivals of a log by hour of the day and day of the week."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.traces.trace import Trace

HOUR: Final = 3600.0
DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MOST_HOURS: Final = 500_000
"""Longest log whose hours are counted, 57 years."""


@final
@dataclass(frozen=True, slots=True)
class Period:
    """Arrivals in one hour of the day, or on one day of the week.

    Attributes:
        name: such as "13:00" or "Monday".
        rate: jobs per hour.
        dispersion: variance / mean of the jobs in one hour; 1 for Poisson arrivals, NaN if fewer
            than two whole hours are known.
    """

    name: str
    rate: float
    dispersion: float


@final
@dataclass(frozen=True, slots=True)
class Hours:
    """The hours of a log.

    Attributes:
        counts: arrivals in each hour.
        covered: the part of each hour that the log covers, which is 1 except for the first and the
            last.
        hour: hour of the day of each, from 0.
        weekday: day of the week of each, 0 is Monday.
    """

    counts: Ints
    covered: Floats
    hour: Ints
    weekday: Ints

    @property
    def dispersion(self) -> float:
        """Variance / mean of the arrivals in whole hours."""
        return _dispersion(self.counts[self.covered >= 1.0])

    def by_hour(self) -> tuple[Period, ...]:
        """Return the rate at each hour of the day."""
        return tuple(self._period(f"{h:02d}:00", self.hour == h) for h in range(24))

    def by_weekday(self) -> tuple[Period, ...]:
        """Return the rate on each day of the week."""
        return tuple(self._period(day, self.weekday == k) for k, day in enumerate(DAYS))

    def by_hour_of_week(self) -> Floats:
        """Return jobs per hour by weekday (rows) and hour; NaN where the log covers none."""
        place = self.weekday * 24 + self.hour
        counts = np.bincount(place, self.counts, 168)
        covered = np.bincount(place, self.covered, 168)
        rates: Floats = np.full(168, math.nan)
        np.divide(counts, covered, out=rates, where=covered > 0.0)
        return rates.reshape(7, 24)

    def _period(self, name: str, chosen: np.ndarray) -> Period:
        time = float(self.covered[chosen].sum())
        rate = float(self.counts[chosen].sum()) / time if time > 0.0 else math.nan
        return Period(name, rate, _dispersion(self.counts[chosen & (self.covered >= 1.0)]))


def hours_of(submit: Floats, origin: datetime | None) -> Hours | None:
    """Count arrivals by the hours of the local clock; None for an endless log.

    Args:
        submit: seconds since `origin`, ascending from 0.
        origin: date of second 0; without one, hours count from the first arrival.
    """
    span = float(submit[-1])
    if span / HOUR > MOST_HOURS:
        return None
    begin = 0.0 if origin is None else _into_hour(origin).total_seconds()
    local = submit + begin
    last = local[-1]
    total = int(last // HOUR) + 1
    counts = np.bincount((local // HOUR).astype(np.int64), minlength=total)
    covered = np.ones(total)
    covered[0] -= begin / HOUR
    covered[-1] -= 1.0 - (last - (total - 1) * HOUR) / HOUR
    hour, weekday = _clock(origin, total)
    return Hours(counts, covered, hour, weekday)


def _clock(origin: datetime | None, total: int) -> tuple[Ints, Ints]:
    """Return hour and weekday of consecutive hours, with daylight saving time where known."""
    if origin is None or origin.tzinfo is None:
        first = 0 if origin is None else origin.weekday() * 24 + origin.hour
        hours = first + np.arange(total)
        return hours % 24, hours // 24 % 7
    # Sums in a time zone ignore daylight saving time.
    begin = (origin - _into_hour(origin)).astimezone(UTC)
    moments = [(begin + timedelta(hours=k)).astimezone(origin.tzinfo) for k in range(total)]
    hour = np.array([moment.hour for moment in moments])
    return hour, np.array([moment.weekday() for moment in moments])


def _into_hour(moment: datetime) -> timedelta:
    return timedelta(minutes=moment.minute, seconds=moment.second, microseconds=moment.microsecond)


def first_date(trace: Trace) -> datetime | None:
    """Return the date of the first submission, if the log has dates."""
    origin, later = trace.origin, timedelta(seconds=float(trace.submit[0]))
    if origin is None or origin.tzinfo is None or not later:
        return None if origin is None else origin + later
    return (origin.astimezone(UTC) + later).astimezone(origin.tzinfo)


def week_rates(trace: Trace) -> Floats | None:
    """Return jobs per hour by weekday and hour of the day; None if the log has no dates."""
    begins = first_date(trace)
    hours = None if begins is None else hours_of(trace.submit - trace.submit[0], begins)
    return None if hours is None else hours.by_hour_of_week()


def _dispersion(counts: Ints) -> float:
    if counts.size < 2 or counts.sum() == 0:  # noqa: PLR2004 - a variance needs two
        return math.nan
    return float(counts.var(ddof=1) / counts.mean())
