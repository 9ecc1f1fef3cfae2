"""Exact answers for clusters whose jobs may wait, and a bound that no policy beats."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from moldable.allocation.reservation import reserve
from moldable.errors import InfeasibleError
from moldable.exact.queue_law import QueueLaw
from moldable.model.arrivals import Poisson
from moldable.model.scenario import Scenario
from moldable.model.sizes import Exponential
from moldable.policies.even_price import even_price
from moldable.system.estimate import Estimate
from moldable.system.granted import by_width, quantiles, width_shares
from moldable.system.loss_system import System, build_system, mean_size
from moldable.system.performance import ClassPerformance, ExactDetail, Performance
from moldable.system.provenance import provenance
from moldable.system.queueing import Queueing
from moldable.system.saturation import refuse_unstable, saturated_throughput


def refuse_growing(system: System) -> None:
    """Refuse an unlimited queue that grows for ever, and name the load that would not."""
    if math.isinf(system.places):
        refuse_unstable(system, _carried(system.scenario))


def _carried(scenario: Scenario) -> float | None:
    """Return the load that the even price carries."""
    system = build_system(scenario, even_price(scenario))
    throughput = saturated_throughput(system)
    return None if throughput is None else throughput * mean_size(system) / scenario.servers


def response_bound(scenario: Scenario) -> float | None:
    """Return a mean response time that no policy beats; None where none is known.

    With unlimited waiting places the mean execution time is at least the optimum of the paper's
    linear program, for any sizes. For exponential sizes and a concave curve the preemptive EQUI has
    the least mean response time of all.
    """
    if not math.isinf(scenario.waiting):
        return None
    try:
        best = reserve(scenario).mean_execution_time
    except InfeasibleError:
        return None
    (first, *others) = scenario.workload.classes
    poisson = isinstance(scenario.arrivals, Poisson) and isinstance(first.size, Exponential)
    if others or not poisson or not first.speedup.is_concave():
        return best
    from moldable.exact.equi import equi_response

    return max(best, equi_response(scenario))


def with_bound(answer: Performance) -> Performance:
    """Return the performance with the bound on mean response times."""
    return dataclasses.replace(answer, response_bound=response_bound(answer.scenario))


def queue_performance(law: QueueLaw, reason: str) -> Performance:
    """Return the performance of a cluster whose stationary distribution is known."""
    system = law.system
    granted, running = law.granted, law.mean_jobs / system.servers
    classes = tuple(
        ClassPerformance(
            job_class.name,
            Estimate.exact(float(law.blocking[j])),
            Estimate.exact(float(law.mean_execution_time[j])),
            width_shares(system, granted, system.kind_class == j),
            by_width(system, running, system.kind_class == j),
            _queueing(law, j),
        )
        for j, job_class in enumerate(system.workload.classes)
    )
    return Performance(
        blocking=Estimate.exact(law.overall(law.blocking, accepted=False)),
        mean_execution_time=Estimate.exact(law.overall(law.mean_execution_time)),
        quantiles=quantiles(system, granted),
        width_shares=width_shares(system, granted),
        mean_jobs=by_width(system, running),
        busy_fraction=law.utilisation,
        departure_rate=float(granted.sum()) / system.servers,
        classes=classes,
        method="closed-form" if law.formula else "chain",
        reason=f"{reason}: {law.how}",
        warnings=(),
        scenario=system.scenario,
        policy=system.policy_data,
        provenance=provenance(system.scenario, system.policy_name, pools=list(system.pools)),
        detail=ExactDetail(
            states=law.states, error_bound=law.error_bound, neglected_mass=law.neglected_mass
        ),
        queueing=_queueing(law),
    )


def _queueing(law: QueueLaw, job_class: int | None = None) -> Queueing:
    """Return the figures of a class, or of all jobs."""

    def figure(by_class: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Estimate:
        value = law.overall(by_class) if job_class is None else float(by_class[job_class])
        return Estimate.exact(value)

    waiting = law.waiting_jobs.sum() if job_class is None else law.waiting_jobs[job_class]
    return Queueing(
        mean_response_time=figure(law.mean_response),
        mean_wait=figure(law.mean_wait),
        wait_probability=figure(law.waiting_probability),
        queue_length=Estimate.exact(float(waiting)),
    )
