"""Mean response times of policies of a cluster that queues, above the optimum of all policies.

The tuned policy is judged on the sub-linear curve and on Amdahl's law with 95 % parallel work, on
10 to 30 servers at loads 0.5 to 0.9 and on the sub-linear curve on 64 servers; other policies and
several classes are reported. On 64 servers load 0.9 is left out: the optimum takes minutes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median

from moldable import JobClass, Scenario, Workload, evaluate, tune
from moldable.errors import UnstableError
from moldable.optimal import optimal_queueing
from moldable.policies import queue_value_policy
from verification.named_curves import AMDAHL, LINEAR, SUBLINEAR
from verification.verdict import Verdict

LOADS = (0.5, 0.7, 0.8, 0.9)
CASES = (
    *(("sub-linear", SUBLINEAR, servers, LOADS) for servers in (10, 16, 30)),
    ("sub-linear", SUBLINEAR, 64, (0.5, 0.7, 0.8)),
    *(("Amdahl 0.95", AMDAHL, servers, LOADS) for servers in (10, 16, 30)),
)
MEDIAN, WORST = 0.7, 1.5
SIMPLE = ("even-price", "idle-share", "greedy")


def experiments() -> Iterator[Verdict]:
    """Print a line for each system, and judge the tuned policies."""
    tuned: dict[str, float] = {}
    for name, curve, servers, loads in CASES:
        for load in loads:
            scenario = Scenario.single(curve, load, servers, waiting=math.inf)
            case = f"{name}, n = {servers}, load {load}"
            tuned[case] = _compared(case, scenario)
    middle = median(tuned.values())
    yield Verdict("tuned policies, per cent above the optimum: median", middle, MEDIAN)
    worst = max(tuned.values())
    yield Verdict("tuned policies, per cent above the optimum: worst", worst, WORST)
    for name, scenario in _several_classes().items():
        _compared(name, scenario)


def _compared(name: str, scenario: Scenario) -> float:
    """Print how far policies are above the optimum, and return it for the tuned one."""
    best = optimal_queueing(scenario, tolerance=1e-5).mean_response_time
    tuned = tune(scenario, seed=1)
    found = {"tuned": _response(scenario, tuned.policy, best)}
    found["value policy"] = _response(scenario, queue_value_policy(scenario), best)
    for policy in SIMPLE:
        try:
            found[policy] = _response(scenario, policy, best)
        except UnstableError:
            found[policy] = math.inf
    if tuned.fixed is not None:
        response = tuned.fixed.queueing.mean_response_time
        found[f"fixed:{tuned.fixed_width}"] = 100.0 * (response / best - 1.0)
    listed = ", ".join(f"{policy} {excess:.2f}" for policy, excess in found.items())
    print(f"  {name}: optimum {best:.6f}; % above: {listed} ({tuned.family})", flush=True)
    return found["tuned"]


def _response(scenario: Scenario, policy: object, best: float) -> float:
    answer = evaluate(scenario, policy, precision=0.001, seed=1)
    return 100.0 * (answer.queueing.mean_response_time / best - 1.0)


def _several_classes() -> dict[str, Scenario]:
    two = [JobClass("a", 5.0, SUBLINEAR), JobClass("b", 1.2, LINEAR, mean_size=2.0)]
    three = [
        JobClass("a", 3.0, [1, 1.8, 2.5]),
        JobClass("b", 1.0, [1, 1.9], mean_size=2.0),
        JobClass("c", 2.0, [1, 1.5], mean_size=0.5),
    ]
    return {
        "two classes, n = 10, load 0.74": Scenario(Workload(two), 10, waiting=math.inf),
        "three classes, n = 8, load 0.75": Scenario(Workload(three), 8, waiting=math.inf),
    }
