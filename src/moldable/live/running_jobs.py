"""The jobs that run according to a journal, in which the ends of some may be missing."""

from __future__ import annotations

from typing import Final, NamedTuple, final

from moldable.live.journal import Entry

REMEMBERED: Final = 1000
"""Jobs that are taken to have ended, of which an end can still come."""


class RunningJob(NamedTuple):
    """A job that was granted servers."""

    job_class: str
    width: int
    started: float


@final
class RunningJobs:
    """Jobs that were granted servers and have not ended.

    A job may end without an entry, for example while the agent does not run. Later decisions then
    see more idle servers than the known jobs leave, and the oldest ones are taken to have ended.

    Args:
        servers: number of servers.

    Attributes:
        lost: jobs whose end was not recorded.
    """

    def __init__(self, servers: int) -> None:
        self._servers, self._held, self.lost = servers, 0, 0
        self._jobs: dict[str, RunningJob] = {}
        self._gone: dict[str, None] = {}

    def granted(self, entry: Entry) -> list[RunningJob]:
        """Add a job, and return those that are taken to have ended before."""
        idle = entry.idle or 0
        self._servers = max(self._servers, idle)  # more may be used than were planned
        gone = []
        if entry.job in self._jobs:  # of an earlier program, which numbered its jobs alike
            gone.append(self._lose(entry.job))
        while self._held > self._servers - idle:
            gone.append(self._lose(next(iter(self._jobs))))
        self._jobs[entry.job] = RunningJob(entry.job_class, entry.width, entry.time)
        self._held += entry.width
        return gone

    def ended(self, job: str) -> RunningJob | None:
        """Remove a job, and return it if it was known to run."""
        if job in self._jobs:
            return self._remove(job)
        if job in self._gone:
            del self._gone[job]
            self.lost -= 1
        return None

    def all(self) -> list[RunningJob]:
        """Return the jobs, the oldest first."""
        return [*self._jobs.values()]

    def _remove(self, job: str) -> RunningJob:
        found = self._jobs.pop(job)
        self._held -= found.width
        return found

    def _lose(self, job: str) -> RunningJob:
        self.lost += 1
        self._gone[job] = None
        if len(self._gone) > REMEMBERED:
            del self._gone[next(iter(self._gone))]
        return self._remove(job)
