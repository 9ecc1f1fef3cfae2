"""Blocking with less variance: a regression on control variates.

Blocking in a run is high mostly because by chance more work arrived than expected, or because jobs
held their servers for longer. The expected values of both are known, so a linear regression over
the replications removes their part of the variance (S. Asmussen and P. W. Glynn, Stochastic
Simulation, 2007, section V.2). About a tenth of it is left.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from moldable.arrays import Floats
from moldable.simulation.estimates import TINY, errors_of, student
from moldable.simulation.plan import Tallies
from moldable.system.estimate import Estimate
from moldable.system.loss_system import System

FEWEST: Final = 32
"""Replications below which the coefficients of the regression are too uncertain."""


def controlled_blocking(tallies: Tallies, system: System) -> Estimate | None:
    """Estimate the blocking of all classes; None if control variates cannot be used.

    They need Poisson arrivals, and blocked jobs in every replication.
    """
    blocked, arrived = (jobs.sum(axis=(0, 2)) for jobs in (tallies.blocked, tallies.arrived))
    if not system.poisson or system.places or blocked.size < FEWEST or not blocked.all():
        return None
    errors, columns = errors_of(blocked, arrived), _controls(tallies, system)
    columns = columns[:, columns.std(axis=0) > 0.0]
    centred = columns - columns.mean(axis=0)
    slopes = np.linalg.lstsq(centred, errors)[0]
    value = float(blocked.sum() / arrived.sum() - columns.mean(axis=0) @ slopes)
    left, freedom = errors - centred @ slopes, errors.size - 1 - slopes.size
    reach = student(freedom) * math.sqrt(float(left @ left) / (errors.size * freedom))
    return Estimate(value, (max(value - reach, 0.0), min(value + reach, 1.0)))


def _controls(tallies: Tallies, system: System) -> Floats:
    """Return columns with mean zero, relative to the expected server-time of the arrivals.

    They are the server-time of the arrivals, and that which running jobs held, each less its
    expected value: a job of a kind that is granted holds its servers for the mean time of the kind.
    The second is left out if it has no variance, because its mean would have no normal error.
    """
    time = tallies.time.sum(axis=0)
    granted = tallies.granted.sum(axis=0)
    arrived = tallies.arrived.sum(axis=0)
    held = (tallies.mean_jobs * tallies.time[..., None]).sum(axis=0) * system.kind_width
    expected = granted * (system.kind_width * system.kind_scale)
    rates = np.array([job_class.arrival_rate for job_class in system.workload.classes])
    own = np.eye(rates.size)[system.kind_class]  # which kinds a class has
    per_job = (expected.sum(axis=0) @ own) / np.maximum(granted.sum(axis=0) @ own, TINY)
    offered = (arrived - np.outer(time, rates)) @ per_job
    unit = float(time.mean() * (rates @ per_job))
    columns = [offered]
    if all(math.isfinite(job_class.size.variance) for job_class in system.workload.classes):
        columns.append((held - expected).sum(axis=1))
    return np.column_stack(columns) / unit
