"""Exact chains against the elimination of Grassmann, Taksar and Heyman, which has no subtractions.

Random systems with 3 to 6 kinds of jobs, and nearly decomposable ones: sizes many orders of
magnitude apart, and two metastable states. Each is solved by factorisation and by iteration. An
answer must have a relative error below 1e-8, or be refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from moldable import JobClass, MoldableError, Policy, Scenario, SpeedUp, Workload
from moldable.errors import NearlyDecomposableError
from moldable.exact import stationary
from moldable.exact.exact import stationary_law
from moldable.policies import GreedyP
from moldable.system.loss_system import build_system
from naive import dense_chain
from naive.random_systems import random_policy, random_workload
from verification.verdict import Verdict

RANDOM, SLOW = 500, 100
STATES = 1200
"""Largest number of states for elimination, whose cost grows with their cube."""
RIGHT = 1e-8
TINY = 1e-15
"""Smaller blocking probabilities have their error bounded relative to this one."""
System = tuple[Workload, int, Policy]


def experiments() -> Iterator[Verdict]:
    """Solve all systems by both solvers."""
    rng = np.random.default_rng(20261118)
    yield from _verdicts("random chains", [_random(rng) for _ in range(RANDOM)], refused=0)
    yield from _verdicts(
        "nearly decomposable chains", [_slow(rng) for _ in range(SLOW)], refused=None
    )


def _verdicts(name: str, systems: list[System], refused: int | None) -> Iterator[Verdict]:
    for solver in ("factorised", "iterated"):
        errors, refusals = [], 0
        with _only(solver):
            for workload, servers, policy in systems:
                truth = dense_chain.solve(workload, servers, policy, 10 * STATES)
                try:
                    law = stationary_law(Scenario(workload, servers), policy, method="chain")
                except NearlyDecomposableError:
                    refusals += 1
                    continue
                found = law.performance()
                pairs = [
                    *zip((c.blocking.value for c in found.classes), truth.blocking, strict=True),
                    (found.mean_execution_time.value, truth.mean_time),
                ]
                errors.append(max(abs(a - b) / max(abs(b), TINY) for a, b in pairs))
        what = f"{name}, {solver}: largest relative error of {len(errors)} answers"
        yield Verdict(what, max(errors), RIGHT)
        if refused is None:  # refusals are never wrong, so they are printed but not tested
            print(f"  {name}, {solver}: {refusals} of {len(systems)} refused")
        else:
            yield Verdict(f"{name}, {solver}: refused", refusals, refused)


@contextmanager
def _only(solver: str) -> Iterator[None]:
    """Use one solver, whatever the number of states."""
    limits = stationary.FACTORISED, stationary.LAST_RESORT
    most = 10**9 if solver == "factorised" else 0
    vars(stationary).update(FACTORISED={True: most, False: most}, LAST_RESORT=0)
    try:
        yield
    finally:
        vars(stationary).update(FACTORISED=limits[0], LAST_RESORT=limits[1])


def _random(rng: np.random.Generator) -> System:
    while True:
        servers = int(rng.integers(5, 16))
        workload = random_workload(
            rng, servers, classes=int(rng.integers(1, 4)), most_widths=int(rng.integers(2, 5))
        )
        policy = random_policy(rng, workload, servers)
        if _fits(workload, servers, policy):
            return workload, servers, policy


def _fits(workload: Workload, servers: int, policy: Policy) -> bool:
    """Return whether the chain has 3 to 6 kinds, and few enough states for elimination."""
    try:
        kinds = build_system(Scenario(workload, servers), policy).kind_width.size
        dense_chain.all_rates(workload, servers, policy, STATES)
    except (MoldableError, dense_chain.TooMany):
        return False
    return 3 <= kinds <= 6


def _slow(rng: np.random.Generator) -> System:
    """Return a system with sizes far apart, or a policy with two metastable states."""
    while True:
        if rng.random() < 0.5:
            servers = int(rng.integers(6, 14))
            apart = 10.0 ** rng.uniform(3.0, 14.0)
            workload = Workload(
                (
                    JobClass("short", servers * rng.uniform(0.3, 0.8), SpeedUp([1, 1.8])),
                    JobClass(
                        "long", servers * rng.uniform(0.1, 0.4) / apart, SpeedUp([1, 1.7]), apart
                    ),
                )
            )
            share = rng.uniform(0.2, 0.8)
            policy: Policy = GreedyP({name: {1: share, 2: 1 - share} for name in ("short", "long")})
        else:
            servers = int(rng.integers(16, 30))
            wide = int(rng.integers(4, 8))
            speed = 10.0 ** rng.uniform(1.0, 3.0)
            curve = SpeedUp({1: 1.0, 2: 2.0, wide: speed})
            workload = Workload((JobClass("jobs", servers * rng.uniform(1.0, 3.0), curve),))
            policy = _Bistable(wide, int(rng.integers(wide, servers)))
        if _fits(workload, servers, policy):
            return workload, servers, policy


class _Bistable(Policy):
    """Fast wide jobs while many servers are idle, slow narrow ones while few are."""

    def __init__(self, wide: int, threshold: int) -> None:
        self.wide, self.threshold = wide, threshold

    def decide(self, job_class: JobClass, idle: int) -> dict[int, float]:  # noqa: ARG002
        return {self.wide: 1.0} if idle >= self.threshold else {1: 0.7, 2: 0.3}
