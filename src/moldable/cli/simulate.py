"""`moldable simulate`: the performance of a policy by simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from moldable.cli import output
from moldable.cli.dask_cluster import dask_executor
from moldable.cli.options import (
    JsonOption,
    OptionalPrecisionOption,
    PolicyOption,
    SeedOption,
    SlowdownOption,
    ThreadsOption,
)
from moldable.cli.scenario_options import read_policy, takes_scenario
from moldable.errors import InputError

if TYPE_CHECKING:
    from moldable.model.scenario import Scenario
    from moldable.policies.policy import Policy
    from moldable.simulation.start import Start
    from moldable.system.performance import Performance


@takes_scenario()
def simulate(
    *,
    scenario: Scenario,
    policy: PolicyOption = None,
    jobs: Annotated[
        float | None,
        typer.Option("--jobs", metavar="N", help="Arrivals in each replication, such as 5e6."),
    ] = None,
    replications: Annotated[
        int, typer.Option("--replications", metavar="N", help="Number of independent replications.")
    ] = 64,
    warmup: Annotated[
        float | None,
        typer.Option(
            "--warmup",
            metavar="T",
            help="Warm-up to discard, in mean job sizes (default: chosen automatically).",
        ),
    ] = None,
    start: Annotated[
        str,
        typer.Option(
            "--start",
            metavar="STATE",
            help="Initial state: equilibrium, empty, or jobs of each width, such as 3=100,4=40.",
        ),
    ] = "equilibrium",
    estimator: Annotated[
        str,
        typer.Option(
            "--estimator",
            metavar="NAME",
            help="Estimator of the mean execution time: assigned (least variance), realised or "
            "completed_only (biased).",
        ),
    ] = "assigned",
    precision: OptionalPrecisionOption = None,
    max_jobs: Annotated[
        float,
        typer.Option(
            "--max-jobs",
            metavar="N",
            help="Stop after N arrivals even if --precision is not reached.",
        ),
    ] = 2e9,
    seed: SeedOption = None,
    threads: ThreadsOption = None,
    dask: Annotated[
        str | None,
        typer.Option(
            "--dask", metavar="ADDRESS", help="Run on a Dask cluster, such as tcp://host:8786."
        ),
    ] = None,
    slowdown_threshold: SlowdownOption = None,
    json: JsonOption = False,
) -> None:
    """Simulate a policy.

    Prints blocking and execution time with 95 % confidence intervals. With --precision,
    replications are added until the intervals are narrow enough, or until --max-jobs.

    \b
    Examples:
      moldable simulate --servers 64 --load 0.8 \\
        --speedup 1,1.8,2.5,3,3.4
      moldable simulate --servers 4000 --regime 1/2,0.1 \\
        --speedup linear:5 --precision 0.01
      moldable simulate --servers 64 --load 0.8 \\
        --speedup linear:5 --size pareto --jobs 1e5
      moldable simulate --workload examples/cluster.toml \\
        --jobs 1e5 --policy greedy --json
    The file is copied by: moldable examples --copy examples
    """
    from moldable.simulation.simulate import simulate as run

    output.show_log()
    chosen = _kept_widths(policy, scenario)
    with dask_executor(dask) as executor, output.progress_bar("replications") as progress:
        answer = run(
            scenario,
            chosen,
            jobs=jobs,
            replications=replications,
            warmup=warmup,
            start=read_start(start),
            estimator=estimator,
            precision=precision,
            max_jobs=max_jobs,
            seed=seed,
            threads=threads,
            executor=executor,
            progress=progress,
            slowdown_threshold=slowdown_threshold,
        )
    show(answer, json=json)


def show(answer: Performance, *, json: bool) -> None:
    """Print an answer and its warnings."""
    for warning in answer.warnings:
        output.note(warning)
    if json:
        output.print_json(answer.to_dict())
    else:
        from moldable.reporting.performance_text import show_performance

        show_performance(output.console(), answer)
    end_if_interrupted(answer)


def end_if_interrupted(*answers: Performance) -> None:
    """End with the exit code of an interruption if an answer is that of an interrupted run."""
    if any(answer.interrupted for answer in answers):
        output.end_interrupted("the result is that of the replications that finished")


def _kept_widths(text: str | None, scenario: Scenario) -> Policy | None:
    """Read a policy. EQUI is refused, because simulated jobs keep their widths."""
    from moldable.policies.equi import Equi

    policy = read_policy(text, scenario)
    if isinstance(policy, Equi):
        raise InputError("equi is preemptive: widths change while jobs run; use moldable evaluate")
    return policy


def read_start(text: str) -> Start:
    """Read the name of a start, or width=count pairs of the first class."""
    if "=" not in text:
        return text
    counts: dict[int, int] = {}
    for part in text.split(","):
        width, _, count = part.partition("=")
        try:
            key, value = int(width), int(count)
        except ValueError:
            raise InputError(f"start {text!r}: {part!r} is not width=count: 3=100") from None
        if key in counts:
            raise InputError(f"start {text!r}: width {key} is given twice; keep one of them")
        counts[key] = value
    return counts
