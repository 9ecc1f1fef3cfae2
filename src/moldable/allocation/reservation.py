"""How should several classes of jobs divide one cluster?

Problem (Q) of the paper. Every class starts at its least server-time; spare capacity then buys the
edges of all frontiers in order of the time they save per server-time, the last one in part: so at
most one class randomises between two widths. With whole servers each class's time is still convex
in its servers, so the exact optimum is bought by marginal gains in the same way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np

from moldable.allocation.certificate import Certificate, certify
from moldable.allocation.frontier import Frontier, Mix, frontiers
from moldable.arrays import Floats, Ints
from moldable.errors import InfeasibleError, WorkloadError, shortened
from moldable.model.assumptions import ROUNDING
from moldable.model.scenario import Scenario, checked_scenario
from moldable.model.workload import JobClass, Workload


@final
@dataclass(frozen=True)
class ClassAllocation:
    """What one class gets.

    Attributes:
        job_class: the class.
        servers: the servers reserved for it; whole numbers only where that was asked.
        frontier: its widths worth using.
        mix: the one or two widths used, and the share of its jobs given each.
    """

    job_class: JobClass
    servers: float
    frontier: Frontier
    mix: Mix

    @property
    def name(self) -> str:
        """The class's name."""
        return self.job_class.name

    @property
    def support(self) -> tuple[int, ...]:
        """The one or two widths used."""
        return self.mix.support

    @property
    def holds_its_widths(self) -> bool:
        """Do the reserved servers suffice for one job of the widest width used?

        A light load pays for a width on average with fewer servers than the width itself; on
        servers of its own such a class would be granted less.
        """
        return self.servers >= self.mix.support[-1]

    @property
    def mean_execution_time(self) -> float:
        """D_j, in units of time."""
        return self.job_class.mean_size * self.mix.time

    @property
    def widths(self) -> Ints:
        """The allowed widths."""
        return self.frontier.speedup.widths

    @cached_property
    def probabilities(self) -> Floats:
        """p_j*: the share of the class's jobs given each allowed width."""
        return self.mix.spread(self.widths)

    @cached_property
    def mean_jobs(self) -> Floats:
        """Jobs of the class running at each allowed width: n times the paper's y_j*."""
        return self.probabilities * self.job_class.offered / self.frontier.speedup.speedups


@final
@dataclass(frozen=True)
class Reservation:
    """How a cluster is divided among classes.

    Attributes:
        servers: the size of the cluster.
        classes: what each class gets, in the workload's order.
        shadow_price: weighted time saved per further unit of server-time; 0 when slack.
        whole: whether servers were kept whole.
    """

    servers: int
    classes: tuple[ClassAllocation, ...]
    shadow_price: float
    whole: bool

    @property
    def arrival_rate(self) -> float:
        """Jobs of all classes per unit of time."""
        return math.fsum(part.job_class.arrival_rate for part in self.classes)

    @property
    def mean_execution_time(self) -> float:
        """D*: the mean over all jobs, in units of time."""
        return self._mean([1.0] * len(self.classes))

    @property
    def objective(self) -> float:
        """What was minimised: the mean with each class's weight on its times."""
        return self._mean([part.job_class.weight for part in self.classes])

    @property
    def time_saved_by_one_server(self) -> float:
        """The rate at which the objective falls as servers are added."""
        return self.shadow_price / self.arrival_rate

    @property
    def randomising(self) -> tuple[str, ...]:
        """The classes that use two widths; at most one unless servers are whole."""
        return tuple(part.name for part in self.classes if len(part.support) > 1)

    def reserved_fraction(self, part: ClassAllocation) -> float:
        """b_j*: the fraction of the cluster reserved for a class."""
        return part.servers / self.servers

    def scaled_jobs(self, part: ClassAllocation) -> Floats:
        """y_j*: jobs of the class running at each allowed width, per server of the cluster."""
        return part.mean_jobs / self.servers

    def certificates(self) -> tuple[Certificate, ...]:
        """Return the multipliers of (Q), class by class; theta0 is common to all."""
        if self.whole:
            raise WorkloadError(
                "whole servers have no multipliers; ask reserve(...) for those of (Q)"
            )
        rate = self.arrival_rate / self.servers
        busy = math.fsum(part.job_class.offered * part.mix.server_time for part in self.classes)
        return tuple(
            certify(
                part.widths,
                part.frontier.speedup.speedups,
                self.scaled_jobs(part),
                offered=part.job_class.offered / self.servers,
                cost=part.job_class.weight / rate,
                theta0=self.shadow_price / rate,
                busy=busy / self.servers,
            )
            for part in self.classes
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        answer: dict[str, Any] = {"mean_execution_time": self.mean_execution_time}
        if not self.whole:
            answer["shadow_price"] = self.shadow_price
        return answer | {"classes": [self._class_dict(part) for part in self.classes]}

    def __repr__(self) -> str:
        parts = ", ".join(
            f"{part.name}: {part.servers:.6g} servers, widths {list(part.support)}"
            for part in self.classes[:6]
        )
        more = ", ..." if len(self.classes) > 6 else ""  # noqa: PLR2004 - as many as fit a line
        return (
            f"Reservation({parts}{more}; mean_execution_time={self.mean_execution_time:.6g}, "
            f"shadow_price={self.shadow_price:.6g})"
        )

    def _class_dict(self, part: ClassAllocation) -> dict[str, Any]:
        reserved = (
            {"reserved_servers": part.servers}
            if self.whole
            else {"reserved_fraction": self.reserved_fraction(part)}
        )
        return {
            "name": part.name,
            **reserved,
            "widths": part.widths.tolist(),
            "probabilities": part.probabilities.tolist(),
            "mean_execution_time": part.mean_execution_time,
        }

    def _mean(self, weights: list[float]) -> float:
        total = math.fsum(
            weight * part.job_class.arrival_rate * part.mean_execution_time
            for weight, part in zip(weights, self.classes, strict=True)
        )
        return total / self.arrival_rate


def reserve(scenario: Scenario) -> Reservation:
    """Solve (Q): the division with the least (weighted) mean time, servers being divisible."""
    fronts = fitting_frontiers(scenario)
    workload, servers = scenario.workload, scenario.servers
    offered = np.array([job_class.offered for job_class in workload.classes])
    least = offered * np.array([front.server_time[0] for front in fronts])
    if math.fsum(least) > servers * (1.0 + ROUNDING):
        raise InfeasibleError(_overload(workload, least, servers))
    corners, partial, price = _buy_edges(workload, fronts, offered, servers - math.fsum(least))
    mixes = [
        front.alone(int(front.corners[corner]))
        for front, corner in zip(fronts, corners, strict=True)
    ]
    for j, extra in partial.items():
        mixes[j] = fronts[j].read(mixes[j].server_time + extra)
    return Reservation(servers, _busy_parts(workload, fronts, mixes), price, whole=False)


def fitting_frontiers(scenario: Scenario) -> list[Frontier]:
    """Return the frontier of every class over the widths that fit on the cluster."""
    classes = checked_scenario(scenario).workload.classes
    return frontiers([job_class.speedup.up_to(scenario.servers) for job_class in classes])


def _busy_parts(
    workload: Workload, fronts: list[Frontier], mixes: list[Mix]
) -> tuple[ClassAllocation, ...]:
    """Reserve for each class just the servers it keeps busy."""
    return tuple(
        ClassAllocation(job_class, job_class.offered * mix.server_time, front, mix)
        for job_class, front, mix in zip(workload.classes, fronts, mixes, strict=True)
    )


def pure_loads(scenario: Scenario) -> Floats:
    """Return the loads, descending, at which the division gives every class one width.

    All classes are scaled alike; between two of these loads one class uses two widths.
    """
    fronts, workload = fitting_frontiers(scenario), scenario.workload
    offered = np.array([job_class.offered for job_class in workload.classes])
    least = math.fsum(offered * np.array([front.server_time[0] for front in fronts]))
    cost = _edges(workload, fronts, offered).cost
    return math.fsum(offered) / (least + np.concatenate((np.zeros(1), cost)))


class _Edges(NamedTuple):
    """The edges of all classes' frontiers in the order in which they are bought.

    Attributes:
        owner: the class of each.
        slope: weighted time saved per server-time, negative.
        cost: servers that all edges up to this one take together.
    """

    owner: Ints
    slope: Floats
    cost: Floats


def _edges(workload: Workload, fronts: list[Frontier], offered: Floats) -> _Edges:
    """Sort the edges of all classes, the steepest first."""
    corners = np.array([front.corners.size for front in fronts], dtype=np.int64)
    owner = np.repeat(np.arange(corners.size), corners)
    x = np.concatenate([front.server_time[front.corners] for front in fronts])
    t = np.concatenate([front.time[front.corners] for front in fronts])
    weight = np.array([job_class.weight for job_class in workload.classes])

    inner = np.flatnonzero(owner[1:] == owner[:-1])
    edge_owner = owner[inner]
    run = x[inner + 1] - x[inner]
    slope = weight[edge_owner] * _convex((t[inner + 1] - t[inner]) / run, edge_owner)
    order = np.argsort(slope, kind="stable")
    cost = np.cumsum((offered[edge_owner] * run)[order])
    return _Edges(edge_owner[order], slope[order], cost)


def _buy_edges(
    workload: Workload, fronts: list[Frontier], offered: Floats, spare: float
) -> tuple[list[int], dict[int, float], float]:
    """Spend the spare servers on the steepest edges of all classes.

    Returns the corner each class reaches, the server-time beyond it of the class whose next edge
    is bought in part, and the price of that edge.
    """
    owner, slope, cost = _edges(workload, fronts, offered)
    noise = ROUNDING * (spare + float(offered.sum()))
    full = int(np.searchsorted(cost, spare + noise, side="right"))
    reached = np.bincount(owner[:full], minlength=len(fronts)).tolist()
    if full == cost.size:
        return reached, {}, 0.0
    price = -float(slope[full])
    left_over = spare - (float(cost[full - 1]) if full else 0.0)
    if left_over <= noise:
        return reached, {}, price  # a part bought with rounding errors would be no part at all
    partial = int(owner[full])
    return reached, {partial: left_over / float(offered[partial])}, price


def _convex(slope: Floats, owner: Ints) -> Floats:
    """Undo rounding that would sell a later edge of a class before an earlier one."""
    while True:
        falls = np.flatnonzero((slope[1:] < slope[:-1]) & (owner[1:] == owner[:-1]))
        if not falls.size:
            return slope
        slope[falls + 1] = slope[falls]


def _overload(workload: Workload, least: Floats, servers: int) -> str:
    needs = shortened(
        f"{job_class.name} {need:.6g}"
        for job_class, need in zip(workload.classes, least.tolist(), strict=True)
    )
    total = math.fsum(least)
    return (
        f"the classes need at least {total:.6g} busy servers ({needs}), but there are {servers}; "
        f"add servers, or send at most {servers / total:.6g} times as many jobs"
    )
