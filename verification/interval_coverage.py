"""Coverage of the confidence intervals of simulations, measured against exact answers.

Between 92 and 98 % of the intervals must contain the exact answer. If no job is blocked in more
than 2.5 % of the runs, the upper bound of 98 % does not apply: an interval of 95 % with equal tails
must then contain the answer when nothing is blocked, and upper limits grow with the number of
blocked jobs, so no interval lies below the answer. The upper bound is then the share of runs in
which nothing is blocked, plus 98 % of the others. This leaves at most ten misses; their number is
too small if such a small number has a probability below 1 %. For the mean time, runs in which a
width was never granted take the place of runs in which nothing was blocked.

One setting is at its upper bound: 64 short replications on 100 servers with about two clusters of
blocked jobs in total. 99.4 % of its intervals contain the answer with seeds 0 to 499, and 99.6 %,
above the bound, with seeds 1000 to 1499: the size of a cluster is estimated from these two only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scipy.stats import binom

from moldable import (
    Greedy,
    JobClass,
    Policy,
    Scenario,
    SizeLaw,
    SpeedUp,
    Thresholds,
    Workload,
    evaluate,
    greedy_p,
    simulate,
)
from moldable.policies import Rigid
from moldable.sizes import Deterministic, Lognormal, MixedErlang, Pareto
from moldable.system.estimate import Estimate
from simulation.coverage import OWN, RARE_CLASS, Reserve
from verification.verdict import Verdict

SEEDS = 500
LEAST, MOST = 92.0, 98.0
TAIL = 0.025
CHANCE = 0.01
ROUNDING = 1e-9
ONE, PAPER = SpeedUp([1]), SpeedUp([1, 1.8, 2.5, 3, 3.4])
LARGE = Scenario.single(PAPER, 0.6, 64)
TWO = Workload(
    (JobClass("a", 20.0, ONE), JobClass("b", 0.5, SpeedUp({4: 3.5}), mean_size=4.0)),
)
SOME_B = Workload((JobClass("a", 8.0, SpeedUp([1, 1.8])), JobClass("b", 0.2, SpeedUp({6: 6}))))
SLOW_WIDTH = Workload((JobClass("jobs", 150.0, SpeedUp({1: 1, 10: 50})),))
LONG_B = Workload((JobClass("a", 1.0, ONE), JobClass("b", 0.01, ONE, mean_size=10.0)))


@dataclass(frozen=True)
class Setting:
    """A run whose exact answer is known."""

    workload: Workload
    servers: int
    policy: Policy
    jobs: int
    replications: int = 16


def experiments() -> Iterator[Verdict]:
    """Cover blocking from 0.3 to 1e-7, both kernels, rare classes, and user-defined policies."""
    for setting in _settings():
        yield from _covered(setting)


def _settings() -> Iterator[Setting]:
    for servers, load, jobs in (
        (1, 0.43, 1000),  # blocking 0.3
        (10, 0.9, 1000),  # 0.17
        (10, 0.45, 1000),  # 1e-2
        (10, 0.3, 10_000),  # 8e-4
        (10, 0.3, 1000),
        (10, 0.2, 10_000),  # 4e-5
        (3, 0.02, 1000),  # 3e-5
        (1, 1e-5, 1000),  # 1e-5
        (100, 0.7, 3000),  # 1e-4
        (100, 0.6, 3000),  # 6e-7
    ):
        yield Setting(_single(servers, load), servers, Greedy(), jobs)
    yield Setting(_single(100, 0.7), 100, Greedy(), 1000, replications=64)
    yield Setting(_single(100, 0.75), 100, Greedy(), 3000, replications=8)
    for law in (Deterministic(), Lognormal(2.0), MixedErlang([0.4, 0.6])):
        yield Setting(_single(10, 0.45, law), 10, Greedy(), 1000)
        yield Setting(_single(10, 0.3, law), 10, Greedy(), 2000)
    yield Setting(_single(100, 0.7, Pareto(1.5)), 100, Greedy(), 3000)
    for jobs in (30, 300, 3000):
        yield Setting(OWN, 64, Reserve(), jobs)
    yield Setting(LARGE.workload, 64, greedy_p(LARGE), 2000)
    yield Setting(LARGE.workload, 64, Thresholds({"jobs": {8: 2, 12: 3, 20: 4}}), 2000)
    for workload, servers, policy, jobs in (
        (RARE_CLASS, 16, Greedy(), 500),
        (SOME_B, 16, Greedy(), 500),
        (TWO, 40, Rigid({"a": 1, "b": 4}), 1000),
        (LONG_B, 6, Greedy(), 3000),
        (SLOW_WIDTH, 105, Greedy(), 1000),
    ):
        yield Setting(workload, servers, policy, jobs)


def _single(servers: int, load: float, law: SizeLaw | None = None) -> Workload:
    job_class = JobClass("jobs", servers * load, ONE)
    if law is not None:
        job_class = JobClass("jobs", servers * load, ONE, size=law)
    return Workload((job_class,))


def _covered(setting: Setting) -> Iterator[Verdict]:
    workload, servers, policy = setting.workload, setting.servers, setting.policy
    exact = evaluate(Scenario(workload, servers), policy)
    answers = [
        simulate(
            Scenario(workload, servers),
            policy,
            jobs=setting.jobs,
            replications=setting.replications,
            seed=seed,
        )
        for seed in range(SEEDS)
    ]

    name = f"n = {servers}, {answers[0].detail.kernel}, {policy.name}, {setting.jobs} jobs: "
    yield from _verdicts(
        f"{name}blocking",
        exact.blocking.value,
        [(answer.blocking, _one_outcome(answer.blocking)) for answer in answers],
    )
    if len(exact.width_shares) > 1:  # else the time of one class is known beforehand
        widths = exact.width_shares.keys()
        yield from _verdicts(
            f"{name}time",
            exact.mean_execution_time.value,
            [
                (answer.mean_execution_time, not all(answer.width_shares.get(w) for w in widths))
                for answer in answers
            ],
        )
    for j, job_class in enumerate(workload.classes if len(workload.classes) > 1 else ()):
        found = [answer.classes[j].blocking for answer in answers]
        yield from _verdicts(
            f"{name}blocking of {job_class.name}",
            exact.classes[j].blocking.value,
            [(estimate, _one_outcome(estimate)) for estimate in found],
        )


def _one_outcome(blocking: Estimate) -> bool:
    """Return whether all jobs were blocked, or none."""
    return blocking.value in {0.0, 1.0}


def _verdicts(name: str, exact: float, found: list[tuple[Estimate, bool]]) -> Iterator[Verdict]:
    """Test the coverage of a figure from estimates and whether each run had no event."""
    given = [(each.interval, empty) for each, empty in found if each.interval is not None]
    held = sum(
        low <= exact * (1.0 + ROUNDING) and exact * (1.0 - ROUNDING) <= high
        for (low, high), _ in given
    )
    empty = sum(empty for _, empty in given)
    share, nothing = 100.0 * held / len(given), 100.0 * empty / len(given)
    what = f"{name} {exact:.2g}: {share:.1f} % of {len(given)} intervals contain it"
    yield Verdict(f"{what}, per cent that do not", 100.0 - share, 100.0 - LEAST)
    if empty <= TAIL * len(given):
        yield Verdict(f"{what}, per cent", share, MOST)
    else:
        misses = binom.ppf(CHANCE, len(given) - empty, 1.0 - MOST / 100.0)
        what += f", {nothing:.1f} % of them without an event"
        yield Verdict(f"{what}, number", held, len(given) - misses)
