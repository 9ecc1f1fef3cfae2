"""Predictions of plans against independent simulations, in 20 random scenarios.

Every figure of the recommended policy and of the other policies must agree within four standard
errors with a simulation of its own seed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from moldable import plan, simulate
from moldable.results import Performance
from moldable.system.estimate import Estimate
from verification.plan_systems import scenarios
from verification.verdict import Verdict

COUNT, JOBS = 20, 100_000
MOST = 4.0


def experiments() -> Iterator[Verdict]:
    """Compare the recommended policy and greedy with simulations."""
    errors: dict[str, float] = {}
    for k, (name, scenario) in enumerate(scenarios(COUNT, exponential=False)):
        found = plan(scenario, seed=k, threads=2)
        pairs = {"recommended": (found.performance, found.policy)}
        for other in found.alternatives:
            if other.performance is not None and other.policy is not None:
                pairs[other.name] = (other.performance, other.policy)
        for who, (predicted, policy) in pairs.items():
            if predicted.scenario.workload.sharing != "pool":
                continue
            run = simulate(scenario, policy, jobs=JOBS, replications=32, seed=1000 + k)
            for figure, z in _standard_errors(predicted, run).items():
                errors[f"{name}, {who}, {figure}"] = z
        print(f"  {name}: {max(abs(z) for z in errors.values()):.2f} so far", flush=True)
    worst = max(errors, key=lambda one: abs(errors[one]))
    print(f"  {len(errors)} figures; the worst: {worst}")
    yield Verdict("largest error in standard errors", abs(errors[worst]), MOST)


def _standard_errors(predicted: Performance, run: Performance) -> dict[str, float]:
    figures = ["mean_execution_time"]
    if predicted.scenario.waiting == 0:
        figures.append("blocking")
    found = {name: _z(getattr(predicted, name), getattr(run, name)) for name in figures}
    if predicted.queueing is not None and run.queueing is not None:
        for name in ("mean_response_time", "wait_probability"):
            found[name] = _z(getattr(predicted.queueing, name), getattr(run.queueing, name))
    return found


def _z(one: Estimate, other: Estimate) -> float:
    error = math.hypot(one.half_width, other.half_width) / 1.96
    # One width has the same execution time in both, to the last digit.
    return 0.0 if abs(one - other) < 1e-9 * abs(other) else (one - other) / error
