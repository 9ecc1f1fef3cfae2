"""Journals of simulated clusters, in which a policy decides about every job.

They show how a report or a learning policy behaves, before a real cluster depends on it.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import numpy as np

from moldable.errors import InputError, WorkloadError
from moldable.live.journal import Entry
from moldable.model.arrivals import Poisson
from moldable.model.scenario import Scenario
from moldable.model.units import SECONDS
from moldable.policies.observation import Observation
from moldable.policies.policy import Policy
from moldable.simulation.drawn_jobs import Job, draw_jobs

__all__ = ["Job", "poisson_jobs", "rehearse", "write_journal"]


def seconds(scenario: Scenario) -> float:
    """Return the length of the scenario's unit of time; a second if it names none."""
    return 1.0 if scenario.time_unit is None else SECONDS[scenario.time_unit]


def poisson_jobs(
    scenario: Scenario, count: int, seed: int | np.random.SeedSequence, begin: float = 0.0
) -> Iterator[Job]:
    """Yield the jobs of a scenario with Poisson arrivals, in the order of their arrival.

    Args:
        scenario: the classes of the jobs, and their rates.
        count: number of jobs.
        seed: random seed.
        begin: time before the first arrival, in seconds.

    Examples:
        >>> jobs = list(poisson_jobs(Scenario.single([1, 1.8], 0.7, 8), 1000, seed=1))
        >>> len(jobs), 150 < jobs[-1].submitted < 210        # 5.6 arrivals per unit of time
        (1000, True)
    """
    if not isinstance(scenario.arrivals, Poisson):
        raise WorkloadError(f"{scenario.arrivals} arrivals cannot be rehearsed; use poisson")
    yield from draw_jobs(scenario, count, seed, seconds(scenario), begin)


def rehearse(
    scenario: Scenario, policy: Policy, jobs: Iterable[Job], plan: str = ""
) -> Iterator[Entry]:
    """Yield the journal of a cluster whose jobs run as the curves of the scenario say.

    Jobs start first come, first served; those for which there is no waiting place are blocked. A
    policy with a method `observe` is given each entry before the next decision.

    Args:
        scenario: the cluster as it is, which may differ from what the policy was made for.
        policy: decides by its method `grant`.
        jobs: in the order of their submission.
        plan: the plan's digest.

    Examples:
        >>> scenario = Scenario.single([1, 1.8], 0.7, 8)
        >>> jobs = poisson_jobs(scenario, 1000, seed=1)
        >>> entries = list(rehearse(scenario, FixedWidth(2), jobs))
        >>> granted = [entry.width for entry in entries if entry.event == "granted"]
        >>> len(granted) + sum(entry.event == "blocked" for entry in entries)
        1000
    """
    return iter(_Rehearsal(scenario, policy, plan).run(jobs))


class _Rehearsal:
    """A cluster in the middle of a rehearsal."""

    def __init__(self, scenario: Scenario, policy: Policy, plan: str) -> None:
        self.classes = scenario.workload.classes
        self.policy, self.plan = policy, plan
        self.idle, self.places = scenario.servers, scenario.waiting
        self.queue: deque[tuple[str, Job]] = deque()
        self.running: list[tuple[float, str, int, int, float]] = []

    def run(self, jobs: Iterable[Job]) -> Iterator[Entry]:
        observe = getattr(self.policy, "observe", None)
        for entry in self._entries(jobs):
            if observe is not None:
                observe(entry)
            yield entry

    def _entries(self, jobs: Iterable[Job]) -> Iterator[Entry]:
        for number, job in enumerate(jobs, start=1):
            while self.running and self.running[0][0] <= job.submitted:
                yield from self._end_one()
            name = str(number)
            self.queue.append((name, job))
            yield from self._start(job.submitted)
            if len(self.queue) > self.places:
                self.queue.pop()
                yield self._decision("blocked", job.submitted, name, job, 0, len(self.queue))
        while self.running:
            yield from self._end_one()

    def _end_one(self) -> Iterator[Entry]:
        time, name, j, width, started = heapq.heappop(self.running)
        self.idle += width
        yield Entry(
            time,
            "ended",
            name,
            self.classes[j].name,
            width,
            self.plan,
            started=started,
            state="completed",
        )
        yield from self._start(time)

    def _start(self, time: float) -> Iterator[Entry]:
        """Grant servers to the first jobs of the queue, until one gets none."""
        while self.queue:
            name, job = self.queue[0]
            job_class, behind = self.classes[job.job_class], len(self.queue) - 1
            width = self.policy.grant(job_class, Observation(self.idle, behind), job.u)
            if not width:
                return
            self.queue.popleft()
            yield self._decision("granted", time, name, job, width, behind)
            self.idle -= width
            end = time + job.size / job_class.speedup[width]
            heapq.heappush(self.running, (end, name, job.job_class, width, time))

    def _decision(  # noqa: PLR0917 - the fields of an entry
        self,
        event: Literal["granted", "blocked"],
        time: float,
        name: str,
        job: Job,
        width: int,
        waiting: int,
    ) -> Entry:
        class_name = self.classes[job.job_class].name
        return Entry(
            time,
            event,
            name,
            class_name,
            width,
            self.plan,
            idle=self.idle,
            waiting=waiting,
            submitted=job.submitted,
        )


def write_journal(path: Path | str, entries: Iterable[Entry]) -> None:
    """Write entries to a new journal, in the form of `Journal`.

    Examples:
        >>> scenario = Scenario.single([1, 1.8], 0.7, 8)
        >>> jobs = poisson_jobs(scenario, 100, seed=1)
        >>> write_journal("rehearsed.jsonl", rehearse(scenario, FixedWidth(2), jobs))
        >>> len(Path("rehearsed.jsonl").read_text().splitlines()) > 100
        True
    """
    path = Path(path)
    try:
        with path.open("xb") as file:
            file.writelines(entry.line() for entry in entries)
    except OSError as error:
        raise InputError(
            f"{path} cannot be written: {error.strerror}; choose another name"
        ) from None
