"""What do blocking and execution times come to at this n, with an error bar?"""

from __future__ import annotations

import dataclasses
import importlib
import logging
import math
import os
import platform
import threading
from collections.abc import Callable
from concurrent.futures import Executor
from importlib.metadata import version
from typing import Any, Final

import numpy as np

from moldable.arrivals import Arrivals, ArrivalTimes, Poisson
from moldable.errors import SimulationError
from moldable.performance import Performance
from moldable.policies.policy_table import Policy
from moldable.simulation import estimates
from moldable.simulation.plan import MAIN, Plan, Tallies, joined
from moldable.simulation.replications import (
    LANES,
    RUNNERS,
    Finished,
    choose_kernel,
    run_replications,
)
from moldable.simulation.start import Start, exactly_stationary, initial_counts
from moldable.simulation.system import System, build_system
from moldable.simulation.warmup import choose_warmup
from moldable.workload import Workload

ABSOLUTE: Final = 1e-4
"""Half-width that is tight enough whatever the relative precision."""
ROUND_JOBS: Final = 500_000
MOST_JOBS: Final = 2_000_000_000
GROWTH: Final = 4
PATIENCE: Final = 1.0
"""Seconds after which a compilation is worth a word."""
LOG: Final = logging.getLogger("moldable")

Progress = Callable[[int, int], None]


def simulate(
    workload: Workload,
    servers: int,
    policy: Policy | None = None,
    *,
    jobs: int | None = None,
    replications: int = 20,
    warmup: float | None = None,
    start: Start = "equilibrium",
    estimator: str = "assigned",
    precision: float | None = None,
    max_jobs: int = MOST_JOBS,
    seed: int | None = None,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    arrivals: Arrivals | None = None,
) -> Performance:
    """Simulate a workload on a cluster.

    The same seed gives the same numbers, whatever the threads, the executor or the machine.

    Args:
        workload: the classes.
        servers: the size of the cluster.
        policy: who gets how many servers; greedy(p*) by default.
        jobs: arrivals to count in each replication, by default a million (half of it with a
            precision). The chain kernel counts a fixed time in which so many are expected.
        replications: independent runs; their spread gives the intervals.
        warmup: time at the start that is not counted, in mean sizes; chosen by a pilot if not
            given.
        start: "equilibrium", "empty", or jobs of each width, {width: count} or
            {(class, width): count}.
        estimator: of the mean execution time. "assigned": mean size / speed-up of the granted
            widths, the least variance; "realised": actual sizes, booked at arrival;
            "completed_only": actual sizes of jobs that finished in time, which is biased.
        precision: run until both intervals are this tight, relative to their value or absolute
            1e-4; replications are then added as needed.
        max_jobs: give up the precision after so many arrivals in all.
        seed: of the random numbers; a fresh one if not given, reported in the result.
        threads: how many; all cores by default.
        executor: any `concurrent.futures.Executor` to run chunks of replications on instead.
        progress: called with (finished, planned) replications.
        arrivals: the process of arrivals; Poisson by default.
    """
    _refuse_bad_numbers(
        jobs=jobs,
        replications=replications,
        warmup=warmup,
        precision=precision,
        max_jobs=max_jobs,
        threads=threads,
    )
    estimates.check_estimator(estimator)
    system = build_system(workload, servers, policy, arrivals or Poisson())
    _refuse_bad_labels(system)
    initial_counts(system, start, np.random.default_rng(0))  # refuse a bad start before any work
    kernel = choose_kernel(system, estimator)
    if seed is None:
        seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    each = jobs or (1_000_000 if precision is None else ROUND_JOBS)
    plan = Plan(system, start, 0.0, int(each), 1, estimator == "completed_only", seed, MAIN)
    compile_kernel(plan, kernel)
    plan = dataclasses.replace(plan, warmup=_warmup(plan, kernel, warmup))

    def run(chunk: range) -> Finished:
        return run_replications(
            plan, kernel, chunk, threads=threads, executor=executor, progress=progress
        )

    rounds = _Rounds(plan, kernel, estimator, precision, max_jobs, run)
    converged = rounds.until_enough(replications)
    assert rounds.gathered is not None  # noqa: S101 - a round has been run
    return _performance(plan, kernel, rounds.gathered, estimator, rounds.notes, converged=converged)


def compile_kernel(plan: Plan, kernel: str) -> None:
    """Compile the kernel, or load it from the cache, by running next to nothing."""
    importlib.import_module("moldable.kernels.count_chain")  # numba's own import takes its time
    tiny = dataclasses.replace(plan, start="empty", warmup=0.0, jobs=1, batches=1)
    patience = threading.Timer(
        PATIENCE, LOG.info, ["compiling for this kind of system; it is kept on disk for next time"]
    )
    patience.start()
    try:
        RUNNERS[kernel](tiny, (0,))
    finally:
        patience.cancel()


def _warmup(plan: Plan, kernel: str, asked: float | None) -> float:
    if asked is not None:
        return asked * _mean_size(plan.system)
    listed = isinstance(plan.system.arrivals, ArrivalTimes)
    if listed or exactly_stationary(plan.system, plan.start):
        return 0.0
    return choose_warmup(plan, RUNNERS[kernel])


@dataclasses.dataclass
class _Rounds:
    """Rounds of replications, until they are enough."""

    plan: Plan
    kernel: str
    estimator: str
    precision: float | None
    max_jobs: int
    run: Callable[[range], Finished]
    gathered: Tallies | None = None
    notes: list[str] = dataclasses.field(default_factory=list)

    def until_enough(self, replications: int) -> bool:
        """Run one round, or as many as the precision needs; return whether it was reached."""
        most = max(2, self.max_jobs // self.plan.jobs)
        done, wanted = 0, replications
        if self.precision is not None:
            wanted = min(max(replications, LANES), most)
        while True:
            if not self._round(range(done, wanted)):
                return False
            if self.precision is None:
                return True
            excess = self._excess(self.precision)
            if excess <= 1.0:
                return True
            if wanted >= most:
                self.notes.append(
                    f"max_jobs={self.max_jobs} was reached before the precision {self.precision:g}"
                )
                return False
            done = wanted
            needed = math.ceil(done * min(1.1 * excess**2, GROWTH) / LANES) * LANES
            wanted = min(max(needed, done + LANES), most)

    def _round(self, replications: range) -> bool:
        finished = self.run(replications)
        if finished.repeated:
            self.notes.append(f"{finished.repeated} replications of lost workers were run again")
        parts = [part for part in (self.gathered, finished.tallies) if part is not None]
        if not parts:
            raise KeyboardInterrupt
        self.gathered = joined(parts)
        if finished.interrupted:
            count = len(self.gathered.replications)
            self.notes.append(
                f"interrupted: these are the {count} of {replications.stop} replications finished"
            )
        return not finished.interrupted

    def _excess(self, precision: float) -> float:
        """Return how many times too wide the wider interval is."""
        system, tallies = self.plan.system, self.gathered
        assert tallies is not None  # noqa: S101 - a round has been run
        every = np.ones(len(system.workload.classes), dtype=np.bool_)
        pair = (
            estimates.blocking(tallies, every, system),
            estimates.mean_time(tallies, every, system, self.estimator),
        )
        return max(e.half_width / max(precision * abs(e.value), ABSOLUTE) for e in pair)


def _performance(
    plan: Plan,
    kernel: str,
    tallies: Tallies,
    estimator: str,
    notes: list[str],
    *,
    converged: bool,
) -> Performance:
    system = plan.system
    accepted = tallies.granted.sum()
    if accepted + tallies.blocked.sum() != tallies.arrived.sum():
        raise SimulationError("arrivals were not all accounted for: a bug, please report it")
    every = np.ones(len(system.workload.classes), dtype=np.bool_)
    kinds = np.ones(system.kind_width.size, dtype=np.bool_)
    running = estimates.mean_jobs(tallies, system, kinds)
    weights = tallies.time / tallies.time.sum()
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
        warmup=plan.warmup / _mean_size(system),
        converged=converged,
        warnings=(*notes, *_warnings(plan, tallies, estimator)),
        provenance=_provenance(plan, tallies),
    )


def _mean_size(system: System) -> float:
    offered = sum(job_class.offered for job_class in system.workload.classes)
    return offered / system.workload.arrival_rate


def _warnings(plan: Plan, tallies: Tallies, estimator: str) -> list[str]:
    found = estimates.identities(tallies, plan.system) if plan.start != "empty" else []
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


def _refuse_bad_labels(system: System) -> None:
    labels = system.arrivals.labels
    if labels is not None and int(labels.max()) >= len(system.workload.classes):
        raise SimulationError(
            f"an arrival has class {int(labels.max())}, but the workload has only "
            f"{len(system.workload.classes)} classes, counted from 0"
        )


def _refuse_bad_numbers(
    *,
    jobs: int | None,
    replications: int,
    warmup: float | None,
    precision: float | None,
    max_jobs: int,
    threads: int | None,
) -> None:
    for name, value in (("jobs", jobs), ("replications", replications), ("max_jobs", max_jobs)):
        if value is not None and (value < 1 or int(value) != value):
            raise SimulationError(f"{name}={value} must be a whole number from 1")
    if threads is not None and threads < 1:
        raise SimulationError(f"threads={threads} must be at least 1")
    if warmup is not None and not 0.0 <= warmup < math.inf:
        raise SimulationError(f"warmup={warmup} must be finite and at least 0, in mean sizes")
    if precision is not None and not 0.0 < precision < 1.0:
        raise SimulationError(f"precision={precision} must lie between 0 and 1, such as 0.01")
