"""Tune a policy of a cluster with a queue, and compare it with other policies and bounds."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, final

from moldable.allocation.division import reserve
from moldable.base_result import Result, Row
from moldable.errors import InfeasibleError
from moldable.files.policy_file import policy_data
from moldable.model.arrivals import ArrivalTimes
from moldable.model.scenario import Scenario
from moldable.model.units import duration
from moldable.optimal.queue_limit import LeastResponse
from moldable.optimal.queueing import OptimalQueueing
from moldable.policies.even_price import even_price
from moldable.policies.policy import Policy
from moldable.policies.queue_value import refuse_overload
from moldable.system.performance import Performance
from moldable.tuning.evaluator import QueueEvaluator
from moldable.tuning.queue_reference import NO_OPTIMUM, STATES, bounded, known_optimum
from moldable.tuning.queue_target import LEAST_RESPONSE, WAITING_LIMITS, QueueTarget
from moldable.tuning.queue_tuning import Candidate, QueueSearch, not_reached
from moldable.tuning.robustness import PRECISION, UNSEEDED, Stress, stresses

ATTEMPTS: Final = 4
"""To certify a simulated policy."""


@final
@dataclass(frozen=True, repr=False)
class TunedQueue(Result):
    """A tuned policy of a cluster with a queue, compared with others.

    Attributes:
        policy: the policy.
        family: which kind of policy it is, in words.
        performance: its performance.
        default: the even price with its default parameters.
        fixed: the best fixed width under the same target; None if none keeps it.
        fixed_width: that width.
        optimum: the optimum over all policies under the same target, where that is known.
        best_execution_time: least mean execution time of any stable policy, D*; None if the cluster
            cannot carry the load, or arrivals are a list with a rate of its own.
        target: the target by name, with its value; None for the least mean response time.
        precision: target relative half-width of simulations.
        seed: that reproduces the result; None if nothing was simulated.
        certified: whether the limit, if any, is kept exactly or at the upper end of the interval.
        evaluations: policies that were evaluated while searching.
        stresses: performance where arrivals are burstier or the load is higher.
        growing: those of these cases in which the queue grows without limit.

    Examples:
        >>> tuned = tune(Scenario.single([1, 1.8, 2.5], 0.8, 8, waiting="unlimited"))
        >>> tuned.performance.queueing.mean_response_time < 1.17
        True
    """

    policy: Policy
    family: str
    performance: Performance
    default: Performance | None
    fixed: Performance | None
    fixed_width: int | None
    optimum: OptimalQueueing | LeastResponse | None
    best_execution_time: float | None
    target: dict[str, float | None]
    precision: float
    seed: int | None
    certified: bool
    evaluations: int
    stresses: tuple[Stress, ...] = ()
    growing: tuple[str, ...] = ()

    @property
    def time_unit(self) -> str | None:
        """The scenario's unit of time; None if it has none."""
        return self.performance.time_unit

    @property
    def limited(self) -> bool:
        """Whether there is a limit to keep."""
        return any(name.startswith("max_") for name in self.target)

    @property
    def limits_waiting(self) -> bool:
        """Whether the limit is on waiting: the optimum under such a limit is not known."""
        return not self.target.keys().isdisjoint(WAITING_LIMITS)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        best = self.optimum
        return {
            **self.performance.to_dict(),
            "family": self.family,
            "policy": policy_data(self.policy),
            "default": None if self.default is None else self.default.figures(),
            "fixed_width": self.fixed_width,
            "fixed": None if self.fixed is None else self.fixed.figures(),
            "optimum": best
            and {
                "mean_response_time": best.mean_response_time,
                "mean_wait": best.mean_wait,
                "blocking": best.blocking,
                "gap": best.gap,
            },
            "best_execution_time": self.best_execution_time,
            "target": dict(self.target),
            "precision": self.precision,
            "tuning_seed": self.seed,
            "certified": self.certified,
            "evaluations": self.evaluations,
            "stresses": [stress.to_dict() for stress in self.stresses],
            "growing": list(self.growing),
        }

    def table(self) -> list[Row]:
        """Return a row for the tuned policy and for each that it is compared with."""
        named = {"tuned": self.performance, "even price, default": self.default}
        if self.fixed_width is not None:
            named[f"fixed width {self.fixed_width}"] = self.fixed
        rows: list[Row] = [
            {"policy": name, **answer.figures()} for name, answer in named.items() if answer
        ]
        if self.optimum is not None:
            names = ("blocking", "mean_response_time", "mean_wait", "wait_probability")
            found = {name: getattr(self.optimum, name) for name in names}
            rows.append({"policy": "true optimum", **found})
        return rows

    def __repr__(self) -> str:
        target = ", ".join(
            name if value is None else f"{name}={value:g}" for name, value in self.target.items()
        )
        queueing = self.performance.queueing
        assert queueing is not None  # noqa: S101 - it is tuned for a queue
        response = duration(queueing.mean_response_time, self.time_unit)
        return (
            f"TunedQueue({target}: {self.family}; mean_response_time={response}, "
            f"wait_probability={queueing.wait_probability}, certified={self.certified})"
        )


def tune_queue(
    scenario: Scenario,
    target: QueueTarget,
    *,
    optimum: bool,
    precision: float,
    seed: int | None,
    threads: int | None,
    report: Callable[[str], None],
) -> TunedQueue:
    """Find a policy; see `tune`."""
    if not isinstance(scenario.arrivals, ArrivalTimes):  # they have a rate of their own, and an end
        refuse_overload(scenario)
    evaluate = QueueEvaluator(scenario, precision=precision, seed=seed, threads=threads)
    search = QueueSearch(scenario, target, evaluate)
    chosen, answer, certified, fixed = certified_policy(search, report)
    report("computing the true optimum")
    best = known_optimum(scenario, target, STATES[optimum])
    answer = bounded(scenario, target, answer, STATES[optimum])
    if optimum and best is None:
        answer = dataclasses.replace(answer, warnings=(*answer.warnings, NO_OPTIMUM))
    report("evaluating burstier arrivals and more load")
    width = getattr(fixed.policy, "width", None) if fixed else None
    fixed_seed = evaluate.seed if seed is not None or evaluate.simulated else UNSEEDED
    evaluator = partial(QueueEvaluator, precision=PRECISION, seed=fixed_seed, threads=threads)
    stressed, growing = stresses(scenario, chosen.policy, evaluator)
    return TunedQueue(
        policy=chosen.policy.with_classes(scenario),
        family=chosen.label,
        performance=answer,
        default=evaluate.certified(even_price(scenario)),
        fixed=None if fixed is None else evaluate.certified(fixed.policy),
        fixed_width=width,
        optimum=best,
        best_execution_time=_best_execution_time(scenario),
        target={target.name: None if target.name == LEAST_RESPONSE else target.given},
        precision=precision,
        seed=evaluate.seed if evaluate.simulated else None,
        certified=certified,
        evaluations=evaluate.evaluations,
        stresses=stressed,
        growing=growing,
    )


def certified_policy(
    search: QueueSearch, report: Callable[[str], None]
) -> tuple[Candidate, Performance, bool, Candidate | None]:
    """Return the chosen policy, its performance, whether it keeps the limit, and a fixed width."""
    scenario, target, evaluate = search.scenario, search.target, search.evaluate
    for attempt in range(1, ATTEMPTS + 1):
        report("trying fixed widths")
        fixed = search.fixed()
        report("searching tables by idle servers and waiting jobs")
        search.families()
        chosen = search.best()
        if not search.found:
            evaluate(even_price(scenario), attempt)  # an error that says why
        if chosen is None:
            raise not_reached(target, search.nearest() if search.found else math.nan)
        report("certifying the best policy")
        answer = evaluate(chosen.policy, attempt)
        excess = target.excess(answer)
        if excess <= 1.0:
            return chosen, answer, True, fixed
        search.aim *= 0.99 / excess
        last = chosen, answer
    chosen, answer = last
    warning = (
        f"the limit is not certified: the upper end of the 95 % interval is {excess:.4g} times the "
        f"limit; ask for more precision, or allow more"
    )
    answer = dataclasses.replace(answer, warnings=(*answer.warnings, warning))
    return chosen, answer, False, fixed


def _best_execution_time(scenario: Scenario) -> float | None:
    if isinstance(scenario.arrivals, ArrivalTimes):
        return None
    try:
        return reserve(scenario).mean_execution_time
    except InfeasibleError:
        return None
