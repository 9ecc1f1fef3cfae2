"""What do the tallies say, and how sure is it?

Replications are independent, so their spread gives honest intervals whatever happens within one:
blocked jobs come in clusters, and a run without any is not evidence of one in three million.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from moldable.arrivals import ArrivalTimes
from moldable.errors import SimulationError, nearest
from moldable.granted import by_width, width_shares
from moldable.hull import Floats, Mask
from moldable.performance import ClassPerformance, Estimate
from moldable.simulation.plan import Tallies
from moldable.system import System

CONFIDENCE: Final = 0.95
ESTIMATORS: Final = ("assigned", "realised", "completed_only")
TINY: Final = 1e-300
"""Keeps a window without any length from dividing by zero."""
SUSPICIOUS: Final = 1.0 - 5.7e-7
"""Confidence of five standard errors: an identity that fails it is reported as broken."""


def check_estimator(name: str) -> None:
    """Refuse unknown estimators."""
    if not isinstance(name, str) or name not in ESTIMATORS:
        raise SimulationError(f"estimator {name!r} is unknown; {nearest(str(name), ESTIMATORS)}")


def ratio(above: Floats, below: Floats) -> Estimate:
    """Estimate a ratio of means from replications."""
    value = float(above.sum() / below.sum()) if below.sum() > 0 else math.nan
    count = above.size
    if count < 2 or not math.isfinite(value):  # noqa: PLR2004 - one run has no spread
        return Estimate(value, None)
    return around(value, errors_of(above, below))


def errors_of(above: Floats, below: Floats) -> Floats:
    """Return what each replication adds to the error of a ratio of means, to first order."""
    value = above.sum() / below.sum()
    return np.asarray((above - value * below) / below.mean())


def around(value: float, errors: Floats) -> Estimate:
    """Return a value with the interval that the errors of replications give it."""
    count = errors.size
    reach = student(count - 1) * math.sqrt(float(errors @ errors) / (count * (count - 1)))
    return Estimate(value, (value - reach, value + reach))


def blocking(tallies: Tallies, classes: Mask, system: System) -> Estimate:
    """Estimate the probability that a job of the given classes is blocked.

    If none was blocked, the bound is the rule of three with one trial for every mean execution
    time simulated rather than for every job: that is how long a full cluster takes to forget.
    """
    blocked = tallies.blocked[..., classes].sum(axis=(0, 2))
    arrived = tallies.arrived[..., classes].sum(axis=(0, 2))
    estimate = ratio(blocked, arrived)
    if estimate.interval is None:
        return estimate
    if blocked.sum() == 0.0:
        trials = float(blocked.size)
        if system.poisson:
            trials = max(trials, float(tallies.time.sum()) / float(np.max(system.kind_scale)))
        return Estimate(0.0, (0.0, 1.0 - ((1.0 - CONFIDENCE) / 2.0) ** (1.0 / trials)))
    low, high = estimate.interval
    high = max(high, _seldom(blocked, arrived))
    return Estimate(estimate.value, (max(low, 0.0), min(high, 1.0)))


def _seldom(blocked: Floats, arrived: Floats) -> float:
    """Bound blocking from how many replications saw any, where some did not.

    The spread of a few replications with blocked jobs among many without says too little about
    those that might have been; how many there were at all is binomial.
    """
    from scipy.special import betaincinv

    seen = int(np.count_nonzero(blocked))
    if seen == blocked.size:
        return 0.0
    often = float(betaincinv(seen + 1, blocked.size - seen, 0.5 + CONFIDENCE / 2.0))
    clusters = blocked[blocked > 0.0]
    spread = float(clusters.std(ddof=1)) if seen > 1 else 2.0 * float(clusters[0])
    large = float(clusters.mean()) + 2.0 * spread / math.sqrt(seen)
    return often * large / float(arrived.mean())


def mean_time(tallies: Tallies, classes: Mask, system: System, estimator: str) -> Estimate:
    """Estimate the mean execution time of accepted jobs of the given classes."""
    kinds = classes[system.kind_class]
    granted = tallies.granted[..., kinds].sum(axis=(0, 2))
    if estimator == "assigned":
        above = (tallies.granted[..., kinds] @ system.kind_scale[kinds]).sum(axis=0)
        return ratio(above, granted)
    if estimator == "realised":
        estimate = ratio(tallies.booked[..., kinds].sum(axis=(0, 2)), granted)
    else:
        finished = tallies.finished_jobs[..., classes].sum(axis=(0, 2))
        estimate = ratio(tallies.finished_time[..., classes].sum(axis=(0, 2)), finished)
    heavy = any(
        math.isinf(job_class.size.variance)
        for job_class, wanted in zip(system.workload.classes, classes, strict=True)
        if wanted
    )
    return Estimate(estimate.value, None) if heavy else estimate


def by_class(tallies: Tallies, system: System, estimator: str) -> tuple[ClassPerformance, ...]:
    """Return the figures of every class."""
    parts = []
    granted = tallies.granted.sum(axis=(0, 1))
    running = mean_jobs(tallies) / system.servers
    for j, job_class in enumerate(system.workload.classes):
        only = np.arange(len(system.workload.classes)) == j
        kinds = system.kind_class == j
        parts.append(
            ClassPerformance(
                job_class.name,
                blocking(tallies, only, system),
                mean_time(tallies, only, system, estimator),
                width_shares(system, granted, kinds),
                by_width(system, running, kinds),
            )
        )
    return tuple(parts)


def mean_jobs(tallies: Tallies) -> Floats:
    """Return the jobs of each kind in the system, averaged over time."""
    weights = tallies.time / max(float(tallies.time.sum()), TINY)
    return np.asarray((tallies.mean_jobs * weights[..., None]).sum(axis=(0, 1)))


def identities(tallies: Tallies, system: System) -> list[str]:
    """Test rate conservation and Little's law, which equilibrium implies; name what fails.

    Sizes without a variance are tested alike: a replication that is far off widens the spread as
    much as it moves the mean, so the statistic stays small, and the test errs on the quiet side.
    """
    if isinstance(system.arrivals, ArrivalTimes):
        return []  # a list of arrivals has no equilibrium
    time = tallies.time.sum(axis=0)
    running = (tallies.mean_jobs * tallies.time[..., None]).sum(axis=0)
    granted = tallies.granted.sum(axis=0)
    tests = {
        "rate conservation": running @ (1.0 / system.kind_scale) - granted.sum(axis=1),
        "Little's law": running.sum(axis=1) - granted @ system.kind_scale,
    }
    broken = []
    for name, gap in tests.items():
        rate = gap / time
        if rate.size < 2:  # noqa: PLR2004 - one run has no spread
            continue
        error = float(rate.std(ddof=1)) / math.sqrt(rate.size)
        if abs(float(rate.mean())) > student(rate.size - 1, SUSPICIOUS) * error:
            broken.append(
                f"{name} fails by {float(rate.mean()) / error:.1f} standard errors: the run was "
                f"not in equilibrium; give it a longer warm-up"
            )
    return broken


def student(freedom: int, confidence: float = CONFIDENCE) -> float:
    """Return how many standard errors the confidence reaches on either side."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + confidence / 2.0))
