"""The family of static widths: greedy(p*) for a design load, optionally capped by a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from moldable.allocation.reservation import pure_loads
from moldable.errors import InfeasibleError
from moldable.model.scenario import Scenario
from moldable.policies.greedy import GreedyP, greedy_p
from moldable.policies.policy_table import Policy
from moldable.policies.thresholds import Choice, Thresholds
from moldable.system.performance import Performance
from moldable.tuning.search import Family

LARGEST: Final = 1.0 - 1e-9
"""Largest design load, as a share of the largest feasible load."""


@final
@dataclass(frozen=True)
class Static:
    """The best static policy.

    Attributes:
        design_load: the load for which its shares were computed.
        performance: of greedy(p) with them, at the true load.
    """

    design_load: float
    performance: Performance


@final
class DesignLoads(Family):
    """greedy(p*) by its design load, from half of the true load to the largest feasible one."""

    evaluations = 10

    def __init__(self, scenario: Scenario, cap: Thresholds | None = None) -> None:
        self.scenario, self.cap = scenario, cap
        curves = [(c, c.speedup.up_to(scenario.servers)) for c in scenario.workload.classes]
        needed = sum(c.offered * float(np.min(s.widths / s.speedups)) for c, s in curves)
        self.high = scenario.load * scenario.servers / needed * LARGEST
        self.low = 0.5 * min(scenario.load, self.high)
        self.step = 0.25 * (self.high - self.low)

    def pure(self) -> list[float]:
        """Return the loads at which every class has one width.

        Widths that divide the servers leave none over; at a load nearby, a few jobs of another
        width already spoil that.
        """
        loads = pure_loads(self.scenario).tolist()
        return sorted({min(max(load, self.low), self.high) for load in loads})

    def policy(self, parameter: float) -> Policy:
        """Return the policy for a design load."""
        drawn = greedy_p(self.scenario, parameter)
        return drawn if self.cap is None else _capped(self.cap, drawn)

    def first(self, aim: float) -> float:  # noqa: ARG002 - no model predicts where the aim is met
        """Return a load somewhat above the true one."""
        load = min(self.scenario.load, self.high)
        return load + 0.25 * (self.high - load)


def optimal_shares(scenario: Scenario) -> GreedyP | None:
    """Return greedy(p*), or None if the cluster cannot carry the load."""
    try:
        return greedy_p(scenario)
    except InfeasibleError:
        return None


def _capped(table: Thresholds, drawn: GreedyP) -> Thresholds:
    """Draw widths from the shares, but none wider than the table grants."""

    def narrowed(choice: Choice, shares: Mapping[int, float]) -> Choice:
        if isinstance(choice, Mapping):
            raise TypeError("a table that draws widths cannot be a cap")
        found: dict[int, float] = {}
        for width, share in sorted(shares.items()):
            if share > 0.0:
                granted = min(width, choice)
                found[granted] = found.get(granted, 0.0) + share
        return found if len(found) > 1 else next(iter(found))

    return Thresholds(
        {
            name: {idle: narrowed(choice, drawn.shares[name]) for idle, choice in rows.items()}
            for name, rows in table.tables.items()
        }
    )
