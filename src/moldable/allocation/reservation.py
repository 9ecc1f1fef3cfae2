"""Problem (Q) of the paper: the optimal division of a cluster among several classes.

Every class starts at its least server-time. Spare capacity then buys the edges of all frontiers in
order of the time they save per server-time, the last one in part: so at most one class randomises
between two widths.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from moldable.allocation.certificate import Certificate, certify
from moldable.allocation.frontier import Frontier, Mix, frontiers
from moldable.arrays import Floats, Ints
from moldable.base_result import Result, Row
from moldable.errors import InfeasibleError, WorkloadError, shortened
from moldable.model.assumptions import ROUNDING
from moldable.model.scenario import Scenario, ScenarioOrFile, checked_scenario
from moldable.model.units import duration
from moldable.model.workload import JobClass, Workload


@final
@dataclass(frozen=True, repr=False)
class ClassAllocation:
    """What one class gets.

    Attributes:
        job_class: the class.
        servers: the servers reserved for it; an integer only for `reserve_whole`.
        frontier: its widths worth using.
        mix: the one or two widths used, and the share of its jobs given each.

    Example:
        >>> reserve(Scenario.single([1, 1.8, 2.5], 0.9, 8)).classes[0].support
        (2,)
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
        """Whether the reserved servers suffice for one job of the widest width used.

        At a light load the servers that are busy on average may be fewer than that width; on
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

    def __repr__(self) -> str:
        return (
            f"ClassAllocation({self.name!r}, servers={self.servers:.6g}, widths "
            f"{list(self.support)}, mean_execution_time={self.mean_execution_time:.6g})"
        )

    @cached_property
    def probabilities(self) -> Floats:
        """p_j*: the share of the class's jobs given each allowed width."""
        return self.mix.spread(self.widths)

    @cached_property
    def mean_jobs(self) -> Floats:
        """Jobs of the class running at each allowed width: n times the paper's y_j*."""
        return self.probabilities * self.job_class.offered / self.frontier.speedup.speedups


@final
@dataclass(frozen=True, repr=False)
class Reservation(Result):
    """How a cluster is divided among classes.

    Attributes:
        servers: the size of the cluster.
        classes: what each class gets, in the workload's order.
        shadow_price: weighted time saved per further unit of server-time; 0 when slack.
        whole: whether each class has an integer number of servers.
        time_unit: the scenario's unit of time, which all times are in; None if it has none.

    Example:
        >>> jobs = JobClass("a", 2.0, [1, 1.8]), JobClass("b", 1.0, [1, 1.5])
        >>> reserve(Scenario(Workload(jobs), 8)).to_frame()["class"].tolist()
        ['a', 'b']
    """

    servers: int
    classes: tuple[ClassAllocation, ...]
    shadow_price: float
    whole: bool
    time_unit: str | None = None

    @property
    def arrival_rate(self) -> float:
        """Jobs of all classes per unit of time."""
        return math.fsum(part.job_class.arrival_rate for part in self.classes)

    @property
    def mean_execution_time(self) -> float:
        """D*: the mean over all jobs, in units of time."""
        return self._mean(weighted=False)

    @property
    def objective(self) -> float:
        """What was minimised: the mean with each class's weight on its times."""
        return self._mean(weighted=True)

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
                "whole servers have no multipliers; use reserve(...) for those of (Q)"
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
        price = {} if self.whole else {"shadow_price": self.shadow_price}
        classes = [
            {
                "name": part.name,
                **(
                    {"reserved_servers": part.servers}
                    if self.whole
                    else {"reserved_fraction": self.reserved_fraction(part)}
                ),
                "widths": part.widths.tolist(),
                "probabilities": part.probabilities.tolist(),
                "mean_execution_time": part.mean_execution_time,
            }
            for part in self.classes
        ]
        given = {"servers": self.servers, "classes": [p.job_class.to_dict() for p in self.classes]}
        return {
            "mean_execution_time": self.mean_execution_time,
            "time_unit": self.time_unit,
            **price,
            "classes": classes,
            "inputs": {"scenario": given},
        }

    def table(self) -> list[Row]:
        """Return a row for each class and width that it uses."""
        return [
            {
                "class": part.name,
                "servers": part.servers,
                "width": width,
                "share": share,
                "mean_execution_time": part.mean_execution_time,
            }
            for part in self.classes
            for width, share in zip(part.support, part.mix.shares, strict=True)
        ]

    def __repr__(self) -> str:
        parts = ", ".join(
            f"{part.name}: {part.servers:.6g} servers, widths {list(part.support)}"
            for part in self.classes[:6]
        )
        more = ", ..." if len(self.classes) > 6 else ""  # noqa: PLR2004 - as many as fit a line
        time = duration(f"{self.mean_execution_time:.6g}", self.time_unit)
        return (
            f"Reservation({parts}{more}; mean_execution_time={time}, "
            f"shadow_price={self.shadow_price:.6g})"
        )

    def _mean(self, *, weighted: bool) -> float:
        total = math.fsum(
            (part.job_class.weight if weighted else 1.0)
            * part.job_class.arrival_rate
            * part.mean_execution_time
            for part in self.classes
        )
        return total / self.arrival_rate


def reserve(scenario: ScenarioOrFile) -> Reservation:
    """Solve (Q): the division with the least (weighted) mean time, servers being divisible.

    Example:
        >>> reserve(Scenario.single([1, 1.8, 2.5], 0.9, 8))
        Reservation(jobs: 8 servers, widths [2]; mean_execution_time=0.555556, shadow_price=1.75)
    """
    scenario = checked_scenario(scenario)
    fronts = fitting_frontiers(scenario)
    workload, servers = scenario.workload, scenario.servers
    least, owner, slope, cost = _edges(workload, fronts)
    needed = math.fsum(least)
    if needed > servers * (1.0 + ROUNDING):
        raise InfeasibleError(_overload(workload, least, servers))
    spare, offered = servers - needed, [job_class.offered for job_class in workload.classes]
    noise = ROUNDING * (spare + float(np.sum(offered)))
    bought = int(np.searchsorted(cost, spare + noise, side="right"))
    reached = np.bincount(owner[:bought], minlength=len(fronts)).tolist()
    mixes = [front.alone(int(front.corners[k])) for front, k in zip(fronts, reached, strict=True)]
    price = -float(slope[bought]) if bought < cost.size else 0.0
    left_over = spare - (float(cost[bought - 1]) if bought else 0.0)
    # A part that is bought with rounding errors would randomise for nothing.
    if bought < cost.size and left_over > noise:
        j = int(owner[bought])
        mixes[j] = fronts[j].read(mixes[j].server_time + left_over / offered[j])
    parts = tuple(
        ClassAllocation(job_class, job_class.offered * mix.server_time, front, mix)
        for job_class, front, mix in zip(workload.classes, fronts, mixes, strict=True)
    )
    return Reservation(servers, parts, price, whole=False, time_unit=scenario.time_unit)


def fitting_frontiers(scenario: Scenario) -> list[Frontier]:
    """Return the frontier of every class over the widths that fit on the cluster."""
    classes = scenario.workload.classes
    return frontiers([job_class.speedup.up_to(scenario.servers) for job_class in classes])


def pure_loads(scenario: Scenario) -> Floats:
    """Return the loads, descending, at which the division gives every class one width.

    All classes are scaled alike; between two of these loads one class uses two widths.
    """
    workload = scenario.workload
    least, _, _, cost = _edges(workload, fitting_frontiers(scenario))
    offered = math.fsum(job_class.offered for job_class in workload.classes)
    return offered / (math.fsum(least) + np.concatenate((np.zeros(1), cost)))


def _edges(workload: Workload, fronts: list[Frontier]) -> tuple[Floats, Ints, Floats, Floats]:
    """Return the least servers of each class, and the edges of all frontiers, steepest first.

    Of the edges: the class of each, the weighted time saved per server-time (negative), and the
    servers that all edges up to this one take together.
    """
    offered = np.array([job_class.offered for job_class in workload.classes])
    least = offered * np.array([front.server_time[0] for front in fronts])
    corners = np.array([front.corners.size for front in fronts], dtype=np.int64)
    owner = np.repeat(np.arange(corners.size), corners)
    x = np.concatenate([front.server_time[front.corners] for front in fronts])
    t = np.concatenate([front.time[front.corners] for front in fronts])
    weight = np.array([job_class.weight for job_class in workload.classes])

    inner = np.flatnonzero(owner[1:] == owner[:-1])
    owner = owner[inner]
    run = x[inner + 1] - x[inner]
    slope = weight[owner] * _convex((t[inner + 1] - t[inner]) / run, owner)
    order = np.argsort(slope, kind="stable")
    return least, owner[order], slope[order], np.cumsum((offered[owner] * run)[order])


def _convex(slope: Floats, owner: Ints) -> Floats:
    """Undo rounding that would buy a later edge of a class before an earlier one."""
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
