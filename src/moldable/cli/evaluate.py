"""`moldable evaluate`: how a policy performs, exactly where that can be had."""

from __future__ import annotations

from typing import Annotated

import typer

from moldable.cli import output
from moldable.cli.policy import DEFAULT, PolicyOption, read_policy
from moldable.cli.simulate import show
from moldable.cli.system import (
    ArrivalsOption,
    JsonOption,
    LoadOption,
    RegimeOption,
    ServersOption,
    SizeOption,
    SpeedUpOption,
    WorkloadOption,
    any_scenario,
)

MethodOption = Annotated[
    str,
    typer.Option(
        "--method",
        metavar="METHOD",
        help="auto (a formula, else the chain if it is small, else simulation), closed-form, "
        "chain or simulate.",
    ),
]
PrecisionOption = Annotated[
    float,
    typer.Option(
        "--precision", metavar="P", help="Target relative half-width of simulated 95 % intervals."
    ),
]
SeedOption = Annotated[int | None, typer.Option("--seed", metavar="S", help="Random seed.")]
ThreadsOption = Annotated[
    int | None, typer.Option("--threads", metavar="N", help="Default: all cores.")
]


def evaluate(
    *,
    speedup: SpeedUpOption = None,
    load: LoadOption = None,
    regime: RegimeOption = None,
    servers: ServersOption = None,
    workload: WorkloadOption = None,
    policy: PolicyOption = DEFAULT,
    size: SizeOption = None,
    arrivals: ArrivalsOption = None,
    method: MethodOption = "auto",
    precision: PrecisionOption = 0.01,
    seed: SeedOption = None,
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> None:
    """How does a policy perform on this many servers, exactly if that can be had?

    \b
    Examples:
      moldable evaluate --servers 64 --load 0.8 --speedup 1,1.8,2.5,3,3.4
      moldable evaluate --servers 4000 --regime 1/2,0.1 --speedup linear:5
      moldable evaluate --servers 64 --load 0.8 --speedup 1,1.8,2.5,3,3.4 --policy fixed:3
      moldable evaluate --servers 64 --load 0.8 --speedup 1,1.8,2.5,3,3.4 --policy equi --json
    """
    from moldable.evaluation.evaluate import evaluate as run

    output.show_log()
    scenario = any_scenario(speedup, load, regime, servers, workload, size=size, arrivals=arrivals)
    chosen = read_policy(policy, scenario)
    with output.progress_bar("replications") as progress:
        answer = run(
            scenario,
            chosen,
            method=method,
            precision=precision,
            seed=seed,
            threads=threads,
            progress=progress,
        )
    show(answer, json=json)
