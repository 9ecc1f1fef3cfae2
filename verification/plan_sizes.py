"""Smallest clusters in 20 random scenarios: n keeps the limit, and n - 1 does not.

At n the policy is evaluated independently. At n - 1 `tune` must not reach the limit; the dynamic
programme says in how many cases no policy does.
"""

from __future__ import annotations

from collections.abc import Iterator

from moldable import Scenario, evaluate, tune
from moldable.errors import MoldableError
from moldable.optimal import least_blocking, optimal_queueing
from moldable.planning.choice import Options
from moldable.planning.goal import Goal
from moldable.planning.least_figures import fastest_time
from moldable.planning.sizing import smallest_cluster
from verification.plan_systems import scenarios
from verification.verdict import Verdict

COUNT = 20
OPTIONS = Options(0.02, 1, 2, lambda _: None)
LIMIT = 0.05
SLOWER = 1.6
"""The limit on the response, relative to the time on the fastest widths."""


def experiments() -> Iterator[Verdict]:
    """Count the sizes that are not the smallest."""
    broken = reached = proved = 0
    for name, scenario in scenarios(COUNT, exponential=True):
        limit = {"max_response": SLOWER * fastest_time(scenario)}
        if not scenario.waiting:
            limit = {"max_blocking": LIMIT}
        ((what, value),) = limit.items()
        goal = Goal.of(scenario, None, **limit)
        found = smallest_cluster(scenario, goal, OPTIONS)
        answer = evaluate(found.choice.performance.scenario, found.choice.policy, precision=0.005)
        broken += goal.figure(answer).value > value
        if found.fewer is None:
            proved += 1
            continue
        fewer = found.fewer.performance.scenario
        reached += _reached(fewer, goal, what, value)
        proved += _impossible(fewer, value)
        print(f"  {name}: {what} {value:.3g}: {found.servers} servers", flush=True)
    print(f"  no policy at all keeps the limit on one server fewer: {proved} of {COUNT}")
    yield Verdict("sizes that break the limit", broken, 0)
    yield Verdict("sizes at which one server fewer keeps the limit, too", reached, 0)


def _reached(fewer: Scenario, goal: Goal, what: str, value: float) -> bool:
    try:
        tuned = tune(fewer, **({what: value} if what == "max_blocking" else {}), seed=2)
    except MoldableError:
        return False
    return tuned.certified and goal.kept(tuned.performance)


def _impossible(fewer: Scenario, value: float) -> bool:
    """Return whether the optimum over all policies is known to break the limit."""
    try:
        if fewer.waiting:
            return optimal_queueing(fewer, tolerance=1e-4).lower_bound > value
        return least_blocking(fewer, tolerance=1e-4).blocking > value
    except MoldableError:
        return False
