"""The performance of EQUI, the preemptive reference."""

from __future__ import annotations

from moldable.model.scenario import Scenario
from moldable.policies.equi import Equi
from moldable.system.equi_queue import equi_queue
from moldable.system.estimate import Estimate
from moldable.system.performance import ClassPerformance, ExactDetail, Performance
from moldable.system.provenance import provenance
from moldable.system.queueing import Queueing
from moldable.system.response_bound import response_bound


def equi_performance(scenario: Scenario, reason: str = "asked for") -> Performance:
    """Return the performance of EQUI; it grants no fixed widths, so there are no width shares."""
    found = equi_queue(scenario, scenario.waiting)
    job_class, servers = scenario.workload.classes[0], scenario.servers
    accepted = job_class.arrival_rate * (1.0 - found.blocking)
    blocking = Estimate.exact(found.blocking)
    time = Estimate.exact((found.mean_jobs - found.mean_queue) / accepted)
    sizes, queueing = "any sizes", None
    if scenario.waiting:
        sizes = "exponential sizes"
        queueing = Queueing(
            mean_response_time=Estimate.exact(found.mean_response),
            mean_wait=Estimate.exact(found.mean_queue / accepted),
            wait_probability=Estimate.exact(found.arrivals_waiting / (1.0 - found.blocking)),
            queue_length=Estimate.exact(found.mean_queue),
        )
    return Performance(
        blocking=blocking,
        mean_execution_time=time,
        quantiles={},
        width_shares={},
        mean_jobs={},
        busy_fraction=found.busy_fraction,
        departure_rate=accepted / servers,
        classes=(ClassPerformance(job_class.name, blocking, time, {}, {}, queueing),),
        method="closed-form",
        reason=f"{reason}: a birth-death chain, {sizes}",
        warnings=(),
        scenario=scenario,
        policy={"policy": Equi().name},
        provenance=provenance(scenario, Equi().name),
        detail=ExactDetail(states=servers + 1, error_bound=0.0, neglected_mass=0.0),
        queueing=queueing,
        response_bound=response_bound(scenario),
    )
