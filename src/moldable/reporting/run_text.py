"""The jobs of `moldable run` as text."""

from __future__ import annotations

from typing import Final

from rich.console import Console

from moldable.live.ledger import Record
from moldable.live.run_status import RunStatus
from moldable.reporting.tables import plain_table, print_table

LONGEST_COMMAND: Final = 40


def show_status(console: Console, status: RunStatus, now: float) -> None:
    """Print which jobs run and which wait."""
    if status.servers is None:
        console.print("No job is running or waiting.")
        return
    console.print(
        f"{status.busy} of {status.servers} servers busy; {len(status.running)} running, "
        f"{len(status.waiting)} waiting."
    )
    table = plain_table()
    for name in ("job", "class", "state", "servers", "for", "process", "command"):
        table.add_column(name, justify="right" if name in {"servers", "for"} else "left")
    for job in (*status.running, *status.waiting):
        table.add_row(*_cells(job, now))
    print_table(console, table)


def _cells(job: Record, now: float) -> tuple[str, ...]:
    since = job.submitted if job.started is None else job.started
    command = job.command
    if len(command) > LONGEST_COMMAND:
        command = f"{command[: LONGEST_COMMAND - 3]}..."
    return (
        job.job,
        job.job_class,
        "waiting" if job.started is None else "running",
        str(job.width or "-"),
        f"{max(now - since, 0.0):.0f} s",
        str(job.pid),
        command,
    )
