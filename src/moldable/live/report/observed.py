"""Sums over the jobs of a live cluster, collected in one pass and in bounded memory."""

from __future__ import annotations

from array import array
from typing import Final, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.live.journal import Entry
from moldable.live.report.batches import UNKNOWN, Batches, Measured, ratio, share
from moldable.live.report.run_times import RunTimes
from moldable.live.running_jobs import RunningJobs
from moldable.model.scenario import Scenario

BUFFER: Final = 65_536
"""Records that are collected before they are added."""
COMPLETED: Final = "completed"
FEW: Final = 10
"""Jobs below which no interval is given."""


@final
class Observed:
    """What a cluster did with the jobs of a scenario's classes. All times are in seconds.

    A kind of job is a class at one of its widths; each class has one more for all other widths.

    Args:
        scenario: the plan's.
        grace: waits up to this many seconds count as zero.

    Attributes:
        kinds: class and width of each kind; width 0 stands for the others.
        begin, end: first and last time of a record; None before the first.
        decisions: jobs that were given a width, or blocked.
        outside: records of jobs of other classes.
        other_plans: decisions under another plan.
        tells_blocking, tells_waits: whether the source has blocked jobs, and waiting times.
    """

    def __init__(self, scenario: Scenario, grace: float, digest: str = "") -> None:
        self.classes = {each.name: j for j, each in enumerate(scenario.workload.classes)}
        self.grace, self.digest = grace, digest
        self.kinds: list[tuple[int, int]] = []
        self._kind: dict[tuple[str, int], int] = {}
        for name, j in self.classes.items():
            for width in (0, *scenario.workload.classes[j].speedup.widths.tolist()):
                self._kind[name, width] = len(self.kinds)
                self.kinds.append((j, width))
        self._owner: Ints = np.array([j for j, _ in self.kinds], dtype=np.int64)
        jobs = len(self.classes)
        # Series: jobs of each kind; then by class blocked jobs, waiting times, jobs that waited.
        self._blocked = len(self.kinds)
        self._waits, self._waited = self._blocked + jobs, self._blocked + 2 * jobs
        self._batches = Batches(self._blocked + 3 * jobs)
        self._runs = RunTimes(len(self.kinds))
        self._running = RunningJobs(scenario.servers)
        self._submitted, self._wait = array("d"), array("d")
        self._series, self._ended = array("q"), array("q")
        self._run, self._good = array("d"), array("d")
        self.begin: float | None = None
        self.end = 0.0
        self.decisions = self.outside = self.other_plans = 0
        self.tells_blocking = self.tells_waits = True

    def add(self, entry: Entry) -> None:
        """Add an entry of a journal."""
        time, name, event = entry.time, entry.job_class, entry.event
        if self.begin is None:
            self.begin = time
        self.end = max(self.end, time)  # processes that share a journal may write out of order
        own = self.classes.get(name)
        if own is None:
            self.outside += 1
        elif event == "ended":
            self._end(entry)
        else:
            self._decide(entry, own)

    def _decide(self, entry: Entry, own: int) -> None:
        assert entry.submitted is not None  # noqa: S101 - the reader has checked it
        self.decisions += 1
        if entry.plan != self.digest:
            self.other_plans += 1
        series = self._blocked + own
        if entry.event != "blocked":
            series = self.kind_of(entry.job_class, entry.width)
        self._submitted.append(entry.submitted)
        self._series.append(series)
        self._wait.append(entry.time - entry.submitted)
        if entry.event == "granted":
            self._running.granted(entry)
        if len(self._series) >= BUFFER:
            self._flush()

    def _end(self, entry: Entry) -> None:
        began = entry.started
        assert began is not None  # noqa: S101 - the reader has checked it
        known = self._running.ended(entry.job) is not None
        # Before the journal began only jobs that lasted until then are known.
        inside = began if known or self.begin is None else max(began, self.begin)
        self._ended.append(self.kind_of(entry.job_class, entry.width))
        self._run.append(max(entry.time - inside, 0.0))
        self._good.append(entry.state == COMPLETED)
        if len(self._ended) >= BUFFER:
            self._flush()

    def add_jobs(self, kinds: Ints, submit: Floats, wait: Floats) -> None:
        """Add decisions as arrays; see `kind_of`."""
        self.decisions += kinds.size
        self._decided(kinds, submit, wait)

    def add_runs(self, kinds: Ints, times: Floats, completed: Floats) -> None:
        """Add jobs that have ended as arrays."""
        self._runs.add(kinds, times, completed)

    def kind_of(self, name: str, width: int) -> int:
        """Return the kind of a job."""
        return self._kind.get((name, width), self._kind[name, 0])

    def _flush(self) -> None:
        series = np.array(self._series, dtype=np.int64)
        self._decided(series, np.array(self._submitted), np.array(self._wait))
        kinds = np.array(self._ended, dtype=np.int64)
        self._runs.add(kinds, np.array(self._run), np.array(self._good))
        for column in (self._series, self._submitted, self._wait):
            del column[:]
        for column in (self._ended, self._run, self._good):
            del column[:]

    def _decided(self, series: Ints, submit: Floats, wait: Floats) -> None:
        self._batches.add(series, submit, np.ones(series.size))
        granted = series < self._blocked
        owner = self._owner[series[granted]]
        self._batches.add(self._waits + owner, submit[granted], wait[granted])
        waited = (wait[granted] > self.grace).astype(np.float64)
        self._batches.add(self._waited + owner, submit[granted], waited)

    def finish(self) -> None:
        """Add what is left: buffered records, and the jobs that run."""
        self._flush()
        for job in self._running.all():
            self._runs.run_on(self.kind_of(job.job_class, job.width), self.end - job.started)

    @property
    def span(self) -> float:
        """Time from the first submission to the last."""
        return self._batches.span

    @property
    def lost_track(self) -> int:
        """Jobs whose end was not recorded."""
        return self._running.lost

    @property
    def off_plan(self) -> int:
        """Jobs at widths that the plan's curves do not have."""
        return sum(self.granted(k) for k, (_, width) in enumerate(self.kinds) if not width)

    def jobs_of(self, j: int) -> int:
        """Return the arrivals of a class."""
        return round(float(self._arrivals(j).sum()))

    def accepted(self, j: int) -> int:
        """Return the jobs of a class that were not blocked."""
        return round(float(self._accepted(j).sum()))

    def granted(self, kind: int) -> int:
        """Return how many jobs were given this class and width."""
        return round(float(self._batches.sums_of(kind).sum()))

    def completed(self, kind: int) -> int:
        """Return how many jobs of a kind completed."""
        return round(float(self._runs.completed[kind]))

    def arrival_rate(self, j: int) -> Measured:
        """Return the arrivals of a class per second."""
        total = sum(map(self.jobs_of, range(len(self.classes))))
        if self.jobs_of(j) < FEW or not self.span:
            return UNKNOWN
        found = ratio(self._arrivals(j), self._batches.times())
        # Observation begins and ends with an arrival, so one of them says nothing about the rate.
        fewer = (total - 1.0) / total
        low, high = found.interval or (found.value, found.value)
        interval = None if found.interval is None else (low * fewer, high * fewer)
        return found._replace(value=found.value * fewer, interval=interval)

    def blocking(self, j: int) -> Measured:
        """Return the share of a class's jobs that were blocked."""
        return self._share(self._batches.sums_of(self._blocked + j), self._arrivals(j))

    def wait_probability(self, j: int) -> Measured:
        """Return the share of a class's accepted jobs that waited."""
        return self._share(self._batches.sums_of(self._waited + j), self._accepted(j))

    def mean_wait(self, j: int) -> Measured:
        """Return the mean wait of a class's accepted jobs."""
        jobs = self._accepted(j)
        if float(jobs.sum()) < FEW:
            return UNKNOWN
        return ratio(self._batches.sums_of(self._waits + j), jobs, correlated=True)

    def width_share(self, kind: int) -> Measured:
        """Return the share of a class's accepted jobs that got this width."""
        return self._share(self._batches.sums_of(kind), self._accepted(self.kinds[kind][0]))

    def execution_time(self, kind: int) -> Measured:
        """Return the mean execution time of a class at a width."""
        return self._runs.mean(kind)

    def _share(self, events: Floats, trials: Floats) -> Measured:
        total = float(trials.sum())
        if total < FEW:
            return UNKNOWN
        # Jobs that arrive within a mean execution time find much the same cluster.
        run = float(self._runs.exposure.sum()) / max(float(self._runs.completed.sum()), 1.0)
        cluster = 1.0 + total * run / self.span if self.span else total
        return share(events, trials, min(cluster, total))

    def _arrivals(self, j: int) -> Floats:
        return self._batches.sums_of(self._blocked + j, *self._own(j))

    def _accepted(self, j: int) -> Floats:
        return self._batches.sums_of(*self._own(j))

    def _own(self, j: int) -> list[int]:
        return np.flatnonzero(self._owner == j).tolist()
