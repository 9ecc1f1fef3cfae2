"""`moldable slurm`: moldable jobs on a Slurm cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moldable.cli import output
from moldable.cli.options import (
    SEED,
    ClassOption,
    JsonOption,
    OptionalJournalOption,
    OptionalPlanOption,
    PlanOption,
)

if TYPE_CHECKING:
    from moldable.live.plan_file import LivePlan

app = typer.Typer(
    name="slurm",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Run moldable jobs on a Slurm cluster.\n\n"
    "Slurm holds all state: moldable jobs are submitted on hold, with their class in the comment. "
    "The agent sets their widths and releases them, first come, first served.",
)
ShapeOption = Annotated[
    str,
    typer.Option(
        "--shape",
        metavar="SHAPE",
        help="What a server is: tasks (CPUs, on any nodes), threads (CPUs of one node), nodes "
        "(whole nodes) or gpus (GPUs of one node).",
    ),
]
ModeOption = Annotated[
    str,
    typer.Option(
        "--mode",
        metavar="MODE",
        help="observe (only log the decisions), advise (also tell users the width), enforce (hold "
        "jobs and set their widths) or loss (set the width at submission, or refuse the job).",
    ),
]
PartitionOption = Annotated[
    str | None,
    typer.Option("--partition", metavar="NAME", help="Partition (default: that of the cluster)."),
]
OperatorOption = Annotated[
    bool,
    typer.Option(
        "--operator/--mine",
        help="Act on the jobs of all users, with marks in AdminComment, or on your own jobs only. "
        "The former needs Slurm's admin level Administrator.",
    ),
]


@app.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def submit(
    *,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[SBATCH OPTIONS] SCRIPT [ARGUMENTS]",
            help="Options of sbatch, the script of the job, and its arguments.",
            show_default=False,
        ),
    ],
    job_class: ClassOption = None,
    shape: ShapeOption = "tasks",
    plan: OptionalPlanOption = None,
    json: JsonOption = False,
) -> None:
    """Submit a moldable job.

    It is submitted on hold; the agent sets its width and releases it. Options of moldable come
    first, then those of sbatch. In the script, MOLDABLE_WIDTH is the width that the job got; so is
    OMP_NUM_THREADS with the shape threads, and SLURM_NTASKS with the shape tasks, so that srun
    starts that many tasks. The class may be left out if the plan, or the running agent, has only
    one.

    \b
    Examples:
      moldable slurm submit --class solver job.sh
      moldable slurm submit --class train --shape gpus \\
        --time=2:00:00 --output=train-%j.txt train.sh data.csv
      moldable slurm submit --class solver --shape threads \\
        --array=1-20 sweep.sh
    """
    from moldable.live.slurm import programs
    from moldable.live.slurm.client import configuration
    from moldable.live.slurm.lock import running_agent
    from moldable.live.slurm.shapes import shape_named
    from moldable.live.slurm.submit import class_of_agent, hold_note, refuse_unit, submit_job

    found_shape = shape_named(shape)
    read = _read_plan(plan)
    programs.require_slurm()
    cluster = configuration()["ClusterName"]
    agent = running_agent(cluster)
    refuse_unit(found_shape, agent)
    name = class_of_agent(job_class, agent) if read is None else read.job_class(job_class).name
    answer = submit_job(words, name, found_shape)
    if not answer.tells_width:
        output.note("the script is not a shell script, so MOLDABLE_WIDTH is not set in it")
    told = hold_note(cluster, agent)
    if told is not None:
        output.note(told)
    if json:
        output.print_json({"job": answer.job, "class": name, "shape": shape, "cluster": cluster})
    else:
        typer.echo(f"Submitted job {answer.job} (class {name}); it waits for its width.")


@app.command(short_help="Set widths and release waiting jobs.")
def agent(
    *,
    plan: PlanOption,
    mode: ModeOption = "enforce",
    shape: ShapeOption = "tasks",
    partition: PartitionOption = None,
    operator: OperatorOption = False,
    poll: Annotated[
        float, typer.Option("--poll", metavar="SECONDS", help="Polling interval.")
    ] = 1.0,
    journal: OptionalJournalOption = None,
    heartbeat: Annotated[
        Path | None,
        typer.Option(
            "--heartbeat",
            metavar="FILE",
            help="Heartbeat file, which tells job_submit.lua that the agent is alive.",
        ),
    ] = None,
    disable: Annotated[
        Path | None,
        typer.Option("--disable", metavar="FILE", help="Make no decisions while this file exists."),
    ] = None,
    seed: Annotated[int, SEED] = 0,
) -> None:
    """Run the agent, which sets widths and releases jobs, until stopped.

    By default (--mine) it handles your own jobs only, which needs no administrator rights. Jobs
    start first come, first served. The agent keeps no state: if it is stopped or killed, the next
    one continues from the state in Slurm. Jobs that it cannot handle are left unchanged, and the
    reason is logged.

    \b
    Examples:
      moldable slurm agent --plan plan.json
      moldable slurm agent --plan plan.json --shape gpus \\
        --journal decisions.jsonl
      moldable slurm agent --plan plan.json --mode observe

    For the jobs of all users see: moldable slurm install --help
    """
    from moldable.live.slurm.service import Settings, serve

    settings = Settings(
        plan=plan,
        mode=mode,
        shape=shape,
        partition=partition,
        operator=operator,
        poll=poll,
        journal=journal,
        heartbeat=heartbeat,
        disable=disable,
        seed=seed,
    )
    serve(settings)


@app.command(short_help="Show the jobs and their widths.")
def status(
    *,
    plan: OptionalPlanOption = None,
    partition: PartitionOption = None,
    all_users: Annotated[
        bool, typer.Option("--all-users", help="Show the moldable jobs of all users.")
    ] = False,
    hours: Annotated[
        float,
        typer.Option("--hours", metavar="H", help="Count the widths granted in the last H hours."),
    ] = 24.0,
    json: JsonOption = False,
) -> None:
    """Show moldable jobs and the widths granted.

    With --plan, also the shares of the widths that the plan predicts.

    \b
    Examples:
      moldable slurm status
      moldable slurm status --plan plan.json --hours 2
      moldable slurm status --all-users --json
    """
    from moldable.checks import positive
    from moldable.errors import InputError
    from moldable.live.slurm import programs
    from moldable.live.slurm.client import SlurmClient, configuration, default_partition
    from moldable.live.slurm.lock import running_agent
    from moldable.live.slurm.start import user_name
    from moldable.live.slurm.status import read_status
    from moldable.reporting.slurm_text import show_status

    read = _read_plan(plan)
    positive(hours, "hours", InputError)
    programs.require_slurm()
    running = running_agent(configuration()["ClusterName"])
    client = SlurmClient(default_partition(partition))
    user = None if all_users else user_name()
    answer = read_status(client, running, user, hours=hours, plan=read)
    if json:
        output.print_json(answer.to_dict())
    else:
        show_status(output.console(), answer)


@app.command(short_help="Release jobs that are held.")
def rescue(
    *,
    job_class: Annotated[
        str | None, typer.Option("--class", metavar="CLASS", help="Release only this class.")
    ] = None,
    partition: PartitionOption = None,
    operator: OperatorOption = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only list the jobs that would be released.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Release moldable jobs that are held.

    They run at their current width in Slurm: the one that they were submitted with, unless an
    agent was about to release them at another one.

    \b
    Examples:
      moldable slurm rescue --dry-run
      moldable slurm rescue
      moldable slurm rescue --class solver --json
    """
    from moldable.errors import InputError
    from moldable.live.slurm import programs
    from moldable.live.slurm.client import SlurmClient, configuration, default_partition
    from moldable.live.slurm.lock import running_agent
    from moldable.live.slurm.rescue import rescue as release
    from moldable.live.slurm.start import refuse_without_rights, user_name
    from moldable.reporting.slurm_text import show_rescued

    programs.require_slurm()
    configured = configuration()
    running = running_agent(configured["ClusterName"])
    if running is not None and running.mode == "enforce" and not dry_run:
        raise InputError(
            f"your agent (process {running.process}) is running and handles these jobs; "
            f"stop it first, or use --dry-run"
        )
    if operator:
        refuse_without_rights(configured, programs.run)
    client = SlurmClient(default_partition(partition))
    answer = release(client, None if operator else user_name(), job_class, act=not dry_run)
    if json:
        output.print_json({"jobs": [job.to_dict() for job in answer]})
    else:
        show_rescued(output.console(), answer, act=not dry_run)


def _read_plan(path: Path | None) -> LivePlan | None:
    if path is None:
        return None
    from moldable.live.plan_file import read_plan

    return read_plan(path)
