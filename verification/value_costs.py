"""The value policy at a given blocking cost, against the optimum over all policies.

The verdicts are about the result of `tune`, which improves the table of the value function if there
are few states. The gaps of the table itself are printed as well ("as computed").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from moldable import Policy, evaluate, tune, value_policy
from verification.value_systems import System, named, not_concave, random_systems
from verification.verdict import Verdict

MEDIAN, WORST = 2e-3, 1e-2
COSTS = (2.0, 8.0, 32.0)


def experiments() -> Iterator[Verdict]:
    """Test one and two classes with concave curves; print the other gaps."""
    yield from _verdicts("named, concave", named(COSTS))
    few = [system for system in random_systems() if len(system.scenario.workload.classes) < 3]
    yield from _verdicts("random, one and two classes", few)
    many = (system for system in random_systems() if len(system.scenario.workload.classes) > 2)
    _print_gaps("random, three classes", *_gaps(many))
    _print_gaps("not concave", *_gaps(not_concave(COSTS)))


def _verdicts(what: str, systems: Iterable[System]) -> Iterator[Verdict]:
    names, computed, tuned = _gaps(systems)
    _print_gaps(what, names, computed, tuned)
    yield Verdict(f"{what}, tuned: median gap", float(np.median(tuned)), MEDIAN)
    yield Verdict(f"{what}, tuned: worst gap", float(np.max(tuned)), WORST)


def _gaps(systems: Iterable[System]) -> tuple[list[str], list[float], list[float]]:
    listed = list(systems)
    with ProcessPoolExecutor() as pool:
        computed, tuned = zip(*pool.map(_both, listed), strict=True)
    return [system.name for system in listed], list(computed), list(tuned)


def _both(system: System) -> tuple[float, float]:
    """Return the gaps of the computed table and of the tuned policy."""
    tuned = tune(system.scenario, blocking_cost=system.cost, seed=1, threads=1)
    return (
        _gap(system, value_policy(system.scenario, system.cost)),
        _gap(system, tuned.policy),
    )


def _gap(system: System, policy: Policy) -> float:
    answer = evaluate(system.scenario, policy, method="chain")
    blocking, time = answer.blocking.value, answer.mean_execution_time.value
    charge = system.cost * system.optimum.problem.mean_size
    return ((1.0 - blocking) * time + charge * blocking) / system.optimum.lower_bound - 1.0


def _print_gaps(what: str, names: list[str], computed: list[float], tuned: list[float]) -> None:
    for form, gaps in (("as computed", computed), ("tuned", tuned)):
        median, tenth, worst = 100.0 * np.quantile(gaps, (0.5, 0.9, 1.0))
        print(f"  {what}, {form}: median {median:.3f} %, p90 {tenth:.3f} %, worst {worst:.3f} %")
        for i in np.argsort(gaps)[:-4:-1]:
            print(f"    {100.0 * gaps[i]:.3f} %  {names[i]}", flush=True)
