"""The paper's schemes: greedy(p) draws a width from fixed shares, greedy always wants the most.

Ghanbarian, Mukhopadhyay, Mazumdar, Guillemin, "On Optimal Server Allocation for Moldable Jobs with
Concave Speed-Up", section 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from moldable.allocation.reservation import Reservation, reserve
from moldable.checks import positive
from moldable.errors import PolicyError
from moldable.model.scenario import Scenario, checked_scenario
from moldable.model.workload import JobClass, Workload
from moldable.policies.class_entries import (
    classes_of,
    entry_of,
    refuse_other_classes,
    refuse_unknown_width,
)
from moldable.policies.policy_table import Policy, PolicyTable, refuse_bad_wishes


@final
@dataclass(frozen=True, eq=False)
class GreedyP(Policy):
    """Draw a width from the class's shares and grant as much of it as is idle.

    Args:
        shares: for each class name, the share of its jobs given each width.
        label: what reports call it.
    """

    shares: Mapping[str, Mapping[int, float]]
    label: str = "greedy(p)"

    def __post_init__(self) -> None:
        for name, wishes in classes_of(self.shares, self.label).items():
            refuse_bad_wishes(f"{self.label}, class {name!r}", wishes)

    def decide(self, job_class: JobClass, idle: int) -> Mapping[int, float]:  # noqa: ARG002
        """Draw blindly; the grant shrinks to what is idle."""
        return entry_of(job_class, self.shares, self.name, "shares")

    def reach(self, job_class: JobClass, servers: int) -> int:
        """From the widest wish on, every wish is granted."""
        return min(max(self.decide(job_class, servers)), servers)

    def tabulate(self, workload: Workload, pools: tuple[int, ...]) -> PolicyTable:
        """Tabulate the policy; every class it names must be there, and able to use its wishes."""
        refuse_other_classes(workload, self.shares, self.name)
        for job_class in workload.classes:
            # Between two allowed widths a wish shrinks to the lower; beyond all it is a slip.
            widest = max(self.decide(job_class, 0))
            if widest > job_class.speedup.widths[-1]:
                refuse_unknown_width(self.name, job_class, widest)
        return super().tabulate(workload, pools)

    @property
    def name(self) -> str:
        """The label."""
        return self.label


@final
@dataclass(frozen=True)
class Greedy(Policy):
    """Give every job as many servers as it can use, up to its widest width."""

    def decide(self, job_class: JobClass, idle: int) -> Mapping[int, float]:  # noqa: ARG002
        """Wish for the widest."""
        return {int(job_class.speedup.widths[-1]): 1.0}

    def reach(self, job_class: JobClass, servers: int) -> int:
        """From the widest width on, it is granted."""
        return min(int(job_class.speedup.widths[-1]), servers)

    @property
    def name(self) -> str:
        """The paper's name."""
        return "greedy"


def greedy_p(scenario: Scenario, design_load: float | None = None) -> GreedyP:
    """Return greedy(p*): the shares of the optimum, by default at the scenario's own load.

    Args:
        scenario: the classes and the cluster.
        design_load: compute the shares for this load instead; above the true load it leaves
            headroom, trading execution time for blocking.
    """
    if design_load is None:
        return GreedyP(shares_of(reserve(scenario)), "greedy(p*)")
    design_load = positive(design_load, "design load", PolicyError)
    division = reserve(checked_scenario(scenario).at_load(design_load))
    return GreedyP(shares_of(division), f"greedy(p*) for load {design_load:g}")


def shares_of(division: Reservation) -> dict[str, dict[int, float]]:
    """Return the share of each class's jobs that a division gives each width."""
    return {
        part.name: dict(zip(part.support, part.mix.shares, strict=True))
        for part in division.classes
    }
