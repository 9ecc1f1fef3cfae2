"""Moldable jobs on Slurm as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rich.console import Console

from moldable.live.slurm.rescue import Rescued
from moldable.live.slurm.status import Status, StatusJob
from moldable.reporting.tables import plain_table, print_table
from moldable.reporting.trace_text import human_time

MOST_ROWS: Final = 20
"""Jobs listed one by one."""
PHASES: Final = ("running", "released", "waiting", "left alone")


def show_status(console: Console, answer: Status) -> None:
    """Print the agent, the jobs in the queue and the shares of the widths."""
    console.print(f"Cluster {answer.cluster}: {_agent(answer)}.")
    if not answer.jobs:
        console.print("There are no moldable jobs in the queue.")
    else:
        counts = {phase: _count(answer.jobs, phase) for phase in PHASES}
        told = ", ".join(f"{count} {phase}" for phase, count in counts.items() if count)
        console.print(f"Moldable jobs in the queue: {told}.")
        _show_jobs(console, answer.jobs)
    for name in sorted({*answer.widths, *answer.planned}):
        _show_widths(console, name, answer.widths.get(name, {}), answer.planned.get(name))
    if answer.widths:
        console.print(f"Granted: {answer.basis}.")


def show_rescued(console: Console, jobs: Sequence[Rescued], *, act: bool) -> None:
    """Print which held jobs were released, or would be."""
    if not jobs:
        console.print("No moldable job is held.")
        return
    table = plain_table()
    for heading in ("job", "class", "CPUs", "result"):
        table.add_column(heading, justify="right" if heading == "CPUs" else "left")
    for job in jobs:
        result = "released" if job.released else "still held" if act else "would be released"
        table.add_row(job.job, job.job_class, str(job.cpus), result)
    print_table(console, table)
    if not act:
        console.print("Nothing was changed (--dry-run).")


def _agent(answer: Status) -> str:
    agent = answer.agent
    if agent is None:
        return "no agent of yours is running here"
    return (
        f"your agent is running (process {agent.process}, mode {agent.mode}, partition "
        f"{agent.partition}, plan {agent.plan})"
    )


def _count(jobs: Sequence[StatusJob], phase: str) -> int:
    return sum(job.phase == phase for job in jobs)


def _show_jobs(console: Console, jobs: Sequence[StatusJob]) -> None:
    table = plain_table()
    for heading in ("job", "class", "state", "width", "for"):
        table.add_column(heading, justify="right" if heading in ("width", "for") else "left")
    for job in jobs[:MOST_ROWS]:
        width = "" if job.width is None else str(job.width)
        table.add_row(job.job, job.job_class, job.phase, width, human_time(job.seconds))
    print_table(console, table)
    if len(jobs) > MOST_ROWS:
        console.print(f"and {len(jobs) - MOST_ROWS} more; --json lists all")


def _show_widths(
    console: Console,
    name: str,
    found: Mapping[int, int],
    planned: Mapping[int, float] | None,
) -> None:
    """Print the shares of the widths of a class, with those of the plan."""
    told = () if planned is None else ("planned",)
    table = plain_table(right=("width", "jobs", "share", *told))
    total = sum(found.values())
    for width in sorted({*found, *(w for w, share in (planned or {}).items() if share > 0.0)}):
        count = found.get(width, 0)
        cells = [str(width), str(count), f"{count / total:.1%}" if total else "-"]
        if planned is not None:
            cells.append(f"{planned.get(width, 0.0):.1%}")
        table.add_row(*cells)
    console.print(f"Widths granted to {name}:")
    print_table(console, table)
