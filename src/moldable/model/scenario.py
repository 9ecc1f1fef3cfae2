"""Scenarios: a workload, a number of servers, an arrival process and waiting places."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, final

from moldable.checks import check_type, checked_int, positive
from moldable.errors import WorkloadError, shortened
from moldable.model.arrivals import Arrivals, Poisson
from moldable.model.sizes import EXPONENTIAL, SizeLaw
from moldable.model.spelling import Curve, as_arrivals, as_size_law, as_speedup, load_scenario
from moldable.model.units import checked_unit
from moldable.model.waiting import checked_waiting, written_waiting
from moldable.model.workload import JobClass, Workload


@final
@dataclass(frozen=True, slots=True, repr=False)
class Scenario:
    """A workload on a number of servers, with its arrival process.

    Args:
        workload: classes of jobs.
        servers: number of servers.
        arrivals: arrival process, or text such as "renewal:2"; its rates are those of the classes.
        waiting: places for jobs that cannot start at once: 0, a number, or infinity
            ("unlimited"). Jobs wait in the order of their arrival, over all classes; a job that
            finds all places taken is blocked.
        time_unit: unit of all times and rates, "seconds", "minutes", "hours" or "days"; results are
            in the same unit. By default that of the classes, if they have one.

    Examples:
        >>> jobs = JobClass("jobs", arrival_rate=12.0, speedup=[1, 1.8, 2.5])
        >>> Scenario(Workload([jobs]), servers=16, arrivals="renewal:2").load
        0.75
    """

    workload: Workload
    servers: int
    arrivals: Arrivals = field(default_factory=Poisson)
    waiting: float = 0
    time_unit: str | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            workload: Workload,
            servers: int,
            arrivals: Arrivals | str = ...,
            waiting: float | str = ...,
            time_unit: str | None = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        example = "Workload([JobClass(...)])"
        check_type(self.workload, Workload, "workload", WorkloadError, example)
        object.__setattr__(self, "servers", checked_int(self.servers, "servers", WorkloadError))
        object.__setattr__(self, "arrivals", as_arrivals(self.arrivals))
        check_type(self.arrivals, Arrivals, "arrivals", WorkloadError, "a process: Poisson()")
        object.__setattr__(self, "waiting", checked_waiting(self.waiting))
        unit = checked_unit(self.time_unit) or self.workload.time_unit
        object.__setattr__(self, "time_unit", unit)
        if unit is not None and self.workload.time_unit not in {None, unit}:
            object.__setattr__(self, "workload", self.workload.in_unit(unit))
        for job_class in self.workload.classes:
            narrowest = int(job_class.speedup.widths[0])
            if narrowest > self.servers:
                raise WorkloadError(
                    f"class {job_class.name!r}: its narrowest width is {narrowest}, but there are "
                    f"{self.servers} servers; add servers or leave the class out"
                )
        if self.waiting and self.workload.sharing != "pool" and len(self.workload.classes) > 1:
            raise WorkloadError(
                f"{written_waiting(self.waiting)} waiting places, but {len(self.workload.classes)} "
                f"classes with reserved servers: one queue needs one pool; let them share "
                f"(sharing='pool'), or give each class a scenario of its own",
                "waiting",
            )

    def __repr__(self) -> str:
        """Show the main figures; `to_dict` has everything."""
        names = shortened((part.name for part in self.workload.classes), 6)
        places = "" if not self.waiting else f", waiting={written_waiting(self.waiting)}"
        unit = "" if self.time_unit is None else f", time_unit={self.time_unit!r}"
        return (
            f"Scenario({names}: load {self.load:.4g} on {self.servers} servers, {self.arrivals} "
            f"arrivals{places}{unit})"
        )

    @classmethod
    def single(
        cls,
        speedup: Curve,
        load: float,
        servers: int,
        *,
        size: SizeLaw | str = EXPONENTIAL,
        arrivals: Arrivals | str | None = None,
        waiting: float | str = 0,
    ) -> Self:
        """Return the paper's scenario: one class, unit mean size, arrival rate n x load.

        Curve, sizes and arrivals may be text as on the command line.
        """
        n = checked_int(servers, "servers", WorkloadError)
        jobs = JobClass("jobs", n * checked_load(load), as_speedup(speedup), size=as_size_law(size))
        return cls(Workload((jobs,)), n, Poisson() if arrivals is None else arrivals, waiting)

    @staticmethod
    def read(path: str | Path, servers: int | None = None) -> Scenario:
        """Read a scenario from a TOML file; `servers` replaces the number in the file."""
        return load_scenario(path, servers)

    @property
    def load(self) -> float:
        """Work arriving per unit of time and server: arrival rate x mean size / servers."""
        return math.fsum(job_class.offered for job_class in self.workload.classes) / self.servers

    @property
    def assumptions(self) -> str:
        """The arrivals and the size laws in words."""
        *others, last = dict.fromkeys(str(c.size) for c in self.workload.classes)
        sizes = f"{', '.join(others)} and {last}" if others else last
        arrivals = "Poisson" if isinstance(self.arrivals, Poisson) else str(self.arrivals)
        return f"{arrivals} arrivals, {sizes} sizes"

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and text, ready for JSON."""
        return {
            "servers": self.servers,
            "sharing": self.workload.sharing,
            "arrivals": str(self.arrivals),
            "waiting": written_waiting(self.waiting),
            "time_unit": self.time_unit,
            "classes": [job_class.to_dict() for job_class in self.workload.classes],
        }

    def at_load(self, load: float) -> Self:
        """Return the scenario with all arrival rates scaled to this load."""
        own, wanted = self.load, checked_load(load)
        classes = tuple(
            replace(job_class, arrival_rate=job_class.arrival_rate * wanted / own)
            for job_class in self.workload.classes
        )
        return replace(self, workload=replace(self.workload, classes=classes))


ScenarioOrFile = Scenario | str | Path
"""A scenario, or the name of a TOML file that holds one."""


def checked_scenario(scenario: ScenarioOrFile) -> Scenario:
    """Return the scenario, read from its file if it is one."""
    if isinstance(scenario, str | Path):
        return load_scenario(scenario)
    example = "Scenario(workload, servers), or the name of a file such as 'cluster.toml'"
    check_type(scenario, Scenario, "scenario", WorkloadError, example)
    return scenario


def checked_load(load: object) -> float:
    """Return the load if it is a positive number."""
    return positive(load, "load", WorkloadError, "it is arrival rate x mean size / servers")
