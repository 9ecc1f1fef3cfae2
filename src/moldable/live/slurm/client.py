"""The agent's queries and updates to Slurm."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, final

from moldable.errors import InputError, SlurmError, shown, suggest
from moldable.live.slurm.marks import Mark
from moldable.live.slurm.programs import Runner, checked, run
from moldable.live.slurm.records import (
    JOB_FIELDS,
    NODE_FIELDS,
    Node,
    QueuedJob,
    new_token,
    output_format,
    read_job,
    read_node,
    split_output,
)

MOST_JOBS: Final = 500
"""Jobs in one argument."""
READINGS: Final = 3
"""How often the queue is read at most until no job starts meanwhile."""
_REFUSED: Final = re.compile(r"for job ([0-9_+]+)")


class Ended(NamedTuple):
    """A job that has left the queue: Slurm's state, and when it started and ended."""

    job: str
    state: str
    started: float | None
    ended: float | None


@final
@dataclass(frozen=True, slots=True)
class SlurmClient:
    """One partition of a cluster, seen through Slurm's programs.

    Args:
        partition: its name; see `default_partition`.
        runner: runs the programs.
    """

    partition: str
    runner: Runner = run

    def queue(self) -> tuple[list[QueuedJob], list[Node]]:
        """Return the jobs and the nodes, read while no job started.

        The jobs are read first: one that starts before the nodes are read then counts twice, where
        in the other order it would not count at all. If jobs start during each reading, the last
        one is returned.
        """
        for reading in range(1, READINGS + 1):
            jobs, nodes = self.jobs(), self.nodes()
            waiting = {job.job for job in jobs if job.about_to_start}
            if not waiting or reading == READINGS:
                break
            if waiting == {job.job for job in self.some_jobs(sorted(waiting)) if job.pending}:
                break
        return jobs, nodes

    def jobs(self) -> list[QueuedJob]:
        """Return the jobs that wait, run or are ending; each task of an array is a job."""
        token = new_token()
        words = ["squeue", "-h", "-a", "-r", "-p", self.partition]
        text = checked(self.runner, [*words, "-O", output_format(JOB_FIELDS, token)])
        return [read_job(cells) for cells in split_output(text, JOB_FIELDS, token)]

    def nodes(self) -> list[Node]:
        """Return the nodes of the partition."""
        token = new_token()
        words = ["sinfo", "-h", "-N", "-p", self.partition]
        text = checked(self.runner, [*words, "-O", output_format(NODE_FIELDS, token)])
        return [read_node(cells) for cells in split_output(text, NODE_FIELDS, token)]

    def some_jobs(self, jobs: Sequence[str]) -> list[QueuedJob]:
        """Return those of these jobs that are still in the queue, by identifier."""
        wanted = set(jobs)
        found = (read_job(cells) for cells in self._listed(jobs, JOB_FIELDS))
        return [job for job in found if job.job in wanted]

    def ended_jobs(self, jobs: Sequence[str]) -> list[Ended]:
        """Return the outcome of jobs that left the queue recently."""
        fields = ("JobArrayID", "StateCompact", "StartTime", "EndTime")
        wanted = set(jobs)
        return [
            Ended(job, state, *(float(t) if t.isdecimal() else None for t in times))
            for job, state, *times in self._listed(jobs, fields, "-t", "all")
            if job in wanted
        ]

    def set_widths(self, changes: Iterable[tuple[str, Sequence[str], str, Mark]]) -> set[str]:
        """Set widths and marks; each change has a job, its settings, a field and the mark.

        Returns:
            the jobs that Slurm refused to change.
        """
        return self._update(
            (job, *settings, f"{field}={mark}") for job, settings, field, mark in changes
        )

    def set_marks(self, changes: Iterable[tuple[str, str, Mark]]) -> set[str]:
        """Set marks; each change has a job, a field and the mark; return the refused jobs."""
        return self._update((job, f"{field}={mark}") for job, field, mark in changes)

    def release(self, jobs: Sequence[str]) -> str:
        """Release held jobs, and return Slurm's error messages."""
        complaints = [self.runner(["scontrol", "release", text], None) for text in _lists(jobs)]
        return "; ".join(found.errors.strip() for found in complaints if found.code)

    def _listed(
        self, jobs: Sequence[str], fields: Sequence[str], *options: str
    ) -> Iterator[list[str]]:
        """Yield the cells of squeue about jobs, as far as they are in the queue."""
        token = new_token()  # the exit code only tells whether all of them are
        for text in _lists(jobs):
            words = ["squeue", "-h", "-a", "-r", *options, "-j", text]
            found = self.runner([*words, "-O", output_format(fields, token)], None)
            yield from split_output(found.text, fields, token)

    def _update(self, changes: Iterable[tuple[str, ...]]) -> set[str]:
        """Run updates in one scontrol, which continues after an error."""
        lines = [f"update JobId={job} {' '.join(words)}\n" for job, *words in changes]
        if not lines:
            return set()
        found = self.runner(["scontrol"], "".join(lines))
        refused = set(_REFUSED.findall(found.errors))
        if found.code and not refused:
            reason = found.errors.strip() or f"exit code {found.code}"
            raise SlurmError(f"scontrol update failed: {shown(reason, 300)}")
        return refused


def _lists(jobs: Sequence[str]) -> Iterator[str]:
    """Yield the jobs as lists that fit into one argument."""
    for begin in range(0, len(jobs), MOST_JOBS):
        yield ",".join(jobs[begin : begin + MOST_JOBS])


def default_partition(given: str | None, runner: Runner = run) -> str:
    """Return a partition of the cluster, by default Slurm's default partition."""
    listed = checked(runner, ["sinfo", "-h", "-a", "-o", "%P"]).split()
    known = {name.rstrip("*") for name in listed}
    marked = [name.rstrip("*") for name in listed if name.endswith("*")]
    if given is None and marked:
        return marked[0]
    if given is None:
        raise InputError(
            f"the cluster has no default partition; name one with --partition: "
            f"{', '.join(sorted(known))}"
        )
    if given not in known:
        raise InputError(f"partition {shown(given)} is unknown; {suggest(given, known)}")
    return given


def configuration(runner: Runner = run) -> dict[str, str]:
    """Return the configuration of the cluster by name of the option."""
    text = checked(runner, ["scontrol", "show", "config"])
    pairs = (line.partition("=") for line in text.splitlines())
    return {key.strip(): value.strip() for key, equals, value in pairs if equals}
