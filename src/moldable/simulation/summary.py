"""What do the tallies of a run amount to, and where do they come from?"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from moldable.errors import SimulationError
from moldable.simulation import estimates
from moldable.simulation.plan import Plan, Tallies
from moldable.simulation.rounds import Rounds
from moldable.system.granted import by_width, quantiles, width_shares
from moldable.system.loss_system import mean_size
from moldable.system.performance import Performance, SimulationDetail
from moldable.system.provenance import provenance

FEW: Final = 100
"""Arrivals of a class below which its effect on others is known too little."""
NOTICEABLE: Final = 0.01
"""Share of the load from which a class affects others."""


def performance(rounds: Rounds, reason: str, *, converged: bool) -> Performance:
    """Put the figures of a run together, after accounting for every arrival."""
    plan, tallies, estimator = rounds.plan, rounds.tallies, rounds.estimator
    system = plan.system
    granted = tallies.granted.sum(axis=(0, 1))
    if granted.sum() + tallies.blocked.sum() != tallies.arrived.sum():
        raise SimulationError("arrivals were not all accounted for: a bug, please report it")
    every = np.ones(len(system.workload.classes), dtype=np.bool_)
    by_kind = estimates.mean_jobs(tallies) / system.servers
    return Performance(
        blocking=estimates.blocking(tallies, every, system),
        mean_execution_time=estimates.mean_time(tallies, every, system, estimator),
        quantiles=quantiles(system, granted),
        width_shares=width_shares(system, granted),
        mean_jobs=by_width(system, by_kind),
        busy_fraction=float(by_kind @ system.kind_width),
        departure_rate=float(by_kind @ (1.0 / system.kind_scale)),
        classes=estimates.by_class(tallies, system, estimator),
        method="simulate",
        reason=reason,
        detail=SimulationDetail(
            estimator=estimator,
            arrivals=int(tallies.arrived.sum()),
            arrivals_per_second=float(tallies.arrived.sum()) / max(tallies.seconds, 1e-9),
            seed=plan.seed,
            kernel=rounds.kernel,
            start=plan.start if isinstance(plan.start, str) else "given",
            warmup=plan.warmup / mean_size(system),
            converged=converged,
            interrupted=rounds.interrupted,
        ),
        warnings=(*rounds.notes, *_warnings(plan, tallies, estimator)),
        provenance=provenance(
            system.scenario,
            system.policy_name,
            pools=list(system.pools),
            jobs=plan.jobs,
            replications=len(tallies.replications),
            seed=plan.seed,
        ),
    )


def _warnings(plan: Plan, tallies: Tallies, estimator: str) -> list[str]:
    found = estimates.identities(tallies, plan.system)
    found += _few_arrivals(plan, tallies)
    laws = [job_class.size for job_class in plan.system.workload.classes]
    if estimator != "assigned" and any(math.isinf(law.variance) for law in laws):
        found.append(
            f"sizes without a variance: the {estimator!r} mean time has no normal interval; "
            f"use the 'assigned' estimator"
        )
    if estimator == "completed_only":
        found.append("counting only jobs that finished in time favours short ones: a biased mean")
    if len(tallies.replications) < 2:  # noqa: PLR2004 - a spread needs two
        found.append("one replication gives no interval; ask for more")
    return found


def _few_arrivals(plan: Plan, tallies: Tallies) -> list[str]:
    """Name classes of which too few jobs arrived, although they make up much of the load."""
    found = []
    classes = plan.system.workload.classes
    offered = sum(job_class.offered for job_class in classes)
    for j, job_class in enumerate(classes):
        arrived, share = tallies.arrived[..., j].sum(), job_class.offered / offered
        if arrived == 0.0:
            found.append(f"no job of class {job_class.name!r} arrived: run longer")
        elif arrived < FEW and share >= NOTICEABLE and len(classes) > 1:
            found.append(
                f"only {arrived:.0f} jobs of class {job_class.name!r}, {share:.0%} of the load, "
                f"arrived: intervals may miss what more of them would do; run longer"
            )
    return found
