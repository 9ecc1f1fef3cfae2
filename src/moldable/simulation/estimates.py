"""Point estimates and confidence intervals from the tallies of independent replications.

The spread of replications gives valid intervals whatever the correlations within one: blocked jobs
come in clusters, and a run without any does not show that blocking is below one in a million.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from moldable.arrays import Floats, Mask
from moldable.model.arrivals import ArrivalTimes
from moldable.simulation.plan import Plan, Tallies
from moldable.system.estimate import Estimate
from moldable.system.granted import by_width, width_shares
from moldable.system.loss_system import System
from moldable.system.performance import ClassPerformance

CONFIDENCE: Final = 0.95
TAIL: Final = (1.0 - CONFIDENCE) / 2.0
ESTIMATORS: Final = ("assigned", "realised", "completed_only")
TINY: Final = 1e-300
"""Avoids division by zero for windows of length 0."""
SUSPICIOUS: Final = 1.0 - 5.7e-7
"""Confidence of five standard errors, at which a violated identity is reported."""
ROUNDED: Final = 1e-12
"""Rounding error of a sum of times, relative to it."""


def ratio(above: Floats, below: Floats) -> Estimate:
    """Estimate a ratio of means from replications.

    Replications with a zero denominator carry no information about the spread of the ratio.
    """
    value = float(above.sum() / below.sum()) if below.sum() > 0 else math.nan
    used = int(np.count_nonzero(below))
    if used < 2 or not math.isfinite(value):  # noqa: PLR2004 - one run has no spread
        return Estimate(value, None)
    return around(value, errors_of(above, below), used - 1)


def errors_of(above: Floats, below: Floats) -> Floats:
    """Return the contribution of each replication to the error of a ratio, to first order."""
    value = above.sum() / below.sum()
    return np.asarray((above - value * below) / below.mean())


def around(value: float, errors: Floats, freedom: int | None = None) -> Estimate:
    """Return a value with the confidence interval that the errors of replications imply."""
    count = errors.size
    error = math.sqrt(float(errors @ errors) / (count * (count - 1)))
    reach = student(count - 1 if freedom is None else freedom) * error
    return Estimate(value, (value - reach, value + reach))


def blocking(tallies: Tallies, classes: Mask, system: System) -> Estimate:
    """Estimate the probability that a job of the given classes is blocked."""
    blocked = tallies.blocked[..., classes].sum(axis=(0, 2))
    arrived = tallies.arrived[..., classes].sum(axis=(0, 2))
    if arrived.sum() == 0.0:
        return Estimate(math.nan, None)
    if math.isinf(system.places):
        return Estimate.exact(0.0)
    interval = share_interval(blocked, arrived, 1.0 + correlated(tallies, arrived, system))
    return Estimate(float(blocked.sum() / arrived.sum()), interval)


def correlated(tallies: Tallies, jobs: Floats, system: System) -> float:
    """Return how many of these jobs arrive during the correlation time of a full cluster.

    It is about a mean execution time of the slowest kind; blocked jobs in this time may all have
    the same cause. Arrivals that are not Poisson may be correlated for longer.
    """
    if not system.poisson:
        return math.inf
    slowest = float(np.max(system.kind_scale))
    return float(jobs.sum()) * slowest / max(float(tallies.time.sum()), TINY)


def share_interval(events: Floats, trials: Floats, cluster: float) -> tuple[float, float] | None:
    """Return the interval of a probability from events and trials in each replication.

    If every replication has events of the rarer outcome, their spread gives it. Otherwise it is the
    Clopper-Pearson interval of the effective number of events, as in E. L. Korn and B. I. Graubard,
    "Confidence intervals for proportions with small expected number of positive counts estimated
    from survey data", Survey Methodology 24, 1998: events come in clusters, and the effective
    number gives independent trials the same relative error. The upper limit uses fewer of them: if
    clusters were missed by chance, both the estimate and its spread are too small, whereas an
    estimate that is too large has a large spread.

    Args:
        events: in each replication.
        trials: in each replication.
        cluster: largest mean number of trials with a common outcome; if clusters have geometric
            size, the effective number is at least events / (2 cluster - 1).
    """
    if events.size < 2:  # noqa: PLR2004 - one run has no spread
        return None
    total, share = float(trials.sum()), float(events.sum() / trials.sum())
    if share > 0.5:  # noqa: PLR2004 - the rarer outcome is the one that may be missed
        low, high = share_interval(trials - events, trials, cluster) or (0.0, 1.0)
        return 1.0 - high, 1.0 - low
    used, seen = np.count_nonzero(trials), np.count_nonzero(events)
    if seen == 0:
        independent = min(total, max(float(used), total / cluster))
        return 0.0, 1.0 - TAIL ** (1.0 / independent)
    if seen == events.size:
        low, high = ratio(events, trials).interval or (0.0, 1.0)
        return max(low, 0.0), min(high, 1.0)
    most = _effective(events, trials)
    fewest = _allowing_for_missed_clusters(most, float(events.sum()), int(used), int(seen))
    least = float(events.sum()) / (2.0 * cluster - 1.0)
    most, fewest = max(most, least), max(fewest, least)
    return _clopper_pearson(most, most / share)[0], _clopper_pearson(fewest, fewest / share)[1]


def _effective(events: Floats, trials: Floats) -> float:
    """Return the number of independent events that would have the same relative error."""
    count, share = events.size, float(events.sum() / trials.sum())
    errors = errors_of(events, trials)
    variance = float(errors @ errors) / (count * (count - 1))
    return min(float(events.sum()), share**2 * (1.0 - share) / max(variance, TINY))


def _allowing_for_missed_clusters(effective: float, total: float, used: int, seen: int) -> float:
    """Lower an effective number of events that comes from few clusters.

    It is at most the number of clusters. The share of replications without events gives the mean
    number of clusters in each, if it is Poisson; events per cluster are assumed to be geometric,
    whose variance makes a cluster count for less than one event. As that variance is estimated from
    few clusters, the squared ratio of normal and Student quantiles is applied.
    """
    clusters = -used * math.log1p(-seen / used) if seen < used else math.inf
    per_cluster = max(total / clusters, 1.0)
    freedom = max(1.0, min(used - 1.0, 2.0 * clusters))
    allowed = (student(math.inf) / student(freedom)) ** 2
    return min(effective, clusters / (2.0 - 1.0 / per_cluster)) * allowed


def _clopper_pearson(events: float, trials: float) -> tuple[float, float]:
    from scipy.special import betaincinv

    low = float(betaincinv(events, trials - events + 1.0, TAIL))
    return low, float(betaincinv(events + 1.0, trials - events, 1.0 - TAIL))


def mean_time(tallies: Tallies, classes: Mask, system: System, estimator: str) -> Estimate:
    """Estimate the mean execution time of accepted jobs of the given classes."""
    kinds = classes[system.kind_class]
    granted = tallies.granted[..., kinds].sum(axis=(0, 2))
    if estimator == "assigned":
        above = (tallies.granted[..., kinds] @ system.kind_scale[kinds]).sum(axis=0)
        return _with_rare_kinds(ratio(above, granted), tallies, classes, system)
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


def _with_rare_kinds(
    estimate: Estimate, tallies: Tallies, classes: Mask, system: System
) -> Estimate:
    """Widen the interval of a mean time for kinds that were rarely or never granted.

    The spread of replications does not show them. Their share among accepted jobs has an upper
    bound, which is attributed to the slowest of them for one end and to the fastest for the other.
    A granted job, unlike a blocked one, changes the idle servers, which return to a rare level
    about as often as the square root of the jobs that arrive while they drift away from it.
    """
    every = tallies.granted.sum(axis=0)
    granted = every[:, classes[system.kind_class]].sum(axis=1)
    if granted.size < 2 or granted.sum() == 0.0:  # noqa: PLR2004 - one run has no spread
        return Estimate(estimate.value, None)
    rare = classes[system.kind_class] & ((every == 0.0) & (granted > 0.0)[:, None]).any(axis=0)
    room = _largest_shares(tallies, classes, system) - every.sum(axis=0) / granted.sum()
    gaps = system.kind_scale - estimate.value
    cluster = 1.0 + math.sqrt(correlated(tallies, granted, system))
    shifts = []
    for side in (rare & (gaps < 0.0), rare & (gaps > 0.0)):
        events = every[:, side].sum(axis=1)
        _, high = share_interval(events, granted, cluster) or (0.0, 1.0)
        left, shift = high - float(events.sum() / granted.sum()), 0.0
        for gap, most in sorted(zip(gaps[side], room[side], strict=True), key=lambda k: -abs(k[0])):
            added = min(max(float(most), 0.0), left)
            left -= added
            shift += added * float(gap)
        shifts.append(estimate.value + shift)
    low, high = estimate.interval or (estimate.value, estimate.value)
    return Estimate(estimate.value, (min(low, shifts[0]), max(high, shifts[1])))


def _largest_shares(tallies: Tallies, classes: Mask, system: System) -> Floats:
    """Bound the share of each kind among accepted jobs by the arrival rate of its class."""
    if system.arrivals.labels is not None:
        return np.ones(system.kind_class.size)
    rates = system.workload.rates
    blocked = blocking(tallies, classes, system).value
    shares = rates / rates[classes].sum() / max(1.0 - blocked, TINY)
    return np.asarray(np.minimum(shares, 1.0)[system.kind_class])


def by_class(tallies: Tallies, system: System, estimator: str) -> tuple[ClassPerformance, ...]:
    """Return the performance of every class."""
    classes, granted = system.workload.classes, tallies.granted.sum(axis=(0, 1))
    running = mean_jobs(tallies) / system.servers
    return tuple(
        ClassPerformance(
            job_class.name,
            blocking(tallies, only, system),
            mean_time(tallies, only, system, estimator),
            width_shares(system, granted, only[system.kind_class]),
            by_width(system, running, only[system.kind_class]),
        )
        for job_class, only in zip(classes, np.eye(len(classes), dtype=np.bool_), strict=True)
    )


def mean_jobs(tallies: Tallies) -> Floats:
    """Return the jobs of each kind in the system, averaged over time."""
    weights = tallies.time / max(float(tallies.time.sum()), TINY)
    return np.asarray((tallies.mean_jobs * weights[..., None]).sum(axis=(0, 1)))


def identities(tallies: Tallies, plan: Plan) -> list[str]:
    """Test rate conservation and Little's law, which hold in equilibrium; describe failures.

    Sizes without a variance are also tested: an outlier among the replications widens the spread as
    much as it shifts the mean, so the test is conservative.
    """
    system = plan.system
    if isinstance(system.arrivals, ArrivalTimes):
        return []  # a list of arrivals has no equilibrium
    time = tallies.time.sum(axis=0)
    if not time.all():
        return ["no time passed between the arrivals: the gaps vary too much to be simulated"]
    running = (tallies.mean_jobs * tallies.time[..., None]).sum(axis=0)
    granted = tallies.granted.sum(axis=0)
    # Without a warm-up the window begins at time 0, but ends with an arrival, whose job has not run
    # yet. These are the probabilities of its kinds.
    unrun = np.zeros(system.kind_scale.size)
    if plan.warmup == 0.0 and not np.isnan(tallies.booked).any():
        unrun = granted.sum(axis=0) / tallies.arrived.sum()
    one, scale = np.ones(unrun.size), system.kind_scale
    tests = {
        "rate conservation": (running @ (1.0 / scale), one),
        "Little's law": (running.sum(axis=1), scale),
    }
    broken = []
    for name, (ran, weights) in tests.items():
        missing = float(unrun @ weights)
        flow = granted @ weights / time
        rate = (ran + missing) / time - flow
        if rate.size < 2:  # noqa: PLR2004 - one run has no spread
            continue
        # The spread of few replications may not show that the last job is sometimes blocked.
        spread = max(float(unrun @ weights**2) - missing**2, 0.0) / float(time.mean()) ** 2
        error = math.sqrt((float(rate.var(ddof=1)) + spread) / rate.size)
        error = max(error, ROUNDED * float(flow.mean()))
        if abs(float(rate.mean())) > student(rate.size - 1, SUSPICIOUS) * error:
            broken.append(
                f"{name} fails by {float(rate.mean()) / max(error, TINY):.3g} standard errors: the "
                f"run was not in equilibrium; give it a longer warm-up"
            )
    return broken


def student(freedom: float, confidence: float = CONFIDENCE) -> float:
    """Return the half-width of a confidence interval in standard errors."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + confidence / 2.0))


def chance(freedom: float, errors: float) -> float:
    """Return the two-sided p-value of a deviation in standard errors (Student's t)."""
    from scipy.special import stdtr

    return 2.0 * float(stdtr(freedom, -abs(errors)))
