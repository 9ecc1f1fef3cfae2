"""The division of a cluster among classes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

from moldable.allocation.certificate import Certificate, certify
from moldable.allocation.frontier import Frontier, Mix
from moldable.arrays import Floats, Ints
from moldable.base_result import Result, Row
from moldable.errors import WorkloadError
from moldable.model.units import duration
from moldable.model.workload import JobClass


@final
@dataclass(frozen=True, repr=False)
class ClassAllocation:
    """What one class gets.

    Attributes:
        job_class: the class.
        servers: the servers reserved for it; an integer only for `reserve_whole`.
        frontier: its widths worth using.
        mix: the one or two widths used, and the share of its jobs given each.

    Examples:
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

    Examples:
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
                    {"reserved_servers": part.servers, "holds_its_widths": part.holds_its_widths}
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
        more = ", ..." if len(self.classes) > 6 else ""  # noqa: PLR2004 - as many as fit on a line
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
