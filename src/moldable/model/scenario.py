"""Scenarios: a workload, a number of servers and an arrival process."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Self, final

from moldable.checks import check_type, positive, whole
from moldable.errors import WorkloadError
from moldable.model.arrivals import Arrivals, Poisson
from moldable.model.sizes import EXPONENTIAL, SizeLaw
from moldable.model.speedup import SpeedUp
from moldable.model.units import checked_unit
from moldable.model.workload import JobClass, Workload


@final
@dataclass(frozen=True, slots=True)
class Scenario:
    """A workload on a number of servers, with its arrival process.

    Args:
        workload: classes of jobs.
        servers: number of servers.
        arrivals: arrival process; its rates are those of the classes.
        time_unit: unit of all times and rates, "seconds", "minutes", "hours" or "days"; results are
            in the same unit. By default none is named.
    """

    workload: Workload
    servers: int
    arrivals: Arrivals = field(default_factory=Poisson)
    time_unit: str | None = None

    def __post_init__(self) -> None:
        example = "Workload([JobClass(...)])"
        check_type(self.workload, Workload, "workload", WorkloadError, example)
        object.__setattr__(self, "servers", whole(self.servers, "servers", WorkloadError))
        check_type(self.arrivals, Arrivals, "arrivals", WorkloadError, "a process: Poisson()")
        object.__setattr__(self, "time_unit", checked_unit(self.time_unit))
        for job_class in self.workload.classes:
            narrowest = int(job_class.speedup.widths[0])
            if narrowest > self.servers:
                raise WorkloadError(
                    f"class {job_class.name!r}: its narrowest width is {narrowest}, but there are "
                    f"{self.servers} servers; add servers or leave the class out"
                )

    @classmethod
    def single(
        cls,
        speedup: SpeedUp,
        load: float,
        servers: int,
        *,
        size: SizeLaw = EXPONENTIAL,
        arrivals: Arrivals | None = None,
    ) -> Self:
        """Return the paper's scenario: one class, unit mean size, arrival rate n x load."""
        n = whole(servers, "servers", WorkloadError)
        jobs = JobClass("jobs", n * checked_load(load), speedup, size=size)
        return cls(Workload((jobs,)), n, Poisson() if arrivals is None else arrivals)

    @property
    def load(self) -> float:
        """Work arriving per unit of time and server: arrival rate x mean size / servers."""
        return math.fsum(job_class.offered for job_class in self.workload.classes) / self.servers

    def at_load(self, load: float) -> Self:
        """Return the scenario with all arrival rates scaled to this load."""
        own, wanted = self.load, checked_load(load)
        classes = tuple(
            replace(job_class, arrival_rate=job_class.arrival_rate * wanted / own)
            for job_class in self.workload.classes
        )
        return replace(self, workload=replace(self.workload, classes=classes))


def checked_scenario(scenario: Scenario) -> Scenario:
    """Return the scenario if it is one."""
    example = "Scenario(workload, servers) or Scenario.single(curve, load, servers)"
    check_type(scenario, Scenario, "scenario", WorkloadError, example)
    return scenario


def checked_load(load: object) -> float:
    """Return the load if it is a positive number."""
    return positive(load, "load", WorkloadError, "it is arrival rate x mean size / servers")
