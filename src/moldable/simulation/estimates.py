"""What do the tallies say, and how sure is it?

Replications are independent, so their spread gives honest intervals whatever happens within one:
blocked jobs come in clusters, and a run without any is not evidence of one in three million.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from moldable.arrays import Floats, Mask
from moldable.model.arrivals import ArrivalTimes
from moldable.simulation.plan import Tallies
from moldable.system.granted import by_width, width_shares
from moldable.system.loss_system import System
from moldable.system.performance import ClassPerformance, Estimate

CONFIDENCE: Final = 0.95
TAIL: Final = (1.0 - CONFIDENCE) / 2.0
ESTIMATORS: Final = ("assigned", "realised", "completed_only")
TINY: Final = 1e-300
"""Keeps a window without any length from dividing by zero."""
SUSPICIOUS: Final = 1.0 - 5.7e-7
"""Confidence of five standard errors: an identity that fails it is reported as broken."""


def ratio(above: Floats, below: Floats) -> Estimate:
    """Estimate a ratio of means from replications.

    Replications in which nothing counted below say nothing about the spread of the ratio.
    """
    value = float(above.sum() / below.sum()) if below.sum() > 0 else math.nan
    used = int(np.count_nonzero(below))
    if used < 2 or not math.isfinite(value):  # noqa: PLR2004 - one run has no spread
        return Estimate(value, None)
    return around(value, errors_of(above, below), used - 1)


def errors_of(above: Floats, below: Floats) -> Floats:
    """Return what each replication adds to the error of a ratio of means, to first order."""
    value = above.sum() / below.sum()
    return np.asarray((above - value * below) / below.mean())


def around(value: float, errors: Floats, freedom: int | None = None) -> Estimate:
    """Return a value with the interval that the errors of replications give it."""
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
    interval = share_interval(blocked, arrived, 1.0 + _remembered(tallies, arrived, system))
    return Estimate(float(blocked.sum() / arrived.sum()), interval)


def _remembered(tallies: Tallies, jobs: Floats, system: System) -> float:
    """Return how many of these jobs arrive before a full cluster has forgotten that it was.

    That takes about a mean execution time of the slowest kind; blocked jobs in this time may all
    have the same cause. Arrivals that are not Poisson may remember for longer.
    """
    if not system.poisson:
        return math.inf
    slowest = float(np.max(system.kind_scale))
    return float(jobs.sum()) * slowest / max(float(tallies.time.sum()), TINY)


def share_interval(events: Floats, trials: Floats, cluster: float) -> tuple[float, float] | None:
    """Return the interval of a probability from events and trials in each replication.

    Where every replication saw some events (of the rarer outcome), their spread gives it. Else it
    is the Clopper-Pearson interval of the effective number of events, as in E. L. Korn and B. I.
    Graubard, "Confidence intervals for proportions with small expected number of positive counts
    estimated from survey data", Survey Methodology 24, 1998: events come in clusters, so the
    effective number is what would give independent trials the same relative error. The upper limit
    takes fewer of them than the lower one: where clusters were missed by chance, the share and its
    spread are both too small, but a share that is too large comes with a large spread.

    Args:
        events: in each replication.
        trials: in each replication.
        cluster: most trials that may share one outcome, on average; with clusters of geometric size
            the effective number is at least events / (2 cluster - 1), that of all being as large.
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

    There are no more of them than clusters. Replications without any event tell the mean number of
    clusters in each, if it is Poisson; events per cluster are taken to be geometric, whose variance
    makes a cluster count for less than one event. That variance is known from few clusters only:
    the ratio of Student's and normal quantiles, squared, allows for it.
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
    """Widen the interval of a mean time by kinds that were granted seldom or never.

    The spread of replications does not show them. Their share among accepted jobs has an upper
    bound, however, which is taken to be made up of the slowest of them, and then of the fastest.
    Unlike a blocked job, a granted one changes the idle servers: they come back to a level that is
    seldom reached about as often as the root of the jobs that arrive while they drift away from it.
    """
    every = tallies.granted.sum(axis=0)
    granted = every[:, classes[system.kind_class]].sum(axis=1)
    if granted.size < 2 or granted.sum() == 0.0:  # noqa: PLR2004 - one run has no spread
        return Estimate(estimate.value, None)
    rare = classes[system.kind_class] & ((every == 0.0) & (granted > 0.0)[:, None]).any(axis=0)
    room = _largest_shares(tallies, classes, system) - every.sum(axis=0) / granted.sum()
    gaps = system.kind_scale - estimate.value
    cluster = 1.0 + math.sqrt(_remembered(tallies, granted, system))
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
    rates = np.array([job_class.arrival_rate for job_class in system.workload.classes])
    blocked = blocking(tallies, classes, system).value
    shares = rates / rates[classes].sum() / max(1.0 - blocked, TINY)
    return np.asarray(np.minimum(shares, 1.0)[system.kind_class])


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
    if not time.all():
        return ["no time passed between the arrivals: the gaps vary too much to be simulated"]
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
                f"{name} fails by {float(rate.mean()) / max(error, TINY):.3g} standard errors: the "
                f"run was not in equilibrium; give it a longer warm-up"
            )
    return broken


def student(freedom: float, confidence: float = CONFIDENCE) -> float:
    """Return how many standard errors the confidence reaches on either side."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + confidence / 2.0))
