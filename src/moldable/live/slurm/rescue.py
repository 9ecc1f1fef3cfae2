"""Releasing moldable jobs that are held because no agent decides about them."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from moldable.live.slurm.client import SlurmClient
from moldable.live.slurm.marks import PREFIX, Mark
from moldable.live.slurm.records import QueuedJob
from moldable.live.slurm.snapshot import HELD_BY_ADMIN

DECIDED: Final = {"width", "advice", "passed"}
"""Fields in the marks of jobs that do not wait for a decision: if held, others hold them."""


class Rescued(NamedTuple):
    """What happened to a held job: its class, the CPUs that it runs with, and the outcome."""

    job: str
    job_class: str
    cpus: int
    released: bool

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and text, ready for JSON."""
        return {
            "job": self.job,
            "class": self.job_class,
            "cpus": self.cpus,
            "released": self.released,
        }


def rescue(
    client: SlurmClient, user: str | None, job_class: str | None, *, act: bool = True
) -> list[Rescued]:
    """Release held moldable jobs, which then run at the width that is set now.

    Args:
        client: Slurm.
        user: whose jobs; None: all users'.
        job_class: only jobs of this class.
        act: whether to release them, or only to list them.
    """
    found = {
        job.job: (job, mark.job_class)
        for job in sorted(client.jobs(), key=lambda job: job.order)
        if job.held
        and user in (None, job.user)
        and (mark := held_mark(job))
        and job_class in (None, mark.job_class)
    }
    if act and found:
        client.release(list(found))
    still = {job.job for job in client.some_jobs(list(found)) if job.held} if act and found else ()
    return [
        Rescued(name, known, job.cpus, act and name not in still)
        for name, (job, known) in found.items()
    ]


def held_mark(job: QueuedJob) -> Mark | None:
    """Return the mark of a job that waits for a decision; None if it has none."""
    text = job.admin_comment if job.admin_comment.startswith(PREFIX) else job.comment
    mark = Mark.parse(text)
    return None if mark is None or mark.number("width") is not None else mark


def held_at_submission(job: QueuedJob) -> Mark | None:
    """Return the mark of a job that job_submit.lua has put on hold and that was not released yet.

    Only Slurm's administrators can write such a mark, so it is never one of a user. A job that an
    administrator has held since is theirs.
    """
    mark = Mark.parse(job.admin_comment)
    on_hold = job.held and job.reason != HELD_BY_ADMIN
    if mark is None or not on_hold or mark.fields.keys() & DECIDED:
        return None
    return mark
