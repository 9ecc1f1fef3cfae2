"""Simulate a system under a policy, with confidence intervals."""

from __future__ import annotations

import dataclasses
import math
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from moldable.checks import LARGEST, checked_int, choice, fraction, positive, within
from moldable.errors import SimulationError
from moldable.model.scenario import ScenarioOrFile
from moldable.model.units import SECONDS, parse_duration
from moldable.policies.policy import Policy
from moldable.simulation.arrival_source import refuse_bad_labels
from moldable.simulation.estimates import ESTIMATORS
from moldable.simulation.plan import MAIN, Plan
from moldable.simulation.replications import (
    Progress,
    choose_kernel,
    compile_kernel,
    count_workers,
    cut,
)
from moldable.simulation.run import STEP, Run, run_until_precise
from moldable.simulation.start import Start, initial_counts
from moldable.simulation.warmup import warmup_of
from moldable.system.loss_system import System, build_system
from moldable.system.performance import Performance
from moldable.system.saturation import refuse_unstable

JOBS: Final = 1_000_000
ROUND_JOBS: Final = 500_000
MOST_JOBS: Final = 2_000_000_000
HABIT: Final = 10.0
"""Usual threshold of the bounded slowdown, in seconds (D. G. Feitelson and others, 1997)."""
MOST_REPLICATIONS: Final = 10**6
"""Each is planned, and its counts are kept."""


@final
@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The arguments of `simulate`, and how it estimates."""

    jobs: int | None = None
    replications: int = 64
    warmup: float | None = None
    start: Start = "equilibrium"
    estimator: str = "assigned"
    precision: float | None = None
    max_jobs: int = MOST_JOBS
    seed: int | None = None
    threads: int | None = None
    executor: Executor | None = None
    progress: Progress | None = None
    slowdown_threshold: float | str | None = None
    controls: bool = False
    """Whether the blocking of all classes is estimated with control variates."""

    def __post_init__(self) -> None:
        check_seed_and_threads(self.seed, self.threads)
        if self.warmup is not None:
            hint = "it is in mean sizes"
            within(self.warmup, "warmup", SimulationError, 0.0, LARGEST, hint)
        if self.precision is not None:
            fraction(self.precision, "precision", SimulationError)
        choice(self.estimator, ESTIMATORS, "estimator", SimulationError)


def simulate(
    scenario: ScenarioOrFile,
    policy: Policy | str | None = None,
    *,
    jobs: float | None = None,
    replications: int = 64,
    warmup: float | None = None,
    start: Start = "equilibrium",
    estimator: str = "assigned",
    precision: float | None = None,
    max_jobs: float = MOST_JOBS,
    seed: int | None = None,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    slowdown_threshold: float | str | None = None,
) -> Performance:
    """Simulate a scenario under a policy.

    The same seed gives the same numbers, whatever the threads, the executor or the machine.

    Args:
        scenario: the classes, the cluster and the arrivals.
        policy: decides how many servers a job gets, or its spelling, such as "fixed:3"; by default
            greedy(p*), or the even price with waiting places.
        jobs: arrivals to count in each replication, by default a million (half a million with a
            precision). The chain kernel counts over a fixed time in which this number is expected.
        replications: independent runs, whose spread gives the intervals.
        warmup: time at the start that is not counted, in mean sizes; by default chosen by a pilot
            run.
        start: "equilibrium", "empty", or the number of jobs of each width: {width: count} for the
            first class, or {(class, width): count}.
        estimator: of the mean execution time. "assigned": mean size / speed-up of the granted
            widths, which has the least variance; "realised": actual sizes, booked at arrival;
            "completed_only": actual sizes of jobs that finished in time, which is biased.
        precision: target half-width of both 95 % confidence intervals, relative to their value or
            1e-4 in absolute terms; replications are added as needed.
        max_jobs: stop after this number of arrivals even if the precision is not reached.
        seed: random seed; if not given, a new one, which the result reports.
        threads: number of threads; all cores by default.
        executor: any `concurrent.futures.Executor` that runs chunks of replications instead.
        progress: called with (finished, planned) replications.
        slowdown_threshold: with waiting places, execution time below which a job counts as this
            long in the bounded slowdown, such as "10 s"; by default 10 s if the scenario has a unit
            of time.

    Examples:
        >>> answer = simulate(Scenario.single([1, 1.8], 0.8, 8), "fixed:2", jobs=10_000, seed=1)
        >>> answer.blocking.interval[0] < 0.3 < answer.blocking.interval[1]
        False
    """
    most = MOST_REPLICATIONS
    options = RunOptions(
        jobs=None if jobs is None else checked_int(jobs, "jobs", SimulationError),
        replications=checked_int(replications, "replications", SimulationError, most=most),
        warmup=warmup,
        start=start,
        estimator=estimator,
        precision=precision,
        max_jobs=checked_int(max_jobs, "max_jobs", SimulationError),
        seed=seed,
        threads=threads,
        executor=executor,
        progress=progress,
        slowdown_threshold=slowdown_threshold,
    )
    return simulate_system(build_system(scenario, policy), options, "asked for")


def simulate_system(system: System, options: RunOptions, reason: str) -> Performance:
    """Simulate a system; the result gives `reason` as the reason for simulating it."""
    run = prepare_run(system, options)
    converged = run_until_precise([run], options.replications)
    return run.performance(reason, converged=converged)


def prepare_run(
    system: System, options: RunOptions, kernel: str | None = None, *, common: bool = False
) -> Run:
    """Check the options, compile the kernel and choose the warm-up.

    Args:
        system: the system to simulate.
        options: of the run.
        kernel: which to use; the faster one by default.
        common: whether the run shares its random numbers with those of other policies.
    """
    estimator, precision = options.estimator, options.precision
    _refuse_unbounded_variance(system, estimator, precision)
    if system.places and estimator == "completed_only":
        raise SimulationError(
            "completed_only is defined for jobs that start when they arrive; with waiting places "
            "use 'assigned' or 'realised'",
            "estimator",
        )
    refuse_bad_labels(system.scenario)
    refuse_unstable(system)
    initial_counts(system, options.start, np.random.default_rng(0))  # refuses a bad start
    first_round = options.replications if precision is None else max(options.replications, STEP)
    kernel = kernel or choose_kernel(system, estimator, first_round)
    seed = fresh_seed() if options.seed is None else int(options.seed)
    short = max(1, min(ROUND_JOBS, options.max_jobs // STEP))
    jobs = int(options.jobs or (JOBS if precision is None else short))
    finished = estimator == "completed_only"
    bound = slowdown_bound(system, options.slowdown_threshold)
    plan = Plan(system, options.start, 0.0, jobs, 1, finished, seed, MAIN, common, bound or 0.0)
    workers = count_workers(options.threads, options.executor)
    compile_kernel(plan, kernel, cut(range(first_round), kernel, workers)[0])
    warmup, notes = warmup_of(plan, kernel, options.warmup)
    return Run(
        plan=dataclasses.replace(plan, warmup=warmup),
        kernel=kernel,
        estimator=estimator,
        precision=precision,
        max_jobs=options.max_jobs,
        workers=workers,
        executor=options.executor,
        progress=options.progress,
        notes=notes,
        controls=options.controls,
    )


def slowdown_bound(system: System, threshold: float | str | None) -> float | None:
    """Return the threshold of the bounded slowdown in the scenario's unit; None if there is none.

    Without waiting places there is no slowdown to bound.
    """
    unit = system.scenario.time_unit
    if threshold is None:
        return None if unit is None or not system.places else HABIT / SECONDS[unit]
    if not system.places:
        raise SimulationError(
            f"{threshold} has no effect: without waiting places every job starts at once; add "
            f"waiting places or leave it out",
            "slowdown_threshold",
        )
    found = parse_duration(threshold, unit, "slowdown_threshold", SimulationError)
    return positive(found, "slowdown_threshold", SimulationError, 'such as "10 s"')


def fresh_seed() -> int:
    """Return a new seed that is short enough to be written down."""
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])


def check_seed_and_threads(seed: int | None, threads: int | None) -> None:
    """Refuse a seed or a number of threads out of range."""
    if seed is not None:
        checked_int(seed, "seed", SimulationError, least=0, most=LARGEST)
    if threads is not None:
        checked_int(threads, "threads", SimulationError)


def _refuse_unbounded_variance(system: System, estimator: str, precision: float | None) -> None:
    classes = system.workload.classes
    heavy = any(math.isinf(job_class.size.variance) for job_class in classes)
    if precision is not None and estimator != "assigned" and heavy:
        raise SimulationError(
            f"sizes without a variance give the {estimator!r} mean time no interval, so no "
            f"precision can be reached; use the 'assigned' estimator"
        )
