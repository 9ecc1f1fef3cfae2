"""A plan as data: the policy, its performance, the cluster size, and their uncertainty."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, final

from moldable.base_result import Result, Row
from moldable.errors import cut
from moldable.files.policy_file import policy_data
from moldable.model.scenario import Scenario
from moldable.model.units import duration
from moldable.planning.actions import Actions
from moldable.planning.alternatives import Alternative, Reference, ServerValue
from moldable.planning.choice import Choice
from moldable.planning.curve_noise import CurveNoise
from moldable.planning.goal import Goal
from moldable.planning.sensitivity import Sensitivity
from moldable.planning.series import Series
from moldable.planning.sizing import ClusterSize
from moldable.policies.policy import Policy
from moldable.system.estimate import Estimate
from moldable.system.performance import Performance
from moldable.system.queueing import plain


@final
@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Plan(Result):
    """A policy for a cluster, compared with other policies, sizes and assumptions.

    Attributes:
        scenario: what was planned for; its classes share one pool.
        goal: the limit to keep, or what is minimised.
        growth: factor of the arrival rates for which the cluster is also sized.
        choice: the recommended policy and its performance.
        actions: its decisions, for each class.
        alternatives: other policies on the same cluster.
        optimum: the optimum over all policies, where that is known.
        server_value: what one more server changes.
        sizes: the smallest clusters that keep the limit, at the present load and after the growth;
            empty without a limit.
        sensitivity: the recommended policy in other cases.
        curve_noise: what the noise of measured curves does to the decision; None if no class has a
            curve with repeated measurements.
        by_servers: performance of several policies against the number of servers.
        by_load: performance of several policies against the load.
        notes: what was assumed or changed.
        precision: target relative half-width of simulations.
        seed: that reproduces the plan.

    Examples:
        >>> scenario = Scenario.single([1, 1.8], 0.7, 6)
        >>> found = plan(scenario, max_blocking=0.15, seed=1)
        >>> found.choice.kept, found.sizes[0].servers
        (True, 6)
    """

    scenario: Scenario
    goal: Goal
    growth: float
    choice: Choice
    actions: tuple[Actions, ...]
    alternatives: tuple[Alternative, ...]
    optimum: Reference | None
    server_value: ServerValue
    sizes: tuple[ClusterSize, ...]
    sensitivity: Sensitivity
    curve_noise: CurveNoise | None
    by_servers: Series
    by_load: Series
    notes: tuple[str, ...]
    precision: float
    seed: int

    @property
    def policy(self) -> Policy:
        """The recommended policy."""
        return self.choice.policy

    @property
    def performance(self) -> Performance:
        """Its performance."""
        return self.choice.performance

    @property
    def time_unit(self) -> str | None:
        """The scenario's unit of time; None if it has none."""
        return self.scenario.time_unit

    @property
    def throughput(self) -> Estimate:
        """Jobs completed per unit of time."""
        return throughput(self.performance)

    @property
    def assumptions(self) -> str:
        """The arrivals and sizes for which all figures hold, in words."""
        return self.scenario.assumptions

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        answer = self.performance
        return {
            "servers": self.scenario.servers,
            "load": self.scenario.load,
            "time_unit": self.time_unit,
            "target": self.goal.to_dict(),
            "growth": self.growth,
            "words": self.choice.words,
            "policy": policy_data(self.policy),
            "kept": self.choice.kept if self.goal.limited else None,
            "assumptions": self.assumptions,
            "decisions": [part.to_dict() for part in self.actions],
            "performance": {
                **answer.figures(),
                **plain("throughput", self.throughput),
                "utilisation": answer.busy_fraction,
                "classes": [part.to_dict() for part in answer.classes],
            },
            "alternatives": [other.to_dict() for other in self.alternatives],
            "optimum": None if self.optimum is None else asdict(self.optimum),
            "one_more_server": self.server_value.to_dict(),
            "sizes": [size.to_dict() for size in self.sizes],
            "sensitivity": self.sensitivity.to_dict(),
            "curve_noise": self.curve_noise and self.curve_noise.to_dict(),
            "series": [self.by_servers.to_dict(), self.by_load.to_dict()],
            "method": answer.method,
            "precision": self.precision,
            "seed": self.seed,
            "notes": list(self.notes),
            "warnings": list(answer.warnings),
            "provenance": dict(answer.provenance),
            "inputs": {"scenario": self.scenario.to_dict()},
        }

    def table(self) -> list[Row]:
        """Return a row for the recommended policy and for each that it is compared with."""
        own: Row = {"policy": "recommended", **_row(self.performance)}
        others = [
            {"policy": other.name, **_row(other.performance)}
            for other in self.alternatives
            if other.performance is not None
        ]
        return [own, *others]

    def __repr__(self) -> str:
        target = "no limit"
        if self.goal.name is not None:
            target = f"{self.goal.name}={self.goal.value:g}, kept={self.choice.kept}"
        queueing, figures = self.performance.queueing, f"blocking={self.performance.blocking}"
        if queueing is not None and math.isinf(self.scenario.waiting):
            response = duration(queueing.mean_response_time, self.time_unit)
            figures = f"mean_response_time={response}"
        sizes = ", ".join(f"{size.servers} at growth {size.growth:g}" for size in self.sizes)
        smallest = f"; smallest clusters: {sizes}" if sizes else ""
        return (
            f"Plan({self.scenario.servers} servers, {target}: {cut(self.choice.words)}; "
            f"{figures}{smallest})"
        )


def throughput(answer: Performance) -> Estimate:
    """Return the jobs completed per unit of time."""
    rate, blocking = answer.scenario.workload.arrival_rate, answer.blocking
    ends = blocking.interval
    interval = None if ends is None else (rate * (1.0 - ends[1]), rate * (1.0 - ends[0]))
    return Estimate(rate * (1.0 - blocking.value), interval)


def _row(answer: Performance) -> dict[str, Any]:
    return answer.figures() | {"utilisation": answer.busy_fraction, "method": answer.method}
