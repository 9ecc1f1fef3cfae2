"""Exact answers for clusters whose jobs may wait."""

from __future__ import annotations

import dataclasses
import math

from moldable.arrays import Floats
from moldable.exact.erlang_c import slot_queue
from moldable.exact.queue_law import QueueLaw
from moldable.model.arrivals import ArrivalTimes
from moldable.model.scenario import Scenario
from moldable.policies.equi import Equi
from moldable.policies.even_price import even_price
from moldable.system.equi_queue import equi_queue
from moldable.system.estimate import Estimate
from moldable.system.granted import LEVELS, by_width, quantiles, width_shares
from moldable.system.loss_system import System, build_system, mean_size
from moldable.system.performance import ClassPerformance, ExactDetail, Performance
from moldable.system.provenance import provenance
from moldable.system.queueing import Queueing
from moldable.system.response_bound import response_bound
from moldable.system.saturation import refuse_unstable, saturated_throughput


def refuse_growing(system: System) -> None:
    """Refuse an unlimited queue that grows for ever, and name the load that would not.

    A list of arrival times ends, and has a rate of its own.
    """
    if math.isinf(system.places) and not isinstance(system.scenario.arrivals, ArrivalTimes):
        refuse_unstable(system, _carried(system.scenario))


def _carried(scenario: Scenario) -> float | None:
    """Return the load that the even price carries."""
    system = build_system(scenario, even_price(scenario))
    throughput = saturated_throughput(system)
    return None if throughput is None else throughput * mean_size(system) / scenario.servers


def equi_queue_performance(scenario: Scenario, reason: str) -> Performance:
    """Return the performance of EQUI where jobs wait once there are as many as servers."""
    found = equi_queue(scenario, scenario.waiting)
    job_class, servers = scenario.workload.classes[0], scenario.servers
    accepted = job_class.arrival_rate * (1.0 - found.blocking)
    running = found.mean_jobs - found.mean_queue
    blocking, execution = Estimate.exact(found.blocking), Estimate.exact(running / accepted)
    queueing = Queueing(
        mean_response_time=Estimate.exact(found.mean_response),
        mean_wait=Estimate.exact(found.mean_queue / accepted),
        wait_probability=Estimate.exact(found.arrivals_waiting / (1.0 - found.blocking)),
        queue_length=Estimate.exact(found.mean_queue),
    )
    return Performance(
        blocking=blocking,
        mean_execution_time=execution,
        quantiles={},
        width_shares={},
        mean_jobs={},
        busy_fraction=found.busy_fraction,
        departure_rate=accepted / servers,
        classes=(ClassPerformance(job_class.name, blocking, execution, {}, {}, queueing),),
        method="closed-form",
        reason=f"{reason}: a birth-death chain, exponential sizes",
        warnings=(),
        scenario=scenario,
        policy={"policy": Equi().name},
        provenance=provenance(scenario, Equi().name),
        detail=ExactDetail(states=servers + 1, error_bound=0.0, neglected_mass=0.0),
        queueing=queueing,
        response_bound=response_bound(scenario),
    )


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
