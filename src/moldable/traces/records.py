"""The jobs of a log while it is read, and the rows that are left out."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, final

import numpy as np

from moldable.arrays import Floats, Ints, Mask
from moldable.errors import InputError
from moldable.traces.class_rule import UNKNOWN, merge_rare
from moldable.traces.trace import Skipped, Trace

MOST_JOBS: Final = 10_000_000
WIDEST: Final = 10**9
LONGEST: Final = 1e15
"""Largest time in seconds; squares of times are summed."""
SHORTEST: Final = 1e-6
"""Seconds below which a requested time is a mistake; ratios to it could overflow."""
MOST_EXAMPLES: Final = 3
MOST_DAMAGED: Final = 0.5
"""Share of damaged rows above which a file is refused."""
REQUEUE_DELAY: Final = 600.0
"""Seconds after the end of a job within which the same identifier means that it was requeued."""
LOCAL_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - logs are in local time
UTC_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
DAY: Final = 86_400.0
LONG_GAP: Final = 30.0 * DAY
"""A shorter time without submissions is not noted."""
EARLIER_RUN: Final = "earlier run of a requeued job"
NOT_FINISHED: Final = "not finished"
NEVER_STARTED: Final = "never started"
CANCELLED_EARLY: Final = "cancelled before it started"
NO_RUN_TIME: Final = "run time of 0 s"
NO_SERVERS: Final = "no servers recorded"
DUPLICATE: Final = "same job and submission as a later row"
EARLY_START: Final = "starts before its submission"
NEGATIVE_RUN: Final = "negative run time"
TOO_LARGE: Final = "a number that is too large"


@final
@dataclass(slots=True)
class _Names:
    """Texts that occur many times, as indices."""

    numbers: dict[str, int] = field(default_factory=dict)
    index: array[int] = field(default_factory=lambda: array("i"))

    def add(self, name: str) -> None:
        self.index.append(self.numbers.setdefault(name, len(self.numbers)))

    def taken(self, chosen: Ints) -> tuple[tuple[str, ...], Ints]:
        """Return the names that the chosen rows have, and the index of each of these rows."""
        used, index = np.unique(_ints(self.index)[chosen], return_inverse=True)
        names = list(self.numbers)
        return tuple(names[k] for k in used.tolist()), index.astype(np.int64)


@final
class JobRecords:
    """The accepted jobs of a log, in the order of its rows, and what was left out.

    Args:
        source: name of the file.
        units: what may be counted as servers; each job has a number for each of them.
        requeues: whether a later row of the same job replaces an earlier one.
    """

    def __init__(
        self, source: str, units: Sequence[str] = ("servers",), *, requeues: bool = False
    ) -> None:
        self.requeues = requeues
        self.source = source
        self.units = tuple(units)
        self.rows = 0
        self.notes: list[str] = []
        self._submit, self._start, self._run, self._limit = (array("d") for _ in range(4))
        self._lines = array("q")
        self._widths = [array("q") for _ in units]
        self._users, self._labels, self._states = _Names(), _Names(), _Names()
        self._seen: dict[str, int] = {}
        self._replaced: list[int] = []
        self._skipped: dict[str, list[str]] = {}
        self._counts: dict[str, int] = {}
        self._damaged: set[str] = set()

    def add(  # noqa: PLR0917 - called for every row; keywords take time
        self,
        line: int,
        job: str,
        submit: float,
        start: float,
        run_time: float,
        widths: Sequence[int],
        requested: float,
        user: str,
        label: str,
        state: str,
    ) -> None:
        """Add a job that ran."""
        if not (submit <= start or math.isnan(start)):
            self.damaged(EARLY_START, line, job)
            return
        if run_time <= 0.0:
            if run_time < 0.0:
                self.damaged(NEGATIVE_RUN, line, job)
            else:
                self.skip(NO_RUN_TIME, line, job)
            return
        too_wide = max(widths) > WIDEST or min(widths) < -WIDEST
        usual = abs(submit) <= LONGEST and run_time <= LONGEST and not start > LONGEST
        if too_wide or not usual:
            self.damaged(TOO_LARGE, line, job)
            return
        row = len(self._submit)
        if row >= MOST_JOBS:
            raise InputError(f"{self.source} has more than {MOST_JOBS:,} jobs; split the log")
        self._lines.append(line)
        self._submit.append(submit)
        self._start.append(start)
        self._run.append(run_time)
        self._limit.append(requested if SHORTEST <= requested <= LONGEST else math.nan)
        for column, width in zip(self._widths, widths, strict=True):
            column.append(width)
        self._users.add(user or UNKNOWN)
        self._labels.add(label)
        self._states.add(state)
        if self.requeues:
            earlier = self._seen.get(job)
            self._seen[job] = row
            if earlier is not None:
                self._replace(earlier, row, line, job)

    def _replace(self, earlier: int, row: int, line: int, job: str) -> None:
        if self._submit[earlier] == self._submit[row]:
            self.skip(DUPLICATE, line, job)
        elif self._submit[row] <= self._begin(earlier) + self._run[earlier] + REQUEUE_DELAY:
            self.skip(EARLIER_RUN, line, job)
        else:
            return  # identifiers are used again after some years
        self._replaced.append(earlier)

    def _begin(self, row: int) -> float:
        start = self._start[row]
        return self._submit[row] if math.isnan(start) else start

    def skip(self, reason: str, line: int, job: str = "") -> None:
        """Count a row that is not a job that ran."""
        examples = self._skipped.get(reason)
        if examples is None:
            examples = self._skipped[reason] = []
            self._counts[reason] = 0
        self._counts[reason] += 1
        if len(examples) < MOST_EXAMPLES:
            examples.append(f"line {line} (job {job})" if job else f"line {line}")

    def damaged(self, reason: str, line: int, job: str = "") -> None:
        """Count a row that is not what the format prescribes."""
        self._damaged.add(reason)
        self.skip(reason, line, job)

    def trace(
        self,
        *,
        unit: str,
        most_classes: int,
        capacity: int | None = None,
        origin: datetime | None = None,
        zone: tzinfo | None = None,
    ) -> Trace:
        """Return the jobs in the order of submission.

        Args:
            unit: which of the units is a server.
            most_classes: classes to keep; the rest are merged.
            capacity: servers of the cluster.
            origin: date of second 0 of the log, in local time or UTC.
            zone: the time zone to convert dates in UTC to.
        """
        submit = _floats(self._submit)
        chosen = self._chosen(unit)
        self._refuse_damaged(chosen.size)
        if (np.diff(submit[chosen]) < 0.0).any():
            self.notes.append("rows are not in the order of submission; they were sorted")
        chosen = chosen[np.argsort(submit[chosen], kind="stable")]
        self._note_gap(submit[chosen])
        first = float(submit[chosen[0]])
        users, user = self._users.taken(chosen)
        labels, label = self._labels.taken(chosen)
        classes, job_class = merge_rare(labels, label, most_classes)
        states, state = self._states.taken(chosen)
        skipped = sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))
        return Trace(
            submit=submit[chosen] - first,
            start=_floats(self._start)[chosen] - first,
            run_time=_floats(self._run)[chosen],
            servers=self._width(unit)[chosen],
            requested_time=_floats(self._limit)[chosen],
            users=users,
            user=user,
            classes=classes,
            job_class=job_class,
            states=states,
            state=state,
            capacity=capacity,
            origin=None if origin is None else _date(origin, first, zone),
            source=self.source,
            skipped=tuple(Skipped(why, n, tuple(self._skipped[why])) for why, n in skipped),
            server_unit=unit,
            notes=tuple(self.notes),
        )

    @property
    def typical_time(self) -> float:
        """The median time of submission; 0 without jobs."""
        return float(np.median(_floats(self._submit))) if self._submit else 0.0

    def share_with(self, unit: str) -> float:
        """Return the share of jobs that have at least one server in this unit."""
        widths = self._width(unit)
        return float((widths > 0).mean()) if widths.size else 0.0

    def _width(self, unit: str) -> Ints:
        return np.frombuffer(self._widths[self.units.index(unit)], dtype=np.int64)

    def _chosen(self, unit: str) -> Ints:
        """Return the rows that are jobs; those without servers are counted as skipped."""
        kept: Mask = np.ones(len(self._submit), dtype=np.bool_)
        kept[self._replaced] = False
        without = kept & (self._width(unit) < 1)
        if without.any():
            why = NO_SERVERS if unit == "servers" else f"no {unit}"
            for row in np.flatnonzero(without).tolist():
                self.skip(why, self._lines[row])
        return np.flatnonzero(kept & ~without)

    def _note_gap(self, submit: Floats) -> None:
        """Note a time without submissions that makes rates and loads meaningless."""
        span = float(submit[-1] - submit[0])
        gaps = np.diff(submit)
        if not gaps.size or (gap := float(gaps.max())) < max(LONG_GAP, 0.5 * span):
            return
        before = int(gaps.argmax()) + 1
        self.notes.append(
            f"nothing was submitted for {gap / DAY:,.0f} of {span / DAY:,.0f} days, after "
            f"{before:,} of {submit.size:,} jobs; rates and loads are means over all days: check "
            f"for a wrong clock, or leave out one of the parts"
        )

    def _refuse_damaged(self, jobs: int) -> None:
        """Refuse a file that is mostly damaged, and one without jobs."""
        damaged = sum(self._counts[why] for why in self._damaged)
        told = "; ".join(
            f"{why}: {_rows(self._counts[why])}"
            + (f", the first {examples[0]}" if examples else "")
            for why, examples in self._skipped.items()
            if damaged == 0 or why in self._damaged
        )
        if damaged > MOST_DAMAGED * max(self.rows, 1):
            raise InputError(
                f"{self.source}: {damaged:,} of {self.rows:,} rows are damaged ({told}); check the "
                f"format of the log"
            )
        if jobs == 0:
            found = f"{self.rows:,} rows, none is a job that ran ({told})" if told else "no jobs"
            raise InputError(f"{self.source} has {found}; check that this is a job log")


def _rows(number: int) -> str:
    return "1 row" if number == 1 else f"{number:,} rows"


def _floats(column: array[float]) -> Floats:
    return np.frombuffer(column, dtype=np.float64)


def _ints(column: array[int]) -> Ints:
    return np.frombuffer(column, dtype=np.int32).astype(np.int64)


def _date(origin: datetime, seconds: float, zone: tzinfo | None) -> datetime | None:
    try:
        # Aware dates are added to in UTC, since sums in a time zone ignore daylight saving time.
        moment = origin + timedelta(seconds=seconds)
        return moment if zone is None else moment.astimezone(zone)
    except (OverflowError, ValueError):  # not within the years 1 to 9999
        return None
