"""Record a simulated cluster job by job and server by server, to be played on a page.

`record` uses no table or kernel of the evaluators: it asks the policy about every single job.
"""

from __future__ import annotations

import heapq
import time
from collections import deque
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final, Literal, NamedTuple, final

from moldable.checks import checked_int
from moldable.errors import PolicyError, SimulationError
from moldable.files.policy_file import Rule
from moldable.model.scenario import Scenario, ScenarioOrFile, checked_scenario
from moldable.model.waiting import written_waiting
from moldable.policies.observation import Observation
from moldable.policies.policy import Policy
from moldable.simulation.drawn_jobs import Job, draw_jobs
from moldable.system.loss_system import pools_and_policy

MOST_SERVERS: Final = 400
"""Servers of the largest cluster that a page can draw one by one."""
EVENTS: Final = 1500
MOST_EVENTS: Final = 6000
PER_JOB: Final = 3
"""Events of a job at most: it waits, starts and ends."""
LONGEST: Final = 5.0
"""Seconds after which a recording is cut, such as of a policy that takes long to decide."""
BLOCK: Final = 64
"""Jobs drawn at a time: few, so that the time is looked at often."""


class Event(NamedTuple):
    """What happens to one job at one moment.

    Attributes:
        time: in the scenario's unit of time.
        kind: the job starts (on arrival, or after a wait), waits, is blocked on arrival, or ends.
        job: its number, in the order of arrival, from 0.
        job_class: index of its class.
        servers: the servers that it gets, when it starts.
    """

    time: float
    kind: Literal["start", "wait", "block", "end"]
    job: int
    job_class: int
    servers: tuple[int, ...] = ()


@final
@dataclass(frozen=True, eq=False)
class Film:
    """A simulated cluster, from an empty one to the arrival of the last job.

    Attributes:
        scenario: the cluster and its jobs.
        policy: name of the policy.
        seed: random seed. With the same seed, films of other policies have the same jobs.
        events: in the order of time.
        jobs: number of jobs that arrive.
        cut: whether recording was stopped because it took too long.
    """

    scenario: Scenario
    policy: str
    seed: int
    events: tuple[Event, ...]
    jobs: int
    cut: bool

    def __repr__(self) -> str:
        """Show the main figures."""
        return (
            f"Film({self.policy}: {self.jobs} jobs on {self.scenario.servers} servers, "
            f"{len(self.events)} events, seed {self.seed})"
        )

    def to_data(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON and for the player of the page.

        An event is a list [time, kind, job, class, servers]; servers are ranges of server numbers,
        each a pair of its first and its last one.
        """
        widths = {len(event.servers) for event in self.events if event.kind == "start"}
        return {
            "policy": self.policy,
            "servers": self.scenario.servers,
            "classes": [each.name for each in self.scenario.workload.classes],
            "waiting": written_waiting(self.scenario.waiting),
            "time_unit": self.scenario.time_unit,
            "seed": self.seed,
            "jobs": self.jobs,
            "cut": self.cut,
            "widths": sorted(widths),
            "events": [
                [event.time, event.kind, event.job, event.job_class, _ranges(event.servers)]
                for event in self.events
            ],
        }


def record(
    scenario: ScenarioOrFile,
    policy: Rule = None,
    *,
    seed: int,
    events: int = EVENTS,
    seconds: float = LONGEST,
) -> Film:
    """Simulate a small cluster job by job, and record which servers each job holds.

    The cluster is empty at first. A job gets the idle servers with the lowest numbers.

    Args:
        scenario: the classes, the cluster and the arrivals; at most 400 servers.
        policy: decides how many servers a job gets, or its spelling, such as "fixed:3"; by default
            greedy(p*), or the even price with waiting places.
        seed: random seed. Films of other policies with the same seed have the same jobs.
        events: number of events at most; a third as many jobs arrive.
        seconds: time after which recording stops; the film is shorter then.
    """
    scenario = checked_scenario(scenario)
    checked_int(seed, "seed", SimulationError, least=0)
    most = checked_int(events, "events", SimulationError, least=PER_JOB, most=MOST_EVENTS)
    if scenario.servers > MOST_SERVERS:
        raise SimulationError(
            f"{scenario.servers} is more than the {MOST_SERVERS} servers that can be drawn one by "
            f"one; take a smaller cluster at the same load",
            "servers",
        )
    pools, policy = pools_and_policy(scenario, policy)
    cluster = _Cluster(scenario, policy, pools)
    ends, jobs = time.monotonic() + seconds, 0
    for job in draw_jobs(scenario, most // PER_JOB, seed, block=BLOCK):
        if time.monotonic() > ends:
            return Film(scenario, policy.name, seed, tuple(cluster.events), jobs, cut=True)
        cluster.arrive(jobs, job)
        jobs += 1
    return Film(scenario, policy.name, seed, tuple(cluster.events), jobs, cut=False)


class _Cluster:
    """A cluster in the middle of a recording.

    As in evaluations, the head of the queue is offered servers when jobs end, not when another job
    arrives, and servers released at the same time are offered together.
    """

    def __init__(self, scenario: Scenario, policy: Policy, pools: tuple[int, ...]) -> None:
        self.classes, self.policy = scenario.workload.classes, policy
        self.places = scenario.waiting
        self.idle = _idle_servers(scenario, pools)
        self.running: list[tuple[float, int, int, tuple[int, ...]]] = []
        self.held: dict[str, dict[int, int]] = {}
        self.queue: deque[tuple[int, Job]] = deque()
        self.events: list[Event] = []

    def arrive(self, number: int, job: Job) -> None:
        """Let time pass until a job arrives, and let it start, wait or be blocked."""
        while self.running and self.running[0][0] <= job.submitted:
            self._release(self.running[0][0])
        if not self.queue and self._started(job.submitted, number, job, behind=0):
            return
        waits = len(self.queue) < self.places
        self._add(job.submitted, "wait" if waits else "block", number, job.job_class)
        if waits:
            self.queue.append((number, job))

    def _release(self, now: float) -> None:
        """End the jobs that end now, and start those at the head of the queue."""
        while self.running and self.running[0][0] == now:
            _, number, j, servers = heapq.heappop(self.running)
            for server in servers:
                heapq.heappush(self.idle[j], server)
            held = self.held[self.classes[j].name]
            held[len(servers)] -= 1
            if not held[len(servers)]:
                del held[len(servers)]
            self._add(now, "end", number, j)
        while self.queue and self._started(now, *self.queue[0], behind=len(self.queue) - 1):
            self.queue.popleft()

    def _started(self, now: float, number: int, job: Job, *, behind: int) -> bool:
        """Start a job if the policy grants it servers."""
        j, job_class = job.job_class, self.classes[job.job_class]
        idle, held = self.idle[j], self.held.setdefault(job_class.name, {})
        width = self.policy.grant(job_class, Observation(len(idle), behind, self.held), job.u)
        if not 0 <= width <= len(idle):
            raise PolicyError(
                f"policy {self.policy.name} gives a job of class {job_class.name!r} {width} of "
                f"{len(idle)} idle servers; grant must return 0 or a width that is idle"
            )
        if not width:
            return False
        servers = tuple(heapq.heappop(idle) for _ in range(width))
        held[width] = held.get(width, 0) + 1
        end = now + job.size / job_class.speedup[width]
        heapq.heappush(self.running, (end, number, j, servers))
        self._add(now, "start", number, j, servers)
        return True

    def _add(
        self,
        now: float,
        kind: Literal["start", "wait", "block", "end"],
        number: int,
        job_class: int,
        servers: tuple[int, ...] = (),
    ) -> None:
        self.events.append(Event(now, kind, number, job_class, servers))


def _idle_servers(scenario: Scenario, pools: tuple[int, ...]) -> list[list[int]]:
    """Return the idle servers that each class may use; classes with one pool share one list."""
    if scenario.workload.sharing == "pool":
        return [list(range(scenario.servers))] * len(pools)
    return [list(range(end - own, end)) for end, own in zip(accumulate(pools), pools, strict=True)]


def _ranges(servers: tuple[int, ...]) -> list[list[int]]:
    """Return ascending numbers as pairs of the first and the last of consecutive ones."""
    found: list[list[int]] = []
    for server in servers:
        if found and found[-1][1] == server - 1:
            found[-1][1] = server
        else:
            found.append([server, server])
    return found
