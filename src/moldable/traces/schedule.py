"""Start times and widths of the jobs of a log under a policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.errors import SimulationError
from moldable.traces.decision_rows import DecisionRows

DISCIPLINES: Final = ("easy", "fcfs")


@final
@dataclass(frozen=True, eq=False)
class Submissions:
    """Jobs in the order of submission, as a scheduler sees them.

    Attributes:
        submit: times of submission, ascending.
        run_time: on the requested servers.
        estimate: the user's estimate of the run time.
        draw: a uniform number for each job, which chooses among random widths.
    """

    submit: Floats
    run_time: Floats
    estimate: Floats
    draw: Floats

    def __len__(self) -> int:
        return int(self.submit.size)

    def up_to(self, end: int) -> Submissions:
        """Return the first jobs."""
        parts = (self.submit, self.run_time, self.estimate, self.draw)
        return Submissions(*(part[:end] for part in parts))


@final
@dataclass(frozen=True, eq=False)
class Schedule:
    """The schedule of the jobs.

    Attributes:
        start: time at which each job starts.
        run_time: its execution time.
        width: its servers.
        longest_queue: most jobs that waited at once.
    """

    start: Floats
    run_time: Floats
    width: Ints
    longest_queue: int


def schedule(jobs: Submissions, decisions: DecisionRows, discipline: str) -> Schedule:
    """Schedule the jobs under a policy, "fcfs" or "easy", see `kernels.replay`."""
    from moldable.kernels import replay as kernel  # noqa: PLC0415 - numba takes a while to load

    count, servers, kinds = len(jobs), decisions.servers, decisions.kinds
    least, most, first, stretch = kinds.stretches
    started, width, expected = np.zeros(count), np.zeros(count, np.int64), np.zeros(count)
    queue = np.zeros(count, np.int64)
    slots = min(servers, count) + 1
    ends, expectations = np.zeros(slots), np.zeros(slots)
    end_jobs, expected_jobs = np.zeros(slots, np.int64), np.zeros(slots, np.int64)
    counts, clock = np.zeros(12, np.int64), np.zeros(2)
    counts[kernel.IDLE] = servers
    outcome = kernel.MISSING
    while outcome == kernel.MISSING:
        outcome = kernel.replay_jobs(
            jobs.submit,
            jobs.run_time,
            jobs.estimate,
            kinds.of_job[:count],
            jobs.draw,
            least,
            most,
            first,
            stretch,
            decisions.reach,
            decisions.rows,
            decisions.granted,
            decisions.bounds,
            discipline == "easy",
            not decisions.policy.strict,
            started,
            width,
            expected,
            queue,
            ends,
            end_jobs,
            expectations,
            expected_jobs,
            counts,
            clock,
        )
        if outcome == kernel.MISSING:
            decisions.add(int(counts[kernel.KIND]), int(counts[kernel.BEHIND]))
    if outcome == kernel.STUCK:
        raise SimulationError(f"policy {decisions.policy.name} starts no job on idle servers")
    kind = kinds.of_job[:count]
    run_time = jobs.run_time * stretch[first[kind] + width - least[kind]]
    return Schedule(started, run_time, width, int(counts[kernel.LONGEST]))
