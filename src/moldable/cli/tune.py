"""`moldable tune`: a policy for a target."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moldable.cli import output
from moldable.cli.options import (
    BlockingCostOption,
    JsonOption,
    MaxBlockingOption,
    MaxWaitProbabilityOption,
    PolicyOutOption,
    PrecisionOption,
    SeedOption,
    ThreadsOption,
)
from moldable.cli.scenario_options import takes_scenario
from moldable.errors import InputError

if TYPE_CHECKING:
    from moldable.model.scenario import Scenario
    from moldable.policies.decisions import Decisions
    from moldable.tuning.tuned import Tuned
    from moldable.tuning.tuned_queue import TunedQueue

TARGETS = ("--max-blocking", "--blocking-cost", "--max-time")


@takes_scenario()
def tune(
    *,
    context: typer.Context,
    scenario: Scenario,
    max_blocking: MaxBlockingOption = None,
    blocking_cost: BlockingCostOption = None,
    max_time: Annotated[
        str | None,
        typer.Option(
            "--max-time",
            metavar="T",
            help="Target without waiting places: mean execution time at most T, such as 0.6 or, if "
            "the workload file has a time_unit, 90min.",
        ),
    ] = None,
    max_wait_probability: MaxWaitProbabilityOption = None,
    max_mean_wait: Annotated[
        str | None,
        typer.Option(
            "--max-mean-wait",
            metavar="T",
            help="Target where jobs wait: mean wait at most T, such as 0.5 or, if the workload "
            "file has a time_unit, 5min.",
        ),
    ] = None,
    optimum: Annotated[
        bool,
        typer.Option(
            "--optimum",
            help="Compute the true optimum, the best of all policies, even if it takes minutes: up "
            "to five million states instead of 50,000 (with waiting places, three million instead "
            "of 60,000). Sizes must be exponential.",
        ),
    ] = False,
    policy_out: PolicyOutOption = None,
    precision: PrecisionOption = 0.01,
    seed: SeedOption = None,
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> None:
    """Find the best policy for a target.

    The policy is a table from the number of idle servers to the width of the next job. Without
    waiting places, give one target: --max-blocking for the least mean execution time within that
    limit, --max-time for the least blocking, or --blocking-cost for the least cost. With waiting
    places the table also depends on the number of waiting jobs, the mean response time is
    minimised, and a target is optional. --policy of other commands reads the output of --json.

    \b
    Examples:
      moldable tune --servers 30 --load 0.8 \\
        --speedup 1,1.8,2.5,3,3.4 --max-blocking 0.08
      moldable tune --servers 20 --load 0.8 \\
        --speedup linear:4 --blocking-cost 4 --json
      moldable tune --workload examples/gpus.toml \\
        --max-blocking 0.2
      moldable tune --servers 20 --load 0.8 \\
        --speedup 1,1.8,2.5 --max-time 0.6
      moldable tune --servers 16 --load 0.8 \\
        --speedup 1,1.8,2.5,3,3.4 --waiting unlimited \\
        --policy-out policy.json
    The file is copied by: moldable examples --copy examples
    """
    from moldable.exact.states import MOST_STATES
    from moldable.live.plan_file import write_plan
    from moldable.text_files import check_writable
    from moldable.tuning.reference import AT_ONCE, fits
    from moldable.tuning.tuned_queue import TunedQueue
    from moldable.tuning.tuning import tune as run

    if not scenario.waiting:
        if max_wait_probability is not None or max_mean_wait is not None:
            raise InputError(
                "--max-wait-probability and --max-mean-wait need waiting places; add --waiting "
                "unlimited, or a number of places"
            )
        _refuse_none_or_several(max_blocking, blocking_cost, max_time)
    if policy_out is not None:
        workload = context.params["workload"]
        check_writable(policy_out, "--policy-out", Path(workload) if workload else None)
    output.show_log()
    with output.status_line() as progress:
        answer = run(
            scenario,
            max_blocking=max_blocking,
            blocking_cost=blocking_cost,
            max_time=max_time,
            max_wait_probability=max_wait_probability,
            max_mean_wait=max_mean_wait,
            optimum=optimum,
            precision=precision,
            seed=seed,
            threads=threads,
            progress=progress,
        )
    for warning in answer.performance.warnings:
        output.note(warning)
    if policy_out is not None:
        write_plan(policy_out, answer.policy, answer.performance)
        output.note(f"the policy was written to {policy_out}")
    if isinstance(answer, TunedQueue):
        _show_queue(answer, json=json)
        return
    decided = _decisions(answer, scenario)
    if json:
        found = [part.to_dict() for part in decided]
        output.print_json(answer.to_dict() | {"decisions": found})
    else:
        from moldable.reporting.tuning_text import show_tuned

        show_tuned(output.console(), answer, decided)
        if not optimum and fits(scenario, MOST_STATES) and not fits(scenario, AT_ONCE):
            output.note(
                "the true optimum would take minutes to compute; add --optimum to compute it"
            )


def _show_queue(answer: TunedQueue, *, json: bool) -> None:
    if json:
        output.print_json(answer.to_dict())
        return
    from moldable.reporting.queue_text import show_tuned_queue

    show_tuned_queue(output.console(), answer)


def _refuse_none_or_several(*values: float | str | None) -> None:
    """Refuse no target and more than one."""
    given = [name for name, value in zip(TARGETS, values, strict=True) if value is not None]
    if len(given) != 1:
        raise InputError(
            f"give exactly one of {', '.join(TARGETS)}; got {' and '.join(given) or 'none'}"
        )


def _decisions(answer: Tuned, scenario: Scenario) -> tuple[Decisions, ...]:
    """Return the decisions of the tuned policy and of the paper's policies."""
    from moldable.policies.decisions import decisions
    from moldable.policies.greedy import Greedy, greedy_p
    from moldable.policies.policy import Policy

    others: dict[str, Policy] = {}
    if answer.greedy_p is not None:
        others["greedy_p"] = greedy_p(scenario)
    if answer.static is not None:
        others["static"] = greedy_p(scenario, answer.static.design_load)
    return decisions(scenario, {"tuned": answer.policy, **others, "greedy": Greedy()})
