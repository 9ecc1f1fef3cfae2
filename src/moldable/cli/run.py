"""`moldable run`: run a command on the servers that a policy gives it, on this machine."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from moldable.cli import output
from moldable.cli.options import ClassOption, JsonOption, OptionalJournalOption, OptionalPlanOption
from moldable.errors import InputError


def run(
    *,
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- COMMAND [ARGS]...",
            help="The command and its arguments, after --.",
            show_default=False,
        ),
    ] = None,
    plan: OptionalPlanOption = None,
    job_class: ClassOption = None,
    servers: Annotated[
        int | None,
        typer.Option(
            "--servers",
            metavar="N",
            help="Servers of this machine (default: the CPUs that this process may use).",
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--dir",
            metavar="DIR",
            help="Private folder in which running jobs are recorded; jobs of one folder share "
            "their servers (default: a folder of the user on this machine).",
        ),
    ] = None,
    no_wait: Annotated[
        bool,
        typer.Option("--no-wait", help="Do not wait for servers: exit with code 75 instead."),
    ] = False,
    pin: Annotated[
        bool,
        typer.Option("--pin", help="Run the command on CPUs that no other pinned job uses."),
    ] = False,
    journal: OptionalJournalOption = None,
    status: Annotated[
        bool, typer.Option("--status", help="List the running and the waiting jobs.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Run a command on granted servers.

    The policy of the plan decides how many. Jobs of one user on this machine start first come,
    first served. MOLDABLE_WIDTH and OMP_NUM_THREADS tell the command its number of servers. If no
    server is idle and the plan has no waiting places, the job is refused with exit code 75.
    Otherwise the exit code is that of the command.

    \b
    Examples:
      moldable tune --workload examples/gpus.toml \\
        --max-blocking 0.2 --policy-out plan.json
      moldable run --plan plan.json --class training \\
        --servers 16 -- echo "trained"
      moldable run --status
    The file is copied by: moldable examples --copy examples
    """
    if status:
        _show(folder, json=json)
        return
    if plan is None or not command:
        missing = "plan: give --plan FILE.json" if plan is None else "command: write it after --"
        raise InputError(f"there is no {missing}, as in moldable run --plan plan.json -- ./solver")
    if json:
        raise InputError("--json needs --status; otherwise the output is that of the command")
    from moldable.live.run import RunOptions
    from moldable.live.run import run as start

    options = RunOptions(
        tuple(command), plan, job_class, servers, folder, no_wait=no_wait, pin=pin, journal=journal
    )
    raise typer.Exit(start(options))


def _show(folder: Path | None, *, json: bool) -> None:
    from moldable.live.run_status import run_status

    found = run_status(folder)
    if json:
        output.print_json(found.to_dict())
        return
    from moldable.reporting.run_text import show_status

    show_status(output.console(), found, time.time())
