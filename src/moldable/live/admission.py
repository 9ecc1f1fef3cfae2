"""The jobs of one program that hold servers or wait, and the decisions at each event.

An event is the arrival of a job, its end or its withdrawal. This module neither runs jobs nor
waits, and knows nothing about threads.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import final

from moldable.errors import PolicyError
from moldable.live.decisions import Instruction, Snapshot, WaitingJob, decide
from moldable.model.workload import JobClass
from moldable.policies.observation import held_servers
from moldable.policies.policy import Policy


@final
class Admission:
    """The servers of one program, the jobs that hold them and the jobs that wait.

    Args:
        policy: decides.
        servers: number of servers.
        places: waiting places.
        seed: for policies that draw widths.
        most: servers that one job can get at most; None: no limit.

    Attributes:
        places: waiting places.
    """

    def __init__(
        self, policy: Policy, servers: int, *, places: float, seed: int, most: int | None
    ) -> None:
        self._policy, self._servers, self.places = policy, servers, places
        self._seed, self._most = seed, most
        self._waiting: OrderedDict[str, JobClass] = OrderedDict()
        self._held: dict[str, tuple[str, int]] = {}
        self._running: dict[str, dict[int, int]] = {}

    @property
    def idle(self) -> int:
        """Servers that no job holds."""
        return self._servers - held_servers(self._running)

    @property
    def waiting(self) -> int:
        """Number of waiting jobs."""
        return len(self._waiting)

    def arrive(self, job: str, job_class: JobClass) -> Instruction:
        """Handle the arrival of a job.

        As in evaluations, jobs at the head of the queue are offered servers when a job ends, not
        when another one arrives behind them.
        """
        if not self._waiting:
            return self._offer(job, job_class, 0)
        if len(self._waiting) < self.places:
            self._waiting[job] = job_class
            return Instruction("wait", job, job_class.name, 0, self.idle, 0)
        return Instruction("block", job, job_class.name, 0, self.idle, 0)

    def end(self, job: str) -> None:
        """Take back the servers of a job."""
        name, width = self._held.pop(job)
        row = self._running[name]
        row[width] -= 1
        if not row[width]:
            del row[width]

    def withdraw(self, job: str) -> bool:
        """Remove a waiting job; return whether it was waiting."""
        return self._waiting.pop(job, None) is not None

    def head(self) -> str | None:
        """Return the job that waits first."""
        return next(iter(self._waiting), None)

    def next(self) -> Instruction | None:
        """Decide about the job that waits first; None if no job waits."""
        if not self._waiting:
            return None
        job, job_class = self._waiting.popitem(last=False)
        instruction = self._offer(job, job_class, len(self._waiting))
        if instruction.action == "wait":
            self._waiting.move_to_end(job, last=False)
        return instruction

    def _offer(self, job: str, job_class: JobClass, behind: int) -> Instruction:
        waiting = (WaitingJob(job, job_class, self._most),)
        snapshot = Snapshot(self._servers, self._running, {}, waiting, behind)
        (instruction,) = decide(snapshot, self._policy, places=self.places, seed=self._seed)
        if instruction.action == "grant":
            self._held[job] = instruction.job_class, instruction.width
            row = self._running.setdefault(instruction.job_class, {})
            row[instruction.width] = row.get(instruction.width, 0) + 1
        elif instruction.action == "wait":
            if not self._held:
                raise PolicyError(
                    f"policy {self._policy.name} gives a job of class {job_class.name!r} no "
                    f"server though all {self._servers} are idle, so it would wait for ever; use a "
                    f"policy that starts it"
                )
            self._waiting[job] = job_class
        return instruction
