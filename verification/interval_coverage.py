"""Confidence intervals of simulations against exact answers: how often they hold them.

Where some jobs are blocked in every replication, 92 to 98 % of the intervals must hold the exact
answer. Where few jobs or none are blocked, counts are too small for an interval of exactly 95 %:
there at least 92 % must.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from moldable import (
    Deterministic,
    Greedy,
    JobClass,
    Lognormal,
    MixedErlang,
    Pareto,
    Performance,
    Policy,
    Rigid,
    SizeLaw,
    SpeedUp,
    Thresholds,
    Workload,
    evaluate,
    greedy_p,
    simulate,
)
from moldable.system.performance import Estimate
from simulation.coverage import OWN, RARE_CLASS, Reserve
from verification.verdict import Verdict

SEEDS = 500
LEAST, MOST = 92.0, 98.0
OFTEN = 5.0
"""Events in a replication from which hardly any replication sees none."""
ROUNDING = 1e-9
ONE, PAPER = SpeedUp([1]), SpeedUp([1, 1.8, 2.5, 3, 3.4])
LARGE = Workload.single(PAPER, 0.6, 64)
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
    """Cover blocking from 0.3 to 1e-7, both kernels, rare classes, and policies of one's own."""
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
    yield Setting(LARGE, 64, greedy_p(LARGE, 64), 2000)
    yield Setting(LARGE, 64, Thresholds({"jobs": {8: 2, 12: 3, 20: 4}}), 2000)
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
    exact = evaluate(workload, servers, policy)
    answers = [
        simulate(
            workload,
            servers,
            policy,
            jobs=setting.jobs,
            replications=setting.replications,
            seed=seed,
        )
        for seed in range(SEEDS)
    ]

    def verdict(what: str, share: float, figure: Callable[[Performance], Estimate]) -> Verdict:
        """Judge the intervals of a figure that depends on this share of the jobs."""
        name = f"n = {servers}, {answers[0].kernel}, {policy.name}, {setting.jobs} jobs: {what}"
        often = share * setting.jobs > OFTEN
        return _verdict(name, figure(exact).value, [figure(a) for a in answers], often=often)

    yield verdict("blocking", exact.blocking.value, lambda answer: answer.blocking)
    if len(exact.width_shares) > 1:  # else the time of one class is known beforehand
        rarest = min(exact.width_shares.values())
        yield verdict("time", rarest, lambda answer: answer.mean_execution_time)
    for j, job_class in enumerate(workload.classes if len(workload.classes) > 1 else ()):
        share = exact.classes[j].blocking.value * job_class.arrival_rate / workload.arrival_rate
        what = f"blocking of {job_class.name}"
        yield verdict(what, share, lambda answer, j=j: answer.classes[j].blocking)  # type: ignore[misc]


def _verdict(name: str, exact: float, found: list[Estimate], *, often: bool) -> Verdict:
    given = [estimate.interval for estimate in found if estimate.interval is not None]
    held = sum(
        low <= exact * (1.0 + ROUNDING) and exact * (1.0 - ROUNDING) <= high for low, high in given
    )
    share = 100.0 * held / len(given)
    what = f"{name} {exact:.2g}: {share:.1f} % of {len(given)} intervals hold it"
    if often:
        return Verdict(f"{what}, per cent off 95", abs(share - 95.0), MOST - 95.0)
    return Verdict(f"{what}, per cent that do not", 100.0 - share, 100.0 - LEAST)
