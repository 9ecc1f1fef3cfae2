"""Exact answers for clusters whose jobs may wait."""

from __future__ import annotations

import dataclasses

from moldable.arrays import Floats
from moldable.exact.erlang_c import slot_queue
from moldable.exact.queue_law import QueueLaw
from moldable.system.estimate import Estimate
from moldable.system.granted import LEVELS, by_width, quantiles, width_shares
from moldable.system.performance import ClassPerformance, ExactDetail, Performance
from moldable.system.provenance import provenance
from moldable.system.queueing import Queueing
from moldable.system.response_bound import response_bound


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
        response_bound=response_bound(system.scenario),
    )


def _queueing(law: QueueLaw, job_class: int | None = None) -> Queueing:
    """Return the figures of a class, or of all jobs; quantiles where a formula gives them."""

    def figure(by_class: Floats) -> Estimate:
        value = law.overall(by_class) if job_class is None else float(by_class[job_class])
        return Estimate.exact(value)

    waiting = law.waiting_jobs.sum() if job_class is None else law.waiting_jobs[job_class]
    found = Queueing(
        mean_response_time=figure(law.mean_response),
        mean_wait=figure(law.mean_wait),
        wait_probability=figure(law.waiting_probability),
        queue_length=Estimate.exact(float(waiting)),
    )
    slots = slot_queue(law.system) if law.formula else None
    if slots is None:
        return found
    return dataclasses.replace(
        found,
        wait_quantiles={p: Estimate.exact(slots.wait_quantile(p)) for p in LEVELS},
        response_quantiles={p: Estimate.exact(slots.response_quantile(p)) for p in LEVELS},
    )
