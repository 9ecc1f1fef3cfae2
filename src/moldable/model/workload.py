"""Job classes and workloads.

Rates are absolute: jobs per unit of time over the whole cluster. A workload on a number of servers
is a `Scenario`.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

from moldable.checks import as_list, check_type, choice, positive
from moldable.errors import WorkloadError, naming
from moldable.model.sizes import EXPONENTIAL, SizeLaw
from moldable.model.speedup import SpeedUp
from moldable.model.spelling import Curve, as_size_law, as_speedup
from moldable.model.units import refuse_unit

SHARING: Final = ("pool", "reserved")


@final
@dataclass(frozen=True, slots=True)
class JobClass:
    """A class of jobs with the same arrival rate, size distribution and speed-up curve.

    Args:
        name: name of the class.
        arrival_rate: jobs per unit of time, the scenario's `time_unit`.
        speedup: allowed widths and their speed-ups: a `SpeedUp`, a list of speed-ups, a mapping
            {width: speed-up}, or text as on the command line, such as "amdahl:0.95:64".
        mean_size: mean time of a job on one server, in the same unit.
        weight: weight of the execution time of this class in the objective.
        size: distribution of sizes, scaled to that mean, or text such as "lognormal:2".

    Example:
        >>> JobClass("training", 2.5, [1, 1.8, 2.5], size="lognormal:2").size
        Lognormal(cv=2.0)
    """

    name: str
    arrival_rate: float
    speedup: SpeedUp
    mean_size: float = 1.0
    weight: float = 1.0
    size: SizeLaw = EXPONENTIAL

    if TYPE_CHECKING:

        def __init__(  # noqa: PLR0917 - the fields, with the types that they take
            self,
            name: str,
            arrival_rate: float,
            speedup: Curve,
            mean_size: float = 1.0,
            weight: float = 1.0,
            size: SizeLaw | str = EXPONENTIAL,
        ) -> None: ...

    def __post_init__(self) -> None:
        check_type(self.name, str, "name", WorkloadError, "text such as 'training'")
        where = f"class {self.name!r}"
        with naming(where):
            object.__setattr__(self, "speedup", as_speedup(self.speedup))
            object.__setattr__(self, "size", as_size_law(self.size))
        check_type(self.size, SizeLaw, f"{where}: size", WorkloadError, "a law such as Pareto(1.5)")
        refuse_unit(self.arrival_rate, f"{where}: arrival_rate", is_rate=True)
        refuse_unit(self.mean_size, f"{where}: mean_size", is_rate=False)
        hint = "leave out classes that do not arrive or do not count"
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

    Example:
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

    @property
    def arrival_rate(self) -> float:
        """Jobs of all classes per unit of time."""
        return math.fsum(job_class.arrival_rate for job_class in self.classes)
