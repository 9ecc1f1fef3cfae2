"""`moldable tune`: the price policy that reaches a target at this n."""

from __future__ import annotations

from typing import Annotated

import typer

from moldable.cli import output
from moldable.cli.evaluate import PrecisionOption, SeedOption, ThreadsOption
from moldable.cli.system import (
    JsonOption,
    LoadOption,
    RegimeOption,
    ServersOption,
    SizeOption,
    SpeedUpOption,
    WorkloadOption,
    any_workload,
    with_size,
)


def tune(
    *,
    speedup: SpeedUpOption = None,
    load: LoadOption = None,
    regime: RegimeOption = None,
    servers: ServersOption = None,
    workload: WorkloadOption = None,
    max_blocking: Annotated[
        float | None,
        typer.Option("--max-blocking", metavar="P", help="Least time with at most this blocking."),
    ] = None,
    blocked_job_price: Annotated[
        float | None,
        typer.Option(
            "--blocked-job-price",
            metavar="C",
            help="Least cost per arrival; a blocked job costs so many mean sizes.",
        ),
    ] = None,
    max_time: Annotated[
        float | None,
        typer.Option("--max-time", metavar="T", help="Least blocking with at most this mean time."),
    ] = None,
    size: SizeOption = None,
    precision: PrecisionOption = 0.01,
    seed: SeedOption = None,
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> None:
    """How many servers should a job get, given how many are idle, to reach a target?

    \b
    Examples:
      moldable tune --servers 30 --load 0.8 --speedup 1,1.8,2.5,3,3.4 --max-blocking 0.08
      moldable tune --servers 20 --load 0.8 --speedup linear:4 --blocked-job-price 4 --json
    """
    from moldable.control.tuning import tune as run

    output.show_log()
    system, n = any_workload(speedup, load, regime, servers, workload)
    answer = run(
        with_size(system, size),
        n,
        max_blocking=max_blocking,
        blocked_job_price=blocked_job_price,
        max_time=max_time,
        precision=precision,
        seed=seed,
        threads=threads,
    )
    for warning in answer.performance.warnings:
        output.note(warning)
    if json:
        output.print_json(answer.to_dict())
    else:
        from moldable.reporting.tuning_text import show_tuned

        show_tuned(output.console(), answer)
