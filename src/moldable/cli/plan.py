"""`moldable plan`: a policy, the size of the cluster, and how certain both are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from moldable.cli import output, report
from moldable.cli.log_options import (
    CurveOption,
    Guesses,
    LogOptions,
    WidestOption,
    read_scenario_or_log,
    takes_log,
)
from moldable.cli.options import (
    BlockingCostOption,
    JsonOption,
    MaxBlockingOption,
    MaxWaitProbabilityOption,
    PolicyOutOption,
    PrecisionOption,
    SeedOption,
    ServersOption,
    ThreadsOption,
    WaitingOption,
    parse_growth,
)
from moldable.cli.report import ReportOption


@takes_log
def plan(
    *,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Scenario file (.toml; '-' reads one from standard input), or a job log as for "
            "moldable trace.",
            show_default=False,
        ),
    ],
    options: LogOptions,
    servers: ServersOption = None,
    curve: CurveOption = None,
    widest: WidestOption = None,
    waiting: WaitingOption = None,
    max_blocking: MaxBlockingOption = None,
    max_wait: Annotated[
        str | None,
        typer.Option(
            "--max-wait",
            metavar="T",
            help="Target with unlimited waiting places: mean wait at most T, such as 10min.",
        ),
    ] = None,
    max_response: Annotated[
        str | None,
        typer.Option(
            "--max-response",
            metavar="T",
            help="Target with unlimited waiting places: mean response time at most T.",
        ),
    ] = None,
    max_wait_probability: MaxWaitProbabilityOption = None,
    blocking_cost: BlockingCostOption = None,
    growth: Annotated[
        float,
        typer.Option(
            "--growth",
            metavar="G",
            parser=parse_growth,
            help="With a target: also size the cluster for G times as many jobs, such as 1.2; 20% "
            "means the same.",
        ),
    ] = 1.0,
    policy_out: PolicyOutOption = None,
    report_file: ReportOption = None,
    precision: PrecisionOption = 0.02,
    seed: SeedOption = None,
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> None:
    """Plan a cluster: widths, performance, size.

    Recommends a policy and compares it with the usual rule of schedulers (the largest width that
    fits), fixed widths, the paper's policy and, where known, the best of all policies. With a
    target, it finds the smallest cluster that meets it, at the present load and after growth.
    Without one, it minimises the mean response time or, where jobs are lost, the cost per job at a
    blocking cost of 10. A table shows the performance if the load, the curves, the arrivals or the
    sizes differ from the assumptions.

    \b
    Examples:
      moldable plan examples/gpus.toml --max-blocking 0.1 \\
        --growth 1.2
      moldable plan examples/gpus.toml --waiting unlimited \\
        --max-wait 30min --policy-out policy.json
      moldable plan examples/slurm-week.txt --servers 64 \\
        --class-by "name:^(train|eval|solve)" \\
        --precision 0.2 --report report.html
    The files are copied by: moldable examples --copy examples
    """
    from moldable.live.plan_file import write_plan
    from moldable.planning.planning import plan as run
    from moldable.text_files import check_writable

    output.show_log()
    report.check(report_file, file)
    if policy_out is not None:
        check_writable(policy_out, "--policy-out", file)
    with output.status_line() as progress:
        given = Guesses(servers, waiting, curve, widest)
        scenario, log = read_scenario_or_log(file, options, given, progress)
        answer = run(
            scenario,
            max_blocking=max_blocking,
            max_wait=max_wait,
            max_response=max_response,
            max_wait_probability=max_wait_probability,
            blocking_cost=blocking_cost,
            growth=growth,
            precision=precision,
            seed=seed,
            threads=threads,
            progress=progress,
        )
        if report_file is not None:
            report.write_plan(report_file, answer, file, log, progress)
    for text in (*answer.notes, *answer.performance.warnings):
        output.note(text)
    if policy_out is not None:
        write_plan(policy_out, answer.policy, answer.performance)
    if json:
        output.print_json(answer.to_dict())
        return
    from moldable.reporting.plan_text import show_plan

    show_plan(output.console(), answer)
    if policy_out is not None:
        output.note(f"the policy was written to {policy_out}")
    if report_file is not None:
        output.console().print(f"Report: {report_file}")
