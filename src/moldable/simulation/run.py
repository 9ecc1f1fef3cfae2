"""Run replications until the requested precision is reached, and summarise them.

One round if a number is given; with a precision, rounds of growing size until both intervals are
narrow enough or the number of arrivals is exhausted.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Final, final

import numpy as np

from moldable.errors import SimulationError
from moldable.simulation import estimates, queue_estimates
from moldable.simulation.controls import controlled_blocking
from moldable.simulation.plan import Plan, Tallies, joined
from moldable.simulation.replications import ChunkRunner, Progress, cut
from moldable.system.estimate import Estimate
from moldable.system.granted import by_width, quantiles, width_shares
from moldable.system.performance import ClassPerformance, Performance, SimulationDetail
from moldable.system.provenance import provenance
from moldable.system.queueing import Queueing
from moldable.system.response_bound import response_bound

ABSOLUTE: Final = 1e-4
"""Half-width that is narrow enough whatever the relative precision."""
GROWTH: Final = 4
STEP: Final = 32
"""Replications in the first round for a precision; later rounds add multiples of it."""
FEW: Final = 100
"""Arrivals of a class below which its effect on others is hardly known."""
NOTICEABLE: Final = 0.01
"""Share of the load above which a class affects others."""


@final
@dataclasses.dataclass
class Run:
    """The replications of one plan that have been run so far.

    Attributes:
        plan: what each replication runs.
        kernel: which kernel runs it.
        estimator: of the mean execution time.
        precision: target half-width of the intervals.
        max_jobs: most arrivals in all.
        workers: chunks that run at once.
        executor: where they run; on threads of this process if None.
        progress: called with (finished, planned) replications.
        notes: warnings about the run.
        controls: whether the blocking of all classes is estimated with control variates.
        tallies: of all replications so far.
        planned: number of replications at the end of the last round.
        interrupted: whether the last round was stopped before its end.
        reason: why, unless the user stopped it.
    """

    plan: Plan
    kernel: str
    estimator: str
    precision: float | None
    max_jobs: int
    workers: int
    executor: Executor | None
    progress: Progress | None
    notes: list[str]
    controls: bool = False
    tallies: Tallies = dataclasses.field(init=False)
    planned: int = 0
    interrupted: bool = False
    reason: str = ""

    def __post_init__(self) -> None:
        self.tallies = Tallies.empty(self.plan, ())

    def more(self, replications: range) -> bool:
        """Run further replications; return whether all of them finished."""
        chunks = cut(replications, self.kernel, self.workers)
        runner = ChunkRunner(self.plan, self.kernel, chunks, self.progress)
        runner.run(self.workers, self.executor)
        if runner.repeated:
            self.notes.append(f"{runner.repeated} replications of lost workers were run again")
        self.tallies = joined([self.tallies, *filter(None, runner.results)])
        if not self.tallies.replications:
            raise KeyboardInterrupt
        self.planned = replications.stop
        self.interrupted, self.reason = runner.interrupted, runner.reason
        return not self.interrupted

    def _interruption(self) -> list[str]:
        if not self.interrupted:
            return []
        reason = f" ({self.reason})" if self.reason else ""
        finished = f"{len(self.tallies.replications)} of {self.planned}"
        return [f"interrupted{reason}: these are the {finished} replications finished"]

    def figures(self) -> tuple[Estimate, Estimate]:
        """Estimate the blocking and the mean execution time of all classes."""
        system, tallies = self.plan.system, self.tallies
        every = np.ones(len(system.workload.classes), dtype=np.bool_)
        blocking = controlled_blocking(tallies, system) if self.controls else None
        if blocking is None:
            blocking = estimates.blocking(tallies, every, system)
        return blocking, estimates.mean_time(tallies, every, system, self.estimator)

    def excess(self, precision: float) -> float:
        """Return how many times too wide the widest interval is."""
        unit = self.plan.system.workload.mean_size
        blocking, time = self.figures()
        figures = [(blocking, 1.0), (time, unit)]
        waiting = self.queueing()
        if waiting is not None and waiting.mean_response_time.interval is not None:
            figures.append((waiting.mean_response_time, unit))
        elif waiting is not None:  # without a variance of the sizes only shares have intervals
            figures.append((waiting.wait_probability, 1.0))
        return max(
            e.half_width / max(precision * abs(e.value), ABSOLUTE * unit) for e, unit in figures
        )

    def queueing(self) -> Queueing | None:
        """Estimate the waiting and response times of all classes; None if no job can wait."""
        system = self.plan.system
        if self.tallies.queue is None:
            return None
        every = np.ones(len(system.workload.classes), dtype=np.bool_)
        realised = self.estimator == "realised"
        return queue_estimates.queueing(self.tallies, every, system, realised=realised)

    def _classes(self) -> tuple[ClassPerformance, ...]:
        system, tallies = self.plan.system, self.tallies
        found = estimates.by_class(tallies, system, self.estimator)
        if tallies.queue is None:
            return found
        only = np.eye(len(found), dtype=np.bool_)
        realised = self.estimator == "realised"
        return tuple(
            dataclasses.replace(
                part,
                queueing=queue_estimates.queueing(tallies, own, system, realised=realised),
            )
            for part, own in zip(found, only, strict=True)
        )

    def performance(self, reason: str, *, converged: bool) -> Performance:
        """Summarise the replications, after checking that every arrival is accounted for."""
        plan, tallies, system = self.plan, self.tallies, self.plan.system
        granted = tallies.granted.sum(axis=(0, 1))
        if tallies.queue is not None:
            queue_estimates.refuse_growing_queue(tallies)
        elif granted.sum() + tallies.blocked.sum() != tallies.arrived.sum():
            raise SimulationError("arrivals were not all accounted for: a bug, please report it")
        by_kind = estimates.mean_jobs(tallies) / system.servers
        blocking, mean_time = self.figures()
        return Performance(
            blocking=blocking,
            mean_execution_time=mean_time,
            quantiles=quantiles(system, granted),
            width_shares=width_shares(system, granted),
            mean_jobs=by_width(system, by_kind),
            busy_fraction=float(by_kind @ system.kind_width),
            departure_rate=float(by_kind @ (1.0 / system.kind_scale)),
            classes=self._classes(),
            method="simulate",
            reason=reason,
            detail=SimulationDetail(
                estimator=self.estimator,
                arrivals=int(tallies.arrived.sum()),
                arrivals_per_second=float(tallies.arrived.sum()) / max(tallies.seconds, 1e-9),
                seed=plan.seed,
                kernel=self.kernel,
                start=plan.start if isinstance(plan.start, str) else "given",
                warmup=plan.warmup / system.workload.mean_size,
                converged=converged,
                interrupted=self.interrupted,
            ),
            warnings=(
                *self.notes,
                *self._interruption(),
                *_warnings(plan, tallies, self.estimator),
            ),
            scenario=system.scenario,
            policy=system.policy_data,
            queueing=self.queueing(),
            response_bound=response_bound(system.scenario) if system.places else None,
            slowdown_threshold=plan.bound or None,
            provenance=provenance(
                system.scenario,
                system.policy_name,
                pools=list(system.pools),
                jobs=plan.jobs,
                replications=len(tallies.replications),
                seed=plan.seed,
            ),
        )


def run_until_precise(runs: Sequence[Run], replications: int, step: int = STEP) -> bool:
    """Run one round, or as many as the precision needs; return whether it was reached.

    All runs have the same replications, so that they can be compared one by one.

    Args:
        runs: to continue.
        replications: of the first round.
        step: replications are added in multiples of this, where a precision is asked for.
    """
    one = runs[0]
    most = max(2, one.max_jobs // one.plan.jobs)
    done, wanted = 0, replications
    if one.precision is not None:
        wanted = min(max(replications, step), most)
    while True:
        if not all(run.more(range(done, wanted)) for run in runs):
            return False
        if one.precision is None:
            return True
        excess = max(run.excess(one.precision) for run in runs)
        if excess <= 1.0:
            return True
        if wanted >= most:
            note = f"max_jobs={one.max_jobs} was reached before the precision {one.precision:g}"
            for run in runs:
                run.notes.append(note)
            return False
        done = wanted
        needed = math.ceil(done * min(1.1 * excess**2, GROWTH) / step) * step
        wanted = min(max(needed, done + step), most)


def keep_shared(runs: Sequence[Run]) -> None:
    """Keep the replications that all runs have if one was interrupted, so that they compare."""
    if not any(run.interrupted for run in runs):
        return
    shared = set.intersection(*(set(run.tallies.replications) for run in runs))
    if not shared:
        raise KeyboardInterrupt
    planned = max(run.planned for run in runs)
    for run in runs:
        run.tallies = joined([run.tallies], shared)
        run.planned, run.interrupted = planned, True


def _warnings(plan: Plan, tallies: Tallies, estimator: str) -> list[str]:
    found = estimates.identities(tallies, plan)
    found += _few_arrivals(plan, tallies)
    laws = [job_class.size for job_class in plan.system.workload.classes]
    if estimator != "assigned" and any(math.isinf(law.variance) for law in laws):
        found.append(
            f"sizes without a variance: the {estimator!r} mean time has no normal interval; "
            f"use the 'assigned' estimator"
        )
    if tallies.queue is not None and queue_estimates.without_variance(plan.system):
        found.append(
            "sizes without a variance: mean waits and queue lengths may be infinite and have no "
            "normal interval; the wait probability and the quantiles are valid"
        )
    if estimator == "completed_only":
        found.append("counting only jobs that finished in time favours short ones: a biased mean")
    if len(tallies.replications) < 2:  # noqa: PLR2004 - a spread needs two
        found.append("one replication gives no interval; ask for more")
    return found


def _few_arrivals(plan: Plan, tallies: Tallies) -> list[str]:
    """Name classes with too few arrivals for their share of the load."""
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
