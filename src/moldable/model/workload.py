"""Job classes and workloads.

Rates are absolute: jobs per unit of time over the whole cluster. A workload on a number of servers
is a `Scenario`.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Self, final

import numpy as np

from moldable.arrays import Floats
from moldable.checks import as_list, check_type, choice, positive
from moldable.errors import WorkloadError, naming
from moldable.model.sizes import EXPONENTIAL, SizeLaw
from moldable.model.speedup import SpeedUp
from moldable.model.spelling import Curve, as_size_law, as_speedup
from moldable.model.units import SECONDS, checked_unit, parse_duration, parse_rate, unit_in

SHARING: Final = ("pool", "reserved")


@final
@dataclass(frozen=True, slots=True)
class JobClass:
    """A class of jobs with the same arrival rate, size distribution and speed-up curve.

    Args:
        name: name of the class.
        arrival_rate: jobs per unit of time, the scenario's `time_unit`, or text such as "5/h".
        speedup: allowed widths and their speed-ups: a `SpeedUp`, a list of speed-ups, a mapping
            {width: speed-up}, or text as on the command line, such as "amdahl:0.95:64".
        mean_size: mean time of a job on one server, in the same unit, or text such as "90 min".
        weight: weight of the execution time of this class in the objective.
        size: distribution of sizes, scaled to that mean, or text such as "lognormal:2".
        time_unit: unit of the plain numbers; by default that of the rate or the size if they have
            one. A scenario converts its classes to its own unit.

    Examples:
        >>> JobClass("training", 2.5, [1, 1.8, 2.5], size="lognormal:2").size
        Lognormal(cv=2.0)
        >>> JobClass("solver", "120/day", [1, 1.8], "90 min", time_unit="hours").arrival_rate
        5.0
    """

    name: str
    arrival_rate: float
    speedup: SpeedUp
    mean_size: float = 1.0
    weight: float = 1.0
    size: SizeLaw = EXPONENTIAL
    time_unit: str | None = None

    if TYPE_CHECKING:

        def __init__(  # noqa: PLR0917 - the fields, with the types that they take
            self,
            name: str,
            arrival_rate: float | str,
            speedup: Curve,
            mean_size: float | str = 1.0,
            weight: float = 1.0,
            size: SizeLaw | str = EXPONENTIAL,
            time_unit: str | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        check_type(self.name, str, "name", WorkloadError, "text such as 'training'")
        where = f"class {self.name!r}"
        with naming(where):
            object.__setattr__(self, "speedup", as_speedup(self.speedup))
            object.__setattr__(self, "size", as_size_law(self.size))
        check_type(self.size, SizeLaw, f"{where}: size", WorkloadError, "a law such as Pareto(1.5)")
        unit = checked_unit(self.time_unit) or unit_in(self.arrival_rate, self.mean_size)
        object.__setattr__(self, "time_unit", unit)
        for field, parse in (("arrival_rate", parse_rate), ("mean_size", parse_duration)):
            value = parse(getattr(self, field), unit, f"{where}: {field}", WorkloadError)
            object.__setattr__(self, field, value)
        hint = "leave out classes without arrivals or weight"
        for field in ("arrival_rate", "mean_size", "weight"):
            value = positive(getattr(self, field), f"{where}: {field}", WorkloadError, hint)
            object.__setattr__(self, field, value)
        positive(self.offered, f"{where}: arrival_rate x mean_size", WorkloadError)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and text, ready for JSON."""
        curve = zip(self.speedup.widths.tolist(), self.speedup.speedups.tolist(), strict=True)
        return {
            "name": self.name,
            "arrival_rate": self.arrival_rate,
            "mean_size": self.mean_size,
            "weight": self.weight,
            "size": str(self.size),
            "speedup": {str(width): speedup for width, speedup in curve},
        }

    def in_unit(self, unit: str) -> Self:
        """Return the class with its rate and its mean size in another unit of time.

        Numbers without a unit are taken to be in that unit already.
        """
        if self.time_unit is None or self.time_unit == unit:
            return self
        factor = SECONDS[self.time_unit] / SECONDS[unit]
        rate, mean = self.arrival_rate / factor, self.mean_size * factor
        return replace(self, arrival_rate=rate, mean_size=mean, time_unit=unit)

    @property
    def offered(self) -> float:
        """Work arriving per unit of time, rate x mean size, in servers."""
        return self.arrival_rate * self.mean_size


@final
@dataclass(frozen=True, slots=True)
class Workload:
    """The classes of jobs that arrive at a cluster.

    Args:
        classes: at least one class; names must differ.
        sharing: "pool" if every class may use every idle server, "reserved" if each class has its
            own servers.

    Examples:
        >>> Workload([JobClass("a", 2.0, [1, 1.8]), JobClass("b", 1.0, [1, 1.5])]).arrival_rate
        3.0
    """

    classes: tuple[JobClass, ...]
    sharing: str = "pool"

    def __post_init__(self) -> None:
        given = as_list(self.classes, "classes", WorkloadError, "[JobClass(...), ...]")
        object.__setattr__(self, "classes", tuple(given))
        for job_class in self.classes:
            check_type(job_class, JobClass, "classes", WorkloadError, "[JobClass(...), ...]")
        if not self.classes:
            raise WorkloadError(
                "the workload has no class; give at least one JobClass, in a file one [[class]]"
            )
        choice(self.sharing, SHARING, "sharing", WorkloadError)
        name, count = Counter(job_class.name for job_class in self.classes).most_common(1)[0]
        if count > 1:
            raise WorkloadError(f"two classes are called {name!r}; names must differ, rename one")
        if self.time_unit is not None:
            object.__setattr__(self, "classes", self._in_unit(self.time_unit))

    def in_unit(self, unit: str) -> Self:
        """Return the workload with all classes in a unit of time."""
        return replace(self, classes=self._in_unit(unit))

    def _in_unit(self, unit: str) -> tuple[JobClass, ...]:
        return tuple(job_class.in_unit(unit) for job_class in self.classes)

    @property
    def time_unit(self) -> str | None:
        """The unit of the first class that has one."""
        return next((part.time_unit for part in self.classes if part.time_unit), None)

    @property
    def arrival_rate(self) -> float:
        """Jobs of all classes per unit of time."""
        return math.fsum(job_class.arrival_rate for job_class in self.classes)

    @property
    def rates(self) -> Floats:
        """Jobs of each class per unit of time."""
        return np.array([job_class.arrival_rate for job_class in self.classes])

    @property
    def mean_size(self) -> float:
        """Mean size of the jobs of all classes."""
        return sum(job_class.offered for job_class in self.classes) / self.arrival_rate
