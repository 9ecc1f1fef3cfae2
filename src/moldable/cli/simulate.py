"""`moldable simulate`: blocking and execution time at this n, with error bars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from moldable.cli import output
from moldable.cli.dask_cluster import dask_executor
from moldable.cli.options import (
    DEFAULT_POLICY,
    JsonOption,
    PolicyOption,
    SeedOption,
    ThreadsOption,
    read_policy,
    takes_scenario,
)
from moldable.errors import InputError

if TYPE_CHECKING:
    from moldable.model.scenario import Scenario
    from moldable.policies.policy_table import Policy
    from moldable.simulation.start import Start
    from moldable.system.performance import Performance

INTERRUPTED = 130


@takes_scenario()
def simulate(
    *,
    scenario: Scenario,
    policy: PolicyOption = DEFAULT_POLICY,
    jobs: Annotated[
        float | None,
        typer.Option("--jobs", metavar="N", help="Arrivals in each replication; 5e6 works."),
    ] = None,
    replications: Annotated[
        int, typer.Option("--replications", metavar="N", help="Independent runs.")
    ] = 64,
    warmup: Annotated[
        float | None,
        typer.Option(
            "--warmup",
            metavar="T",
            help="Warm-up in mean sizes; by default a pilot run decides.",
        ),
    ] = None,
    start: Annotated[
        str,
        typer.Option(
            "--start",
            metavar="STATE",
            help="equilibrium, empty, or jobs of each width: 3=100,4=40.",
        ),
    ] = "equilibrium",
    estimator: Annotated[
        str,
        typer.Option(
            "--estimator", metavar="NAME", help="assigned, realised or completed_only (biased)."
        ),
    ] = "assigned",
    precision: Annotated[
        float | None,
        typer.Option("--precision", metavar="P", help="Run until intervals are this tight: 0.01."),
    ] = None,
    max_jobs: Annotated[
        float,
        typer.Option("--max-jobs", metavar="N", help="Stop after N arrivals in all."),
    ] = 2e9,
    seed: SeedOption = None,
    threads: ThreadsOption = None,
    dask: Annotated[
        str | None,
        typer.Option("--dask", metavar="ADDRESS", help="Run on a Dask cluster, tcp://host:8786."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """What do blocking and execution time come to on this many servers?

    \b
    Examples:
      moldable simulate --servers 64 --load 0.8 --speedup 1,1.8,2.5,3,3.4
      moldable simulate --servers 4000 --regime 1/2,0.1 --speedup linear:5 --precision 0.01
      moldable simulate --servers 64 --load 0.8 --speedup linear:5 --size pareto --jobs 1e5
      moldable simulate --workload examples/cluster.toml --jobs 1e5 --policy greedy --json
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
    """Leave with the exit code of an interruption if an answer is that of an interrupted run."""
    if any(answer.interrupted for answer in answers):
        raise typer.Exit(INTERRUPTED)


def _kept_widths(text: str, scenario: Scenario) -> Policy | None:
    """Read a policy under which jobs keep their widths, as simulated ones do."""
    from moldable.policies.equi import Equi

    policy = read_policy(text, scenario)
    if isinstance(policy, Equi):
        raise InputError("equi is preemptive: no width is kept; use moldable evaluate")
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
