"""Naive version of the replay: lists, definitions and no tables.

After each event everything is worked out anew: how many servers are idle, when the head of the
queue can start by the estimates, and which jobs may start before it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass
class Job:
    """A job; `stretch` maps its allowed widths to its execution time relative to `run`."""

    submit: float
    run: float
    estimate: float
    stretch: dict[int, float]
    start: float = math.nan
    width: int = 0

    @property
    def end(self):
        return self.start + self.run * self.stretch[self.width]

    @property
    def expected_end(self):
        return self.start + self.estimate * self.stretch[self.width]


@dataclass
class Cluster:
    servers: int
    grant: object
    """grant(job, idle, behind) returns the width that the policy grants; 0: none."""
    easy: bool
    adjusts: bool = True
    running: list = field(default_factory=list)
    queue: list = field(default_factory=list)

    @property
    def idle(self):
        return self.servers - sum(job.width for job in self.running)

    def begin(self, job, now, width):
        assert width <= self.idle
        job.start, job.width = now, width
        self.queue.remove(job)
        self.running.append(job)

    def serve(self, now):
        while self.queue:
            head, behind = self.queue[0], len(self.queue) - 1
            width = self.grant(head, self.idle, behind)
            if width == 0:
                break
            self.begin(head, now, width)
        if not self.easy or len(self.queue) < 2:
            return
        head, behind = self.queue[0], len(self.queue) - 1
        needed = next(
            count
            for count in range(self.idle + 1, self.servers + 1)
            if self.grant(head, count, behind) > 0
        )
        reserved = min(
            time
            for time in {max(job.expected_end, now) for job in self.running}
            if self.idle_at(time, now) >= needed
        )
        for job in list(self.queue[1:]):
            # Servers that the head leaves over at the reserved time.
            left = self.idle_at(reserved, now) - needed
            width = self.grant(job, self.idle, len(self.queue) - 1 - self.queue.index(job))
            for choice in self.choices(job, width):
                in_time = now + job.estimate * job.stretch[choice] <= reserved
                if choice <= self.idle and (in_time or (choice <= left and choice <= width)):
                    self.begin(job, now, choice)
                    break

    def choices(self, job, width):
        """Widths in the order in which they are tried."""
        if width == 0:
            return []
        if not self.adjusts:
            return [width]
        narrower = sorted((w for w in job.stretch if w < width), reverse=True)
        return [width, *narrower, *sorted(w for w in job.stretch if w > width)]

    def idle_at(self, time, now):
        """Servers that are idle at a time by the estimates, if no other job starts."""
        held = sum(job.width for job in self.running if max(job.expected_end, now) > time)
        return self.servers - held


def replay(jobs, servers, grant, *, easy, adjusts=True):
    """Let the jobs run; they are in the order of submission."""
    cluster, coming = Cluster(servers, grant, easy, adjusts), list(jobs)
    while coming or cluster.queue:
        ends = min((job.end for job in cluster.running), default=math.inf)
        if coming and coming[0].submit < ends:
            now = coming[0].submit
            cluster.queue.append(coming.pop(0))
        else:
            now = ends
            cluster.running = [job for job in cluster.running if job.end > now]
        cluster.serve(now)
    return jobs
