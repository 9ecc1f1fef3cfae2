"""`moldable slurm install`: files for the administrator of a Slurm cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from moldable.cli import output
from moldable.cli.options import JournalOption, JsonOption, PlanOption
from moldable.cli.slurm import ModeOption, PartitionOption, ShapeOption


def install(
    *,
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Where the files are written.", show_default=False),
    ],
    plan: PlanOption,
    mode: ModeOption = "observe",
    shape: ShapeOption = "tasks",
    partition: PartitionOption = None,
    account: Annotated[
        str | None,
        typer.Option(
            "--account",
            metavar="NAME",
            help="Account that the agent runs under (default: that of slurmctld).",
        ),
    ] = None,
    run_folder: Annotated[
        Path,
        typer.Option("--run-folder", metavar="DIR", help="Folder of the heartbeat."),
    ] = Path("/run/moldable"),
    journal: JournalOption = Path("/var/lib/moldable/decisions.jsonl"),
    json: JsonOption = False,
) -> None:
    """Write the files that administrators install.

    These are job_submit.lua, a TaskProlog, a systemd unit of the agent and a README.md with the
    steps that switch it on and off on this cluster. Existing files are replaced only if this
    command has written them and nobody has changed them since.

    \b
    Examples:
      moldable slurm install moldable-files --plan plan.json
      moldable slurm install moldable-files --plan plan.json \\
        --mode enforce --partition batch
    """
    from moldable.live.slurm import programs
    from moldable.live.slurm.client import SlurmClient, configuration, default_partition
    from moldable.live.slurm.install import refuse_wrong_plan, write_installation
    from moldable.live.slurm.installed_files import Installation
    from moldable.live.slurm.shapes import shape_named
    from moldable.live.slurm.start import refuse_large_plan

    read = refuse_wrong_plan(plan, mode, shape)
    programs.require_slurm()
    configured = configuration()
    client = SlurmClient(default_partition(partition))
    refuse_large_plan(read, client, shape_named(shape))
    owner = configured["SlurmUser"].partition("(")[0]
    found = Installation(
        folder=folder.absolute(),
        plan=plan.absolute(),
        cluster=configured["ClusterName"],
        configuration=Path(configured["SLURM_CONF"]),
        partition=client.partition,
        account=account or owner,
        slurm_account=owner,
        mode=mode,
        shape=shape,
        run_folder=run_folder.absolute(),
        journal=journal.absolute(),
    )
    files = write_installation(found)
    if json:
        output.print_json({"files": [str(path) for path in files], "mode": mode})
        return
    for path in files:
        typer.echo(f"Wrote {path}")
    typer.echo(f"Nothing is installed yet; the steps are in {found.folder / 'README.md'}")
