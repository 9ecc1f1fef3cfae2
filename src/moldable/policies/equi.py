"""EQUI, a preemptive reference: widths may change while jobs run.

EQUI divides all servers evenly among the jobs present, again at every arrival and departure:
J. Edmonds, "Scheduling in the dark", Theoretical Computer Science 235, 2000; B. Berg,
J.-P. Dorsman, M. Harchol-Balter, "Towards optimality in parallel job scheduling", SIGMETRICS 2018.
Jobs do not keep a width, so it is not a `Policy` but a rule for how fast j jobs leave. As all of
them run at one speed, the number of jobs depends on the distribution of sizes through its mean only
(the symmetric queues of F. P. Kelly, "Reversibility and Stochastic Networks", 1979): with Poisson
arrivals it is that of a birth-death chain with these rates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from moldable.arrays import Floats
from moldable.checks import checked_int
from moldable.errors import PolicyError
from moldable.model.speedup import SpeedUp
from moldable.model.workload import JobClass


@final
@dataclass(frozen=True)
class Equi:
    """Share n servers evenly among the jobs of one class; a job that finds n others is blocked.

    Examples:
        >>> f"{evaluate(Scenario.single([1, 1.8, 2.5], 0.8, 8), Equi()).blocking:.4f}"
        '0.0656'
    """

    name = "equi"

    @staticmethod
    def speed(speedup: SpeedUp, share: ArrayLike) -> Floats:
        """Return the speed of a job that holds a share of servers, whole or not, elementwise.

        Between allowed widths the curve is interpolated, a job changing between the two in time;
        below the narrowest it is interpolated towards (0, 0). Where the curve dips, a job leaves
        servers unused and takes the best speed that its share allows; so it does beyond the
        widest width.
        """
        shares = np.asarray(share, dtype=np.float64)
        if not np.all(shares >= 0.0):
            raise PolicyError(f"share {share!r} must be at least 0 servers; correct it")
        widths = np.concatenate(([0], speedup.widths))
        speeds = np.concatenate(([0.0], speedup.speedups))
        best_so_far = np.maximum.accumulate(speeds)
        passed = np.searchsorted(widths, shares, side="right") - 1
        fastest: Floats = np.maximum(np.interp(shares, widths, speeds), best_so_far[passed])
        return fastest

    @staticmethod
    def departure_rates(job_class: JobClass, servers: int) -> Floats:
        """Return the rate at which jobs depart while 0, 1, ..., n of them are present.

        Widths above the servers are left out: no job could hold them even for a moment.
        """
        jobs = np.arange(1, checked_int(servers, "servers", PolicyError) + 1)
        speeds = Equi.speed(job_class.speedup.up_to(servers), servers / jobs)
        return np.concatenate(([0.0], jobs * speeds / job_class.mean_size))
