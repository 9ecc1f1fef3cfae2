"""Which waiting jobs start now, and on how many servers.

`decide` is a pure function from a snapshot of a cluster to instructions. Clocks, files and engines
are elsewhere, so the same snapshot always gives the same instructions. Importing this module does
not import numpy, because `moldable run` would spend most of its time on that.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, Protocol, final

from moldable.checks import check_type, checked_int
from moldable.errors import PolicyError, shown
from moldable.policies.observation import Jobs, Observation, held_servers

if TYPE_CHECKING:
    from moldable.model.workload import JobClass

_BITS: Final = 53
"""Bits of a uniform number, the precision of a double."""


class Decider(Protocol):
    """A `Policy`, or stored decisions of one, as `decide` uses it."""

    strict: bool

    @property
    def name(self) -> str:
        """Name in error messages."""

    def grant(
        self, job_class: JobClass | str, observation: Observation, u: float | None = None
    ) -> int:
        """Return the servers that a job gets now; see `Policy.grant`."""


@final
@dataclass(frozen=True, slots=True)
class WaitingJob:
    """A job that has not been granted servers.

    Attributes:
        job: its identifier, unique on the cluster.
        job_class: its class, or the name of a class that the policy knows.
        most: servers that it can get at most, such as the idle CPUs of one node; None: no limit. It
            needs a class, not its name.

    Examples:
        >>> WaitingJob("17", JobClass("jobs", arrival_rate=1.0, speedup=[1, 1.8])).most is None
        True
    """

    job: str
    job_class: JobClass | str
    most: int | None = None


@final
@dataclass(frozen=True, slots=True)
class Snapshot:
    """A cluster at one moment.

    Attributes:
        usable: servers that jobs may use, idle or not.
        running: running jobs by class name and width, jobs of other origin included.
        released: the same for jobs that were granted servers, but have not started.
        waiting: jobs without servers, in the order of their arrival.
        behind: further jobs that wait behind those; only their number is known.

    Examples:
        >>> Snapshot(usable=16, running={"jobs": {4: 2}}, released={"jobs": {2: 1}}).idle
        6
    """

    usable: int
    running: Jobs = field(default_factory=dict)
    released: Jobs = field(default_factory=dict)
    waiting: tuple[WaitingJob, ...] = ()
    behind: int = 0

    def __post_init__(self) -> None:
        checked_int(self.usable, "usable", PolicyError, least=0)
        checked_int(self.behind, "behind", PolicyError, least=0)
        names = [waiting.job for waiting in self.waiting]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise PolicyError(
                f"job {shown(twice)} is listed twice; give each job its own identifier"
            )

    @property
    def idle(self) -> int:
        """Servers that no job holds or was granted; 0 if more are held than are usable."""
        held = held_servers(self.running) + held_servers(self.released)
        return max(self.usable - held, 0)


@final
@dataclass(frozen=True, slots=True)
class Instruction:
    """What happens to one job.

    Attributes:
        action: "grant" it servers, "block" it, or let it "wait".
        job: its identifier.
        job_class: the name of its class.
        width: servers that it gets; 0 unless they are granted.
        idle: idle servers that the policy saw.
        waiting: jobs behind it that the policy saw.

    Examples:
        >>> jobs = JobClass("jobs", arrival_rate=1.0, speedup=[1, 1.8])
        >>> decide(Snapshot(usable=1, waiting=(WaitingJob("17", jobs),)), Greedy())[0]
        Instruction(action='grant', job='17', job_class='jobs', width=1, idle=1, waiting=0)
    """

    action: Literal["grant", "block", "wait"]
    job: str
    job_class: str
    width: int
    idle: int
    waiting: int


def decide(
    snapshot: Snapshot, policy: Decider, *, places: float = math.inf, seed: int = 0
) -> tuple[Instruction, ...]:
    """Return what happens to each waiting job, in their order.

    Jobs start first come, first served. The first job that the policy gives no server waits, and so
    do all behind it, as far as there are waiting places. The last jobs beyond them are blocked.

    Args:
        snapshot: the cluster.
        policy: its method `grant` alone decides.
        places: waiting places; with 0, a job that gets no server is blocked.
        seed: for policies that draw widths. The draw of a job depends on the seed and its
            identifier only.

    Examples:
        >>> jobs = JobClass("jobs", arrival_rate=1.0, speedup=[1, 1.8])
        >>> snapshot = Snapshot(usable=3, waiting=tuple(WaitingJob(j, jobs) for j in "abc"))
        >>> [(i.action, i.job, i.width) for i in decide(snapshot, Greedy())]
        [('grant', 'a', 2), ('grant', 'b', 1), ('wait', 'c', 0)]
    """
    check_type(snapshot, Snapshot, "snapshot", PolicyError, "Snapshot(usable=16)")
    if not hasattr(policy, "grant"):
        raise PolicyError(f"{shown(policy)} is not a policy; pass one such as Greedy()", "policy")
    idle, queue = snapshot.idle, snapshot.waiting
    held = {name: dict(row) for name, row in snapshot.running.items()}
    for name, row in snapshot.released.items():
        for width, jobs in row.items():
            _hold(held, name, width, jobs)
    found: list[Instruction] = []
    kept = 0
    for position, job in enumerate(queue):
        behind = len(queue) - position - 1 + snapshot.behind
        name = job.job_class if isinstance(job.job_class, str) else job.job_class.name
        width = 0 if kept else _granted(job, Observation(idle, behind, held), policy, seed)
        if width:
            action: Literal["grant", "block", "wait"] = "grant"
        elif kept < places:
            action, kept = "wait", kept + 1
        else:
            action = "block"
        found.append(Instruction(action, job.job, name, width, idle, behind))
        if width:
            idle -= width
            _hold(held, name, width, 1)
    return tuple(found)


def uniform(seed: int, job: str) -> float:
    """Return the number from [0, 1) with which the width of a job is drawn."""
    key = hashlib.blake2b(f"{seed}:{job}".encode(), digest_size=8).digest()
    return (int.from_bytes(key, "big") >> (64 - _BITS)) / 2.0**_BITS


def _granted(job: WaitingJob, seen: Observation, policy: Decider, seed: int) -> int:
    """Return the width that the policy gives a job, or the fastest that the job can get."""
    width = policy.grant(job.job_class, seen, uniform(seed, job.job))
    if not 0 <= width <= seen.idle:
        raise PolicyError(
            f"policy {policy.name} gives job {shown(job.job)} {width} of {seen.idle} idle servers; "
            f"grant must return 0 or a width that is idle"
        )
    if job.most is None or width <= job.most:
        return width
    if isinstance(job.job_class, str):
        raise PolicyError(
            f"job {shown(job.job)} gets at most {job.most} servers; give its class, not the name"
        )
    return 0 if policy.strict else job.job_class.speedup.fastest(job.most)


def _hold(held: dict[str, dict[int, int]], name: str, width: int, jobs: int) -> None:
    row = held.setdefault(name, {})
    row[width] = row.get(width, 0) + jobs


def count_jobs(jobs: Sequence[tuple[str, int]]) -> Mapping[str, Mapping[int, int]]:
    """Return jobs, given by class name and width, in the form of `Snapshot.running`."""
    held: dict[str, dict[int, int]] = {}
    for name, width in jobs:
        _hold(held, name, width, 1)
    return held
