"""Long simulations against Erlang's formula: deviations, and coverage of the intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator

from scipy.special import stdtrit

from moldable import JobClass, Scenario, SizeLaw, SpeedUp, Workload, simulate
from naive.erlang import erlang_b
from verification.verdict import Verdict

LINEAR = SpeedUp.linear(5)


def experiments() -> Iterator[Verdict]:
    """Test every size law on two numbers of servers, then the coverage of the intervals."""
    for n, jobs, replications in ((400, 1_000_000, 64), (4000, 4_000_000, 64)):
        load = 1 - 0.1 / math.sqrt(n)
        exact = erlang_b(n * load / 5, n // 5)
        for law in ("exponential", "deterministic", "mixed-erlang", "lognormal:2", "pareto:1.5"):
            answer = simulate(
                Scenario(_workload(n, load, law), n), jobs=jobs, replications=replications, seed=1
            )
            error = answer.blocking.half_width / stdtrit(replications - 1, 0.975)
            z = abs(answer.blocking.value - exact) / error
            size = f"relative standard error {error / exact:.2g}"
            yield Verdict(f"n = {n}, {law}: blocking, standard errors off ({size})", z, 4)
    yield _coverage()


def _workload(n: int, load: float, law: str) -> Workload:
    return Workload((JobClass("jobs", n * load, LINEAR, size=SizeLaw.parse(law)),))


def _coverage() -> Verdict:
    """Count how many of 400 intervals of 95 % contain the exact value."""
    n, load, runs = 100, 0.9, 400
    exact = erlang_b(n * load / 5, n // 5)
    held = 0
    for seed in range(runs):
        answer = simulate(
            Scenario(_workload(n, load, "exponential"), n), jobs=20_000, replications=20, seed=seed
        )
        low, high = answer.blocking.interval or (0.0, 0.0)
        held += low <= exact <= high
    z = abs(held / runs - 0.95) / math.sqrt(0.95 * 0.05 / runs)
    return Verdict(f"exact value in {held} of {runs} 95 % intervals: standard errors off", z, 4)
