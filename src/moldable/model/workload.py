"""Which jobs arrive, how often, and how do they scale?

Rates are absolute: jobs per unit of time over the whole cluster. A workload on a number of servers
is a `Scenario`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

from moldable.checks import check_type, choice, listed, positive
from moldable.errors import WorkloadError
from moldable.model.sizes import EXPONENTIAL, SizeLaw
from moldable.model.speedup import SpeedUp

SHARING: Final = ("pool", "reserved")


@final
@dataclass(frozen=True, slots=True)
class JobClass:
    """Jobs that share an arrival rate, a law of sizes and a speed-up curve.

    Args:
        name: what people call it.
        arrival_rate: jobs per unit of time.
        speedup: the allowed widths and their speed-ups.
        mean_size: mean time of a job on one server.
        weight: how much a unit of this class's time counts in the objective.
        size: the law of sizes around that mean.
    """

    name: str
    arrival_rate: float
    speedup: SpeedUp
    mean_size: float = 1.0
    weight: float = 1.0
    size: SizeLaw = EXPONENTIAL

    def __post_init__(self) -> None:
        check_type(self.name, str, "name of a class", WorkloadError, "text such as 'training'")
        where = f"class {self.name!r}"
        check_type(self.speedup, SpeedUp, f"{where}: speedup", WorkloadError, "SpeedUp([1, 1.8])")
        check_type(self.size, SizeLaw, f"{where}: size", WorkloadError, "a law such as Pareto(1.5)")
        hint = "leave out classes that do not arrive or do not count"
        for field in ("arrival_rate", "mean_size", "weight"):
            name = f"{where}: {field}"
            object.__setattr__(
                self, field, positive(getattr(self, field), name, WorkloadError, hint)
            )
        positive(self.offered, f"{where}: arrival_rate x mean_size", WorkloadError)

    @property
    def offered(self) -> float:
        """Work arriving per unit of time, in servers of width-1 speed: rate x mean size."""
        return self.arrival_rate * self.mean_size


@final
@dataclass(frozen=True, slots=True)
class Workload:
    """The classes of jobs that arrive at one cluster.

    Args:
        classes: at least one, with distinct names.
        sharing: "pool" if every class may use every idle server, "reserved" if each owns some.
    """

    classes: tuple[JobClass, ...]
    sharing: str = "pool"

    def __post_init__(self) -> None:
        given = listed(self.classes, "classes", WorkloadError, "[JobClass(...), ...]")
        object.__setattr__(self, "classes", tuple(given))
        for job_class in self.classes:
            check_type(job_class, JobClass, "a class", WorkloadError, "JobClass(...)")
        if not self.classes:
            raise WorkloadError("the workload has no class; give at least one [[class]]")
        choice(self.sharing, SHARING, "sharing", WorkloadError)
        seen: set[str] = set()
        for job_class in self.classes:
            if job_class.name in seen:
                raise WorkloadError(
                    f"two classes are called {job_class.name!r}; names must differ, rename one"
                )
            seen.add(job_class.name)

    @property
    def arrival_rate(self) -> float:
        """Jobs of all classes per unit of time."""
        return math.fsum(job_class.arrival_rate for job_class in self.classes)


def checked_workload(workload: Workload) -> Workload:
    """Return a workload, or refuse what is none."""
    check_type(workload, Workload, "workload", WorkloadError, "Workload([JobClass(...)])")
    return workload
