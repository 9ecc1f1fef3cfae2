"""Which jobs arrive at which cluster, and how? The one value that every question is asked of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self, final

from moldable.checks import check_type, whole
from moldable.errors import WorkloadError
from moldable.model.arrivals import Arrivals, Poisson
from moldable.model.speedup import SpeedUp
from moldable.model.workload import Workload, checked_workload


@final
@dataclass(frozen=True, slots=True)
class Scenario:
    """A workload on a number of servers, with its arrivals.

    Args:
        workload: the classes of jobs.
        servers: the size of the cluster.
        arrivals: the process of arrivals; the rates are those of the classes.
    """

    workload: Workload
    servers: int
    arrivals: Arrivals = field(default_factory=Poisson)

    def __post_init__(self) -> None:
        checked_workload(self.workload)
        object.__setattr__(self, "servers", whole(self.servers, "servers", WorkloadError))
        check_type(self.arrivals, Arrivals, "arrivals", WorkloadError, "a process: Poisson()")

    @classmethod
    def single(cls, speedup: SpeedUp, load: float, servers: int) -> Self:
        """Return the paper's scenario: one class, unit mean size, arrival rate n x load."""
        return cls(Workload.single(speedup, load, servers), servers)
