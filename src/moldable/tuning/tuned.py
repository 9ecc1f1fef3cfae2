"""A tuned policy, compared with others under the same target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from moldable.base_result import Result, Row
from moldable.errors import cut
from moldable.files.policy_file import policy_data
from moldable.model.units import duration
from moldable.policies.policy import Policy
from moldable.system.performance import Performance
from moldable.tuning.families import Static
from moldable.tuning.reference import Best
from moldable.tuning.robustness import Stress


@final
@dataclass(frozen=True, repr=False)
class Tuned(Result):
    """A policy that reaches a target.

    Attributes:
        blocking_cost: in mean sizes, for which its table was computed; None for static widths.
        policy: widths by idle servers, or greedy(p) where static widths are better.
        thresholds: its decisions in words.
        performance: its performance, with intervals.
        greedy_p: performance of greedy(p*); None if the cluster cannot carry the load.
        static: the best greedy(p) for another load under the same target; None if none was found.
        optimum: the optimum over all policies, where that is known.
        target: one of "max_blocking", "blocking_cost" and "max_time", and its value.
        precision: target relative half-width of simulations.
        seed: that reproduces the result; None if nothing was simulated.
        certified: whether the limit is kept exactly, or at the upper end of the 95 % interval; True
            if there is no limit.
        stresses: performance where arrivals are burstier or the load is higher.

    Examples:
        >>> tuned = tune(Scenario.single([1, 1.8, 2.5], 0.8, 8), max_blocking=0.2)
        >>> tuned.policy.grant("jobs", idle=8), tuned.certified
        (3, True)
    """

    blocking_cost: float | None
    policy: Policy
    thresholds: str
    performance: Performance
    greedy_p: Performance | None
    static: Static | None
    optimum: Best | None
    target: dict[str, float]
    precision: float
    seed: int | None
    certified: bool
    stresses: tuple[Stress, ...] = ()

    @property
    def time_unit(self) -> str | None:
        """The scenario's unit of time; None if it has none."""
        return self.performance.time_unit

    @property
    def limited(self) -> bool:
        """Whether there is a limit to keep."""
        return "blocking_cost" not in self.target

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        static = None
        if self.static is not None:
            static = {"design_load": self.static.design_load, **_two(self.static.performance)}
        return {
            "blocking_cost": self.blocking_cost,
            "thresholds": self.thresholds,
            **self.performance.figures(),
            "time_unit": self.time_unit,
            "greedy_p": None if self.greedy_p is None else _two(self.greedy_p),
            "static": static,
            "optimum": None if self.optimum is None else self.optimum.to_dict(),
            "certified": self.certified,
            "stresses": [stress.to_dict() for stress in self.stresses],
            "target": dict(self.target),
            "precision": self.precision,
            "seed": self.seed,
            "policy": policy_data(self.policy),
            "method": self.performance.method,
            "warnings": list(self.performance.warnings),
            "provenance": dict(self.performance.provenance),
            "inputs": {"scenario": self.performance.scenario.to_dict()},
        }

    def table(self) -> list[Row]:
        """Return a row for the tuned policy and for each that it is compared with."""
        rows: list[Row] = [{"policy": "tuned", **_two(self.performance)}]
        if self.greedy_p is not None:
            rows.append({"policy": "greedy(p*)", **_two(self.greedy_p)})
        if self.static is not None:
            name = f"greedy(p*) for load {self.static.design_load:.4g}"
            rows.append({"policy": name, **_two(self.static.performance)})
        if self.optimum is not None:
            best = self.optimum
            own = {"blocking": best.blocking, "mean_execution_time": best.mean_execution_time}
            rows.append({"policy": "true optimum", **own})
        return rows

    def __repr__(self) -> str:
        target = ", ".join(f"{name}={value:g}" for name, value in self.target.items())
        time = duration(self.performance.mean_execution_time, self.time_unit)
        return (
            f"Tuned({target}: {cut(self.thresholds)}; blocking={self.performance.blocking}, "
            f"mean_execution_time={time}, certified={self.certified})"
        )


def _two(answer: Performance) -> dict[str, float]:
    return {
        "blocking": answer.blocking.value,
        "mean_execution_time": answer.mean_execution_time.value,
    }
