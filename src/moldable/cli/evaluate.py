"""`moldable evaluate`: the performance of a policy, exact where possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldable.cli import output
from moldable.cli.options import (
    JsonOption,
    MethodOption,
    PolicyOption,
    PrecisionOption,
    SeedOption,
    SlowdownOption,
    ThreadsOption,
)
from moldable.cli.scenario_options import read_policy, takes_scenario
from moldable.cli.simulate import show

if TYPE_CHECKING:
    from moldable.model.scenario import Scenario


@takes_scenario()
def evaluate(
    *,
    scenario: Scenario,
    policy: PolicyOption = None,
    method: MethodOption = "auto",
    precision: PrecisionOption = 0.01,
    seed: SeedOption = None,
    threads: ThreadsOption = None,
    slowdown_threshold: SlowdownOption = None,
    json: JsonOption = False,
) -> None:
    """Compute the performance of a policy.

    Blocking, execution and waiting times are computed exactly where possible, otherwise by
    simulation.

    \b
    Examples:
      moldable evaluate --servers 64 --load 0.8 \\
        --speedup 1,1.8,2.5,3,3.4
      moldable evaluate --servers 4000 --regime 1/2,0.1 \\
        --speedup linear:5
      moldable evaluate --servers 64 --load 0.8 \\
        --speedup 1,1.8,2.5,3,3.4 --policy fixed:3
      moldable evaluate --servers 64 --load 0.8 \\
        --speedup 1,1.8,2.5,3,3.4 --policy equi --json
    """
    from moldable.evaluation.evaluate import evaluate as run

    output.show_log()
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
            slowdown_threshold=slowdown_threshold,
        )
    show(answer, json=json)
