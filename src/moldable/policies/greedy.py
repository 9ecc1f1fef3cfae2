"""The paper's schemes: greedy(p) draws a width from fixed shares, greedy takes the widest.

Ghanbarian, Mukhopadhyay, Mazumdar, Guillemin, "On Optimal Server Allocation for Moldable Jobs with
Concave Speed-Up", section 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

from moldable.allocation.division import reserve
from moldable.allocation.reservation import Reservation
from moldable.checks import positive
from moldable.errors import PolicyError
from moldable.model.scenario import ScenarioOrFile, checked_scenario
from moldable.model.workload import JobClass
from moldable.policies.policy import Policy
from moldable.policies.policy_by_class import PolicyByClass
from moldable.policies.policy_table import (
    checked_shares,
    described_widths,
    refuse_unknown_width,
)


@final
@dataclass(frozen=True, eq=False)
class GreedyP(PolicyByClass[Mapping[int, float]]):
    """Draw a width from the class's shares and grant as much of it as is idle.

    Args:
        shares: for each class name, the share of its jobs given each width.
        label: the name in reports.

    Examples:
        >>> GreedyP({"jobs": {2: 0.25, 3: 0.75}}).describe()
        '2 (25 %) or 3 (75 %) servers, or as many as are idle'
    """

    shares: Mapping[str, Mapping[int, float]] = field(metadata={"key": "classes"})
    label: str = "greedy(p)"

    def __post_init__(self) -> None:
        shares = {
            name: checked_shares(f"{self.label}, class {name!r}", given)
            for name, given in self.checked_entries().items()
        }
        object.__setattr__(self, "shares", shares)

    @property
    def entries(self) -> Mapping[str, Mapping[int, float]]:
        """The shares."""
        return self.shares

    def decide(self, job_class: JobClass, idle: int) -> Mapping[int, float]:  # noqa: ARG002
        """Return the shares of the class, whatever is idle."""
        return self.entry(job_class, "shares")

    def reach(self, job_class: JobClass, servers: int) -> int:
        """Return the widest width with a share; refuse one beyond all widths of the class."""
        widest = max(self.decide(job_class, servers))
        if widest > job_class.speedup.widths[-1]:
            refuse_unknown_width(self.name, job_class, widest)
        return min(widest, servers)

    def describe(self) -> str:
        """Describe the shares in words, such as "2 (25 %) or 3 (75 %) servers, ..."."""
        parts = [
            f"{described_widths({w: p for w, p in shares.items() if p > 0.0})} servers, or as many "
            f"as are idle"
            for shares in self.shares.values()
        ]
        if len(parts) == 1:
            return parts[0]
        return "; ".join(f"{name}: {words}" for name, words in zip(self.shares, parts, strict=True))

    @property
    def name(self) -> str:
        """The label."""
        return self.label


@final
@dataclass(frozen=True)
class Greedy(Policy):
    """Give every job as many servers as it can use, up to its widest width.

    Examples:
        >>> Greedy().with_classes(Scenario.single([1, 1.8, 2.5], 0.8, 8)).grant("jobs", idle=2)
        2
    """

    name = "greedy"
    ignores_idle = True

    def decide(self, job_class: JobClass, idle: int) -> Mapping[int, float]:  # noqa: ARG002
        """Return the widest width."""
        return {int(job_class.speedup.widths[-1]): 1.0}


def greedy_p(scenario: ScenarioOrFile, design_load: float | None = None) -> GreedyP:
    """Return greedy(p*): the shares of the optimum, by default at the scenario's own load.

    Args:
        scenario: the classes and the cluster.
        design_load: compute the shares for this load instead; above the true load it leaves
            headroom, trading execution time for blocking.

    Examples:
        >>> greedy_p(Scenario.single([1, 1.8, 2.5], 0.9, 8)).describe()
        '2 (100 %) servers, or as many as are idle'
    """
    scenario = checked_scenario(scenario)
    if design_load is None:
        return GreedyP(shares_of(reserve(scenario)), "greedy(p*)").with_classes(scenario)
    design_load = positive(design_load, "design load", PolicyError)
    shares = shares_of(reserve(scenario.at_load(design_load)))
    return GreedyP(shares, f"greedy(p*) for load {design_load:g}").with_classes(scenario)


def shares_of(division: Reservation) -> dict[str, dict[int, float]]:
    """Return the share of each class's jobs that a reservation gives each width."""
    return {
        part.name: dict(zip(part.support, part.mix.shares, strict=True))
        for part in division.classes
    }
