"""What is a tuned price policy, beside its rivals?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from moldable.files.policy_file import policy_data
from moldable.policies.price import PricePolicy
from moldable.system.performance import Performance
from moldable.tuning.static_family import Static
from moldable.tuning.yardstick import Best


@final
@dataclass(frozen=True)
class Tuned:
    """A price policy that reaches a target.

    Attributes:
        q0: of its price exp(q0 - idle/ell).
        ell: of its price.
        tail: of its price, exp(q0) * (1 + idle/(tail * ell))**-tail then; None for the exponential.
        policy: itself.
        thresholds: its decisions in words.
        performance: how it performs, with intervals.
        greedy_p: how greedy(p*) performs; None if the cluster cannot carry the load.
        static: the best greedy(p) for another load under the same target; None if none was found.
        optimum: what no policy can better, where that is known.
        target: what was asked for: one of "max_blocking", "blocked_job_price" and "max_time".
        precision: of simulated figures.
        seed: with which the same is found again; None if nothing was drawn at random.
        certified: whether the limit is kept exactly, or at the far end of the 95 % interval; True
            if there is none to keep.
    """

    q0: float
    ell: float
    tail: float | None
    policy: PricePolicy
    thresholds: str
    performance: Performance
    greedy_p: Performance | None
    static: Static | None
    optimum: Best | None
    target: dict[str, float]
    precision: float
    seed: int | None
    certified: bool

    @property
    def limited(self) -> bool:
        """Is there a limit to keep?"""
        return "blocked_job_price" not in self.target

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        static = None
        if self.static is not None:
            static = {
                "design_load": self.static.design_load,
                **_two(self.static.performance),
            }
        return {
            "q0": self.q0,
            "ell": self.ell,
            "tail": self.tail,
            "thresholds": self.thresholds,
            **self.performance.figures(),
            "greedy_p": None if self.greedy_p is None else _two(self.greedy_p),
            "static": static,
            "optimum": None if self.optimum is None else self.optimum.to_dict(),
            "certified": self.certified,
            "target": dict(self.target),
            "precision": self.precision,
            "seed": self.seed,
            "policy": policy_data(self.policy),
            "method": self.performance.method,
            "warnings": list(self.performance.warnings),
            "provenance": dict(self.performance.provenance),
        }


def _two(answer: Performance) -> dict[str, float]:
    return {
        "blocking": answer.blocking.value,
        "mean_execution_time": answer.mean_execution_time.value,
    }
