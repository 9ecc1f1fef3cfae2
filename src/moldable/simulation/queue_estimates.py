"""Estimates of waiting and response times, with confidence intervals."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from moldable.arrays import Floats, Mask
from moldable.errors import UnstableError
from moldable.model.sizes import SizeLaw
from moldable.simulation.estimates import correlated, errors_of, ratio, share_interval, student
from moldable.simulation.plan import Tallies
from moldable.simulation.queue_tallies import QueueTallies
from moldable.system.estimate import Estimate
from moldable.system.granted import LEVELS
from moldable.system.loss_system import System
from moldable.system.queueing import Queueing

GROWN, SIGNIFICANT, LONG = 0.25, 6.0, 50.0
"""A queue grows if it ends longer than its mean by this share, by this number of standard errors,
and with at least this number of waiting jobs."""
NEAR_ZERO: Final = (1e-9, 1e-12)
"""Levels at which the quantiles of a size law show whether its inverse has a mean."""
STEEP: Final = 0.99
"""Exponent of the quantiles near 0 from which the mean of the inverse is taken as infinite."""
UNEVEN: Final = 1.5
"""Ratio of the densities of neighbouring bins from which jobs are not spread evenly in a bin."""


def queueing(tallies: Tallies, classes: Mask, system: System, *, realised: bool) -> Queueing:
    """Estimate waiting and response times of the given classes.

    If no job waited, the intervals of mean wait and queue length are unknown, not of width 0.

    Args:
        tallies: of all replications.
        classes: which classes.
        system: what was simulated.
        realised: whether execution times are those of the simulated sizes, rather than their means.
    """
    queue = waiting_tallies(tallies)
    kinds = classes[system.kind_class]
    started = tallies.granted[..., kinds].sum(axis=(0, 2))
    if started.sum() == 0.0:
        unknown = Estimate(math.nan, None)
        names = ("mean_response_time", "mean_wait", "wait_probability", "queue_length")
        return Queueing(**dict.fromkeys(names, unknown))  # type: ignore[arg-type]
    wait, waited = (part[..., classes].sum(axis=(0, 2)) for part in (queue.wait, queue.waited))
    if realised:
        ran = tallies.booked[..., kinds].sum(axis=(0, 2))
    else:
        ran = (tallies.granted[..., kinds] @ system.kind_scale[kinds]).sum(axis=0)
    time = tallies.time.sum(axis=0)
    waiting = (queue.mean_waiting[..., classes].sum(axis=2) * tallies.time).sum(axis=0)
    laws = [c.size for c, own in zip(system.workload.classes, classes, strict=True) if own]
    heavy = without_variance(system)
    unseen = not waited.any()
    return Queueing(
        mean_response_time=_without_interval(ratio(wait + ran, started), drop=heavy),
        mean_wait=_without_interval(_at_least_zero(ratio(wait, started)), drop=heavy or unseen),
        wait_probability=Estimate(
            float(waited.sum() / started.sum()),
            share_interval(waited, started, 1.0 + correlated(tallies, started, system)),
        ),
        queue_length=_without_interval(_at_least_zero(ratio(waiting, time)), drop=heavy or unseen),
        wait_quantiles=_quantiles(queue.waits[:, classes].sum(axis=1), queue.edges),
        response_quantiles=_quantiles(queue.responses[:, classes].sum(axis=1), queue.edges),
        slowdown=_without_interval(_slowdown(queue, classes, started, laws), drop=heavy),
        bounded_slowdown=(
            _without_interval(
                ratio(queue.bounded[..., classes].sum(axis=(0, 2)), started), drop=heavy
            )
            if queue.bounded.any()
            else None
        ),
    )


def waiting_tallies(tallies: Tallies) -> QueueTallies:
    """Return the tallies of a run with waiting places."""
    assert tallies.queue is not None  # noqa: S101 - the kernel for queues fills it
    return tallies.queue


def without_variance(system: System) -> bool:
    """Return whether some sizes have no variance, so that mean waits have no normal interval."""
    return any(math.isinf(job_class.size.variance) for job_class in system.workload.classes)


def refuse_growing_queue(tallies: Tallies) -> None:
    """Raise if the queue grew throughout the run: its averages would depend on the run's length."""
    queue, time = waiting_tallies(tallies), tallies.time.sum(axis=0)
    if time.size < 2 or not time.all():  # noqa: PLR2004 - a spread needs two
        return
    mean = (queue.mean_waiting.sum(axis=2) * tallies.time).sum(axis=0) / time
    end = queue.at_end[-1].sum(axis=1)
    gap = end - mean
    error = float(gap.std(ddof=1)) / math.sqrt(gap.size)
    grown = float(gap.mean()) > GROWN * float(mean.mean())
    if grown and float(gap.mean()) > SIGNIFICANT * error and float(end.mean()) > LONG:
        raise UnstableError(
            f"the queue grew throughout the run: {mean.mean():.4g} jobs waited on average, but "
            f"{end.mean():.4g} at the end; the policy cannot carry this load, or the run is too "
            f"short to reach equilibrium or to fill the waiting places: lower the load, choose a "
            f"policy that grants narrower widths while jobs wait, or run longer"
        )


def _without_interval(estimate: Estimate, *, drop: bool) -> Estimate:
    return Estimate(estimate.value, None) if drop else estimate


def _at_least_zero(estimate: Estimate) -> Estimate:
    if estimate.interval is None:
        return estimate
    low, high = estimate.interval
    return Estimate(estimate.value, (max(low, 0.0), high))


def _slowdown(queue: QueueTallies, classes: Mask, started: Floats, laws: list[SizeLaw]) -> Estimate:
    """Estimate the mean slowdown; infinite if jobs that wait may be arbitrarily small."""
    if queue.waited[..., classes].any() and not all(map(_inverse_has_mean, laws)):
        return Estimate(math.inf, None)
    return ratio(queue.slowdown[..., classes].sum(axis=(0, 2)), started)


def _inverse_has_mean(law: SizeLaw) -> bool:
    """Return whether E[1 / size] is finite: whether quantiles u -> 0 fall slower than u."""
    near, nearer = (float(one) for one in law.quantile(np.array(NEAR_ZERO)))
    if nearer <= 0.0 or near <= 0.0:
        return False
    slope = math.log(near / nearer) / math.log(NEAR_ZERO[0] / NEAR_ZERO[1])
    return slope < STEEP


def _quantiles(counts: Floats, edges: Floats) -> dict[float, Estimate]:
    """Estimate quantiles from the histogram of each replication.

    The interval is that of the share of jobs below the quantile, mapped back to times. An end of it
    in a bin whose jobs are not spread evenly, such as jobs of equal sizes, is that of the bin.
    """
    pooled = counts.sum(axis=0)
    total = pooled.sum()
    below = np.concatenate(([0.0], np.cumsum(pooled) / total))
    sums = np.cumsum(counts, axis=1, dtype=np.float64)
    found = {}
    for level in LEVELS:
        value = _inverse(below, edges, level)
        if counts.shape[0] < 2:  # noqa: PLR2004 - one run has no spread
            found[level] = Estimate(value, None)
            continue
        last = min(int(np.searchsorted(edges, value, side="right")) - 1, counts.shape[1] - 1)
        # The last bin has no upper end.
        part = 1.0 if math.isinf(value) else (value - edges[last]) / (edges[last + 1] - edges[last])
        shares = sums[:, last] - (1.0 - part) * counts[:, last]
        # What lies in the first bin, which holds zeros, counts as below.
        shares = np.maximum(shares, counts[:, 0])
        errors = errors_of(shares, counts.sum(axis=1).astype(np.float64))
        size = errors.size
        reach = student(size - 1) * math.sqrt(float(errors @ errors) / (size * (size - 1)))
        ends = (_inverse(below, edges, level - reach), _inverse(below, edges, level + reach))
        found[level] = Estimate(value, _widened(ends, pooled, edges))
    return found


def _widened(ends: tuple[float, float], pooled: Floats, edges: Floats) -> tuple[float, float]:
    """Move the ends of an interval to those of their bins where jobs are not spread evenly."""
    moved = list(ends)
    for k, end in enumerate(ends):
        bin_ = int(np.searchsorted(edges, end, side="right")) - 1
        around = slice(bin_ - 1, bin_ + 2)
        if 1 < bin_ < pooled.size - 2:  # the first bin holds zeros, the last has no upper end
            density = pooled[around] / np.diff(edges)[around]
            if density.max() > UNEVEN * density.min():
                moved[k] = float(edges[bin_ + k])
    return moved[0], moved[1]


def _inverse(below: Floats, edges: Floats, level: float) -> float:
    """Return where a distribution reaches a level; 0 within the first bin, which holds zeros."""
    if level <= below[1]:
        return 0.0
    return float(np.interp(min(level, 1.0), below[1:], edges[1:]))
