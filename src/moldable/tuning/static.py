"""Static widths: greedy(p*) for a design load, drawn whatever is idle or capped by a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np

from moldable.allocation.reservation import pure_loads
from moldable.errors import InfeasibleError
from moldable.model.scenario import Scenario
from moldable.policies.greedy import GreedyP, greedy_p
from moldable.policies.policy_table import Policy
from moldable.policies.thresholds import Choice, Thresholds
from moldable.system.performance import Performance

LARGEST: float = 1.0 - 1e-9
"""Share of the largest load that can be carried for which shares are computed."""


@final
@dataclass(frozen=True)
class Static:
    """The best design load.

    Attributes:
        design_load: for which the shares were computed.
        performance: of greedy(p) with them, at the true load.
    """

    design_load: float
    performance: Performance


@final
class DesignLoads:
    """greedy(p*) by its design load; the higher, the narrower.

    Attributes:
        low, high: the loads worth designing for: from half of the true one to the largest that the
            cluster can carry.
        step: by which a search moves on at first.
        evaluations: that a search may take.
    """

    evaluations = 10

    def __init__(self, scenario: Scenario, cap: Thresholds | None = None) -> None:
        self.scenario, self.cap = scenario, cap
        classes, servers = scenario.workload.classes, scenario.servers
        load = scenario.load
        needed = sum(
            job_class.offered * float(np.min(curve.widths / curve.speedups))
            for job_class in classes
            for curve in [job_class.speedup.up_to(servers)]
        )
        self.high = load * servers / needed * LARGEST
        self.low = 0.5 * min(load, self.high)
        self._begin = min(load, self.high)
        self.step = 0.25 * (self.high - self.low)

    def pure(self) -> list[float]:
        """Return the loads at which every class has one width.

        Widths that fill the cluster leave no servers over, which a load nearby, where a few jobs
        have another width, already spoils.
        """
        loads = pure_loads(self.scenario).tolist()
        return sorted({min(max(load, self.low), self.high) for load in loads})

    def policy(self, load: float) -> Policy:
        """Return the policy for a design load."""
        drawn = greedy_p(self.scenario, load)
        return drawn if self.cap is None else _capped(self.cap, drawn)

    def first(self, aim: float) -> float:  # noqa: ARG002 - no model tells where the aim is met
        """Return the load to begin with."""
        return self._begin + 0.25 * (self.high - self._begin)

    def guess(self, load: float, used: float) -> float:  # noqa: ARG002 - there is no model
        """Return the load itself: the search goes on in steps."""
        return load


def optimal_shares(scenario: Scenario) -> GreedyP | None:
    """Return greedy(p*), or None if the cluster cannot carry the load."""
    try:
        return greedy_p(scenario)
    except InfeasibleError:
        return None


def _capped(table: Thresholds, drawn: GreedyP) -> Thresholds:
    """Draw widths, but none wider than a table says."""
    return Thresholds(
        {
            name: {idle: _narrowed(choice, drawn.shares[name]) for idle, choice in rows.items()}
            for name, rows in table.tables.items()
        }
    )


def _narrowed(choice: Choice, shares: Mapping[int, float]) -> Choice:
    if isinstance(choice, Mapping):
        raise TypeError("a table that draws widths caps nothing")
    found: dict[int, float] = {}
    for width, share in sorted(shares.items()):
        if share > 0.0:
            granted = min(int(width), choice)
            found[granted] = found.get(granted, 0.0) + float(share)
    return found if len(found) > 1 else next(iter(found))
