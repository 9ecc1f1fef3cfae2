"""`moldable compare`: policies side by side on one system."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from moldable.cli import output
from moldable.cli.options import (
    JsonOption,
    MethodOption,
    PrecisionOption,
    SeedOption,
    SlowdownOption,
    ThreadsOption,
)
from moldable.cli.scenario_options import read_policy, takes_scenario
from moldable.cli.simulate import end_if_interrupted
from moldable.errors import InputError

if TYPE_CHECKING:
    from moldable.files.policy_file import Rule
    from moldable.model.scenario import Scenario

DEFAULT: Final = {False: "greedy-p,greedy", True: "value,even-price,idle-share"}
"""Policies that are compared by default, without and with waiting places."""


@takes_scenario()
def compare(
    *,
    scenario: Scenario,
    policies: Annotated[
        list[str] | None,
        typer.Option(
            "--policies",
            "--policy",
            metavar="A,B,C",
            help="Policies, separated by commas or one per option; differences are relative to the "
            "first.",
            show_default="greedy-p,greedy; with waiting places value,even-price,idle-share",
        ),
    ] = None,
    method: MethodOption = "auto",
    precision: PrecisionOption = 0.01,
    seed: SeedOption = None,
    threads: ThreadsOption = None,
    slowdown_threshold: SlowdownOption = None,
    json: JsonOption = False,
) -> None:
    """Compare policies on one system.

    Pareto-optimal policies are marked with *: no other policy is better in blocking or mean
    execution time without being worse in the other. Simulations share their random numbers.
    With waiting places the time is the mean response time; policies under which an unlimited queue
    would grow without limit are listed as unstable.

    \b
    Examples:
      moldable compare --servers 40 --load 0.8 \\
        --speedup 1,1.8,2.5,3,3.4
      moldable compare --servers 40 --load 0.8 \\
        --speedup linear:4 --policies greedy,fixed:2,equi
    """
    from moldable.evaluation.compare import compare as run

    output.show_log()
    named = _read_policies(policies or [DEFAULT[scenario.waiting > 0]], scenario)
    with output.progress_bar("replications") as progress:
        answer = run(
            scenario,
            named,
            method=method,
            precision=precision,
            seed=seed,
            threads=threads,
            progress=progress,
            slowdown_threshold=slowdown_threshold,
        )
    found = [part.performance for part in answer.policies]
    for warning in dict.fromkeys(warning for one in found for warning in one.warnings):
        output.note(warning)
    for reason in answer.unstable.values():
        output.note(reason)
    if json:
        output.print_json(answer.to_dict())
    else:
        from moldable.reporting.comparison_text import show_comparison

        show_comparison(output.console(), answer)
    end_if_interrupted(*found)


def _read_policies(texts: list[str], scenario: Scenario) -> dict[str, Rule]:
    named: dict[str, Rule] = {}
    for part in (part for text in texts for part in _split(text)):
        name = part.strip()
        if not name:
            raise InputError(
                f"--policies {','.join(texts)!r} has an empty entry; write greedy-p,greedy,fixed:3"
            )
        if name in named:
            raise InputError(f"--policies names {name!r} twice; keep one of them")
        named[name] = read_policy(name, scenario)
    return named


def _split(text: str) -> list[str]:
    """Split at commas; a number belongs to the policy before it."""
    parts: list[str] = []
    for part in text.split(","):
        if parts and _is_number(part):
            parts[-1] += f",{part}"
        else:
            parts.append(part)
    return parts


def _is_number(part: str) -> bool:
    try:
        float(part)
    except ValueError:
        return False
    return True
