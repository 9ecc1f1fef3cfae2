"""The state of a user's moldable jobs, and the widths that were granted."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, final

from moldable.live.plan_file import LivePlan
from moldable.live.slurm.client import SlurmClient, configuration
from moldable.live.slurm.lock import AgentInfo
from moldable.live.slurm.marks import PREFIX, Mark
from moldable.live.slurm.programs import Runner, checked
from moldable.live.slurm.records import QueuedJob

Phase = Literal["waiting", "released", "running", "left alone"]
SEPARATOR: Final = "\x1f"
"""A character that comments cannot hold where they are marks."""


@final
@dataclass(frozen=True, slots=True)
class StatusJob:
    """A moldable job in the queue.

    Attributes:
        job: its identifier.
        job_class: its class.
        phase: "waiting" for a decision, "released" but not started, "running", or "left alone":
            granted servers and then put on hold by its user.
        width: servers that it was granted; None while it waits.
        seconds: how long it has been waiting or running.
    """

    job: str
    job_class: str
    phase: Phase
    width: int | None
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and text, ready for JSON."""
        return {
            "job": self.job,
            "class": self.job_class,
            "phase": self.phase,
            "width": self.width,
            "seconds": self.seconds,
        }


@final
@dataclass(frozen=True, slots=True)
class Status:
    """The moldable jobs of a user, or of all users.

    Attributes:
        cluster: name of the cluster.
        agent: the running agent of this user; None: there is none.
        jobs: the jobs in the queue.
        widths: jobs that were granted servers, by class and width.
        basis: where these numbers come from.
        planned: the shares of the widths by class that the plan predicts.
    """

    cluster: str
    agent: AgentInfo | None
    jobs: tuple[StatusJob, ...]
    widths: Mapping[str, Mapping[int, int]]
    basis: str
    planned: Mapping[str, Mapping[int, float]]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and text, ready for JSON."""
        agent = self.agent
        running = None
        if agent is not None:
            running = {"process": agent.process, "mode": agent.mode, "plan": agent.plan}
            running |= {"shape": agent.shape, "partition": agent.partition}
        return {
            "cluster": self.cluster,
            "agent": running,
            "jobs": [job.to_dict() for job in self.jobs],
            "widths": {name: _by_text(row) for name, row in self.widths.items()},
            "basis": self.basis,
            "planned_shares": {name: _by_text(row) for name, row in self.planned.items()},
        }


def read_status(
    client: SlurmClient,
    agent: AgentInfo | None,
    user: str | None,
    *,
    hours: float,
    plan: LivePlan | None = None,
) -> Status:
    """Ask Slurm for the status; widths are counted over the last hours if there is accounting."""
    known = configuration(client.runner)
    now = time.time()
    queue = client.jobs()
    jobs = [job for job in queue if user in (None, job.user)]
    found = [
        status for job in sorted(jobs, key=lambda job: job.order) if (status := _status(job, now))
    ]
    accounting = known.get("AccountingStorageType", "").endswith("/slurmdbd")
    marks = {job.job: mark for job in jobs if not job.pending and (mark := _mark(job))}
    basis = "running jobs; the accounting of this cluster does not keep comments"
    if accounting and "job_comment" in known.get("AccountingStoreFlags", ""):
        # The accounting keeps comments from the end of a job on.
        marks = _recorded(client.runner, user, max(now - 3600.0 * hours, 0.0)) | marks
        basis = f"jobs of the last {hours:g} h that have started, by sacct and squeue"
    return Status(
        known.get("ClusterName", ""),
        agent,
        tuple(found),
        _count(marks.values()),
        basis,
        _planned(plan),
    )


def _status(job: QueuedJob, now: float) -> StatusJob | None:
    mark = _mark(job)
    if mark is None:
        return None
    width = mark.number("width")
    if not job.pending:
        width = mark.number("granting") if width is None else width
        return StatusJob(job.job, mark.job_class, "running", width, now - (job.started or now))
    phase: Phase = "released"
    if job.held:
        phase = "waiting" if width is None else "left alone"
    return StatusJob(job.job, mark.job_class, phase, width, now - job.submitted)


def _mark(job: QueuedJob) -> Mark | None:
    own = job.admin_comment.startswith(PREFIX)
    return Mark.parse(job.admin_comment if own else job.comment)


def _recorded(runner: Runner, user: str | None, since: float) -> dict[str, Mark]:
    """Return the marks of jobs that have ended, by job, from the accounting."""
    who = ["-a"] if user is None else ["-u", user]
    fields = ["JobID", "Start", "Comment", "AdminComment"]
    words = ["sacct", "-X", "-n", *who, "-S", _moment(since), "-o", ",".join(fields)]
    text = checked(runner, [*words, "--parsable2", f"--delimiter={SEPARATOR}"])
    found: dict[str, Mark] = {}
    for line in text.splitlines():
        cells = line.split(SEPARATOR)
        if len(cells) == len(fields) and cells[1].isdecimal():
            mark = Mark.parse(cells[3]) or Mark.parse(cells[2])
            found |= {cells[0]: mark} if mark else {}
    return found


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(seconds))


def _count(marks: Iterable[Mark]) -> dict[str, dict[int, int]]:
    found: dict[str, dict[int, int]] = {}
    for mark in marks:
        width = mark.number("width") or mark.number("granting")
        if width:
            row = found.setdefault(mark.job_class, {})
            row[width] = row.get(width, 0) + 1
    return {name: dict(sorted(row.items())) for name, row in sorted(found.items())}


def _planned(plan: LivePlan | None) -> dict[str, dict[int, float]]:
    """Return the shares of the widths among jobs that are served, as the plan predicts them."""
    if plan is None:
        return {}
    return {
        part["name"]: {int(width): share for width, share in part["width_shares"].items()}
        for part in plan.expected.get("classes", ())
    }


def _by_text(row: Mapping[int, float]) -> dict[str, float]:
    return {str(width): value for width, value in row.items()}
