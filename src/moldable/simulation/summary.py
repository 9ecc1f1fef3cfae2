"""What do the tallies of a run amount to, and where do they come from?"""

from __future__ import annotations

import math
import os
import platform
from importlib.metadata import version
from typing import Any

import numpy as np

from moldable.errors import SimulationError
from moldable.performance import Performance
from moldable.simulation import estimates
from moldable.simulation.plan import Plan, Tallies
from moldable.simulation.system import mean_size


def performance(
    plan: Plan,
    kernel: str,
    tallies: Tallies,
    estimator: str,
    notes: list[str],
    *,
    converged: bool,
) -> Performance:
    """Put the figures of a run together, after accounting for every arrival."""
    system = plan.system
    accepted = tallies.granted.sum()
    if accepted + tallies.blocked.sum() != tallies.arrived.sum():
        raise SimulationError("arrivals were not all accounted for: a bug, please report it")
    every = np.ones(len(system.workload.classes), dtype=np.bool_)
    kinds = np.ones(system.kind_width.size, dtype=np.bool_)
    running = estimates.mean_jobs(tallies, system, kinds)
    weights = tallies.time / max(float(tallies.time.sum()), estimates.TINY)
    by_kind = (tallies.mean_jobs * weights[..., None]).sum(axis=(0, 1)) / system.servers
    return Performance(
        blocking=estimates.blocking(tallies, every, system),
        mean_execution_time=estimates.mean_time(tallies, every, system, estimator),
        estimator=estimator,
        quantiles=estimates.quantiles(tallies, system),
        width_shares=estimates.width_shares(tallies, system, kinds),
        mean_jobs=running,
        busy_fraction=math.fsum(width * jobs for width, jobs in running.items()),
        departure_rate=float(by_kind @ (1.0 / system.kind_scale)),
        classes=estimates.by_class(tallies, system, estimator),
        arrivals=int(tallies.arrived.sum()),
        arrivals_per_second=float(tallies.arrived.sum()) / max(tallies.seconds, 1e-9),
        seed=plan.seed,
        kernel=kernel,
        start=plan.start if isinstance(plan.start, str) else "given",
        warmup=plan.warmup / mean_size(system),
        converged=converged,
        warnings=(*notes, *_warnings(plan, tallies, estimator)),
        provenance=_provenance(plan, tallies),
    )


def _warnings(plan: Plan, tallies: Tallies, estimator: str) -> list[str]:
    found = estimates.identities(tallies, plan.system)
    for j, job_class in enumerate(plan.system.workload.classes):
        if tallies.arrived[..., j].sum() == 0.0:
            found.append(f"no job of class {job_class.name!r} arrived: run longer")
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


def _provenance(plan: Plan, tallies: Tallies) -> dict[str, Any]:
    return {
        "moldable": version("moldable"),
        "numpy": version("numpy"),
        "numba": version("numba"),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "policy": plan.system.policy_name,
        "servers": plan.system.servers,
        "pools": list(plan.system.pools),
        "jobs": plan.jobs,
        "replications": len(tallies.replications),
        "sizes": [str(job_class.size) for job_class in plan.system.workload.classes],
        "seed": plan.seed,
    }
