"""Which two numbers make the price policy reach a target, at any n?

By the exact chain where it is small; else by trying many prices at once on common random numbers,
and then running the chosen one alone, to the asked precision, on numbers it was not chosen by.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, final

from moldable.control.search import Search
from moldable.control.static_family import Static, best_static
from moldable.control.targets import Target
from moldable.control.trials import Pair, Trials
from moldable.control.yardstick import Best, best, least_possible_blocking
from moldable.errors import ControlError
from moldable.evaluation import check_request, evaluate
from moldable.performance import Performance
from moldable.policies.policy_table import Policy
from moldable.policies.price import PricePolicy
from moldable.simulation.simulate import fresh_seed
from moldable.workload import Workload

STEPS: Final = (0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64)
"""By how much q0 is moved while the limit is not kept beyond doubt."""
FEW: Final = 500
"""Servers up to which neighbouring prices are few different tables, all of them worth a look."""
FINALISTS: Final = 2
POLISHED: Final = 3
"""The round whose number of jobs the last look takes."""
OTHER_SEED: Final = 7919
"""What the final run adds to the seed: it must not be judged on the numbers it was chosen by."""


@final
@dataclass(frozen=True)
class Tuned:
    """A price policy that reaches a target.

    Attributes:
        q0: of its price exp(q0 - idle/ell).
        ell: of its price.
        policy: itself.
        thresholds: its decisions in words.
        performance: how it performs, with intervals.
        greedy_p: how greedy(p*) performs.
        static: the best greedy(p) for another load under the same target; None if none reaches it.
        optimum: what no policy can better, where that is known at once.
        certified: whether the limit is kept beyond doubt: exactly, or by the interval's upper end.
    """

    q0: float
    ell: float
    policy: PricePolicy
    thresholds: str
    performance: Performance
    greedy_p: Performance
    static: Static | None
    optimum: Best | None
    certified: bool

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        own = self.performance.to_dict()
        static = None
        if self.static is not None:
            static = {
                "design_load": self.static.design_load,
                **_two(self.static.performance),
            }
        figures = (
            "blocking",
            "blocking_interval",
            "mean_execution_time",
            "mean_execution_time_interval",
        )
        return {
            "q0": self.q0,
            "ell": self.ell,
            "thresholds": self.thresholds,
            **{name: own[name] for name in figures},
            "greedy_p": _two(self.greedy_p),
            "static": static,
            "optimum": None if self.optimum is None else self.optimum.to_dict(),
            "certified": self.certified,
            "method": self.performance.method,
            "warnings": list(self.performance.warnings),
            "provenance": dict(self.performance.provenance),
        }


def _two(answer: Performance) -> dict[str, float]:
    return {
        "blocking": answer.blocking.value,
        "mean_execution_time": answer.mean_execution_time.value,
    }


def tune(
    workload: Workload,
    servers: int,
    *,
    max_blocking: float | None = None,
    blocked_job_price: float | None = None,
    max_time: float | None = None,
    precision: float = 0.01,
    seed: int | None = None,
    threads: int | None = None,
) -> Tuned:
    """Find the price policy that reaches a target; give exactly one.

    Args:
        workload: the classes, sharing one pool.
        servers: the size of the cluster.
        max_blocking: least mean execution time with at most this blocking.
        blocked_job_price: least (1 - blocking) x time + price x blocking, in mean sizes.
        max_time: least blocking with at most this mean execution time.
        precision: of simulated figures.
        seed: of simulations; a fresh one if not given.
        threads: of simulations; all cores by default.
    """
    check_request("auto", precision)
    if workload.sharing != "pool":
        raise ControlError("one price serves classes that share a pool; these own servers")
    seed = fresh_seed() if seed is None else seed
    trials = Trials(workload, servers, seed, threads)
    target = Target.of(max_blocking, blocked_job_price, max_time, trials.unit)
    search = Search(trials.prices, target, trials.table)
    _refuse_impossible(workload, servers, target)
    q0, ell = search.run(1.0, math.sqrt(servers), repeat=not trials.exact)
    finalists = [(q0, ell)]
    if servers <= FEW:
        search.polish(q0, ell, POLISHED)
        finalists = search.best_tried(FINALISTS)
    judge = _Judge(workload, servers, target, precision, seed + OTHER_SEED, threads)
    (q0, ell), answer, certified = judge.settle(finalists)
    policy = PricePolicy.exponential(q0, ell)
    return Tuned(
        q0,
        ell,
        policy,
        policy.describe(workload, servers),
        answer,
        judge.evaluate(None),
        best_static(target, trials, judge.evaluate),
        best(workload, servers, target),
        certified,
    )


@final
@dataclass(frozen=True)
class _Judge:
    """Evaluates the chosen policies, apart from what they were chosen by."""

    workload: Workload
    servers: int
    target: Target
    precision: float
    seed: int
    threads: int | None

    def evaluate(self, policy: Policy | None) -> Performance:
        """Return a policy's performance, exactly up to a few hundred thousand states."""
        return evaluate(
            self.workload,
            self.servers,
            policy,
            precision=self.precision,
            seed=self.seed,
            threads=self.threads,
        )

    def settle(self, finalists: list[Pair]) -> tuple[Pair, Performance, bool]:
        """Return the best finalist that keeps the limit beyond doubt, after moving it if need be.

        A limit on blocking is kept by raising the price, one on time by lowering it.
        """
        judged = [(pair, self._price(pair)) for pair in finalists]
        sure = [entry for entry in judged if self._kept(entry[1])]
        if sure:
            pair, answer = min(sure, key=lambda entry: self._merit(entry[1]))
            return pair, answer, True
        (q0, ell), answer = judged[0]
        sign = -1.0 if self.target.max_time is not None else 1.0
        for step in STEPS:
            answer = self._price((q0 + sign * step, ell))
            if self._kept(answer):
                return (q0 + sign * step, ell), answer, True
        if not self.target.kept(answer.blocking.value, answer.mean_execution_time.value):
            raise ControlError(_unreached(self.target, answer))
        return (q0 + sign * STEPS[-1], ell), answer, False

    def _price(self, pair: Pair) -> Performance:
        return self.evaluate(PricePolicy.exponential(*pair))

    def _merit(self, answer: Performance) -> float:
        return self.target.merit(answer.blocking.value, answer.mean_execution_time.value)

    def _kept(self, answer: Performance) -> bool:
        """Is the limit kept at the far end of the interval?"""
        highs = [
            estimate.value if estimate.interval is None else estimate.interval[1]
            for estimate in (answer.blocking, answer.mean_execution_time)
        ]
        return self.target.kept(*highs)


def _refuse_impossible(workload: Workload, servers: int, target: Target) -> None:
    if target.max_blocking is None:
        return
    least = least_possible_blocking(workload, servers)
    if least is not None and target.max_blocking < least:
        raise ControlError(
            f"max_blocking={target.max_blocking:g} cannot be reached: the least blocking of any "
            f"policy on {servers} servers is {least:.4g}; allow more, or add servers"
        )


def _unreached(target: Target, answer: Performance) -> str:
    nearest = f"blocking {answer.blocking}, mean execution time {answer.mean_execution_time}"
    asked = (
        f"max_blocking={target.max_blocking:g}"
        if target.max_blocking is not None
        else f"max_time={target.max_time:g}"
    )
    return f"{asked} was not reached in this family; the nearest found: {nearest}"
