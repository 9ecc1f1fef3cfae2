"""What do blocking and execution times come to at this n, with an error bar?"""

from __future__ import annotations

import dataclasses
import importlib
import logging
import math
import numbers
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Final, final

import numpy as np

from moldable.checks import LARGEST, choice, fraction, whole, within
from moldable.errors import SimulationError, shown
from moldable.model.arrivals import ArrivalTimes
from moldable.model.scenario import Scenario
from moldable.policies.policy_table import Policy
from moldable.simulation.estimates import ESTIMATORS
from moldable.simulation.feed import BLOCK
from moldable.simulation.plan import MAIN, Plan
from moldable.simulation.replications import (
    RUNNERS,
    Finished,
    choose_kernel,
    count_workers,
    cut,
    run_replications,
)
from moldable.simulation.rounds import STEP, Rounds, until_enough
from moldable.simulation.start import Start, exactly_stationary, initial_counts
from moldable.simulation.summary import performance
from moldable.simulation.warmup import choose_warmup
from moldable.system.loss_system import System, build_system, mean_size
from moldable.system.performance import Performance
from moldable.threads import interruptible

ROUND_JOBS: Final = 500_000
MOST_JOBS: Final = 2_000_000_000
LONGEST_WARMUP: Final = 2e8
WARMUP_SHARE: Final = 100.0
"""Most arrivals of a warm-up in one replication: the first, or the second times those counted."""
MOST_REPLICATIONS: Final = 10**6
"""Each is planned, and its counts are kept."""
PATIENCE: Final = 1.0
"""Seconds after which a compilation is worth a word."""
LOG: Final = logging.getLogger("moldable")

Progress = Callable[[float, int], None]


@final
@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How long and how to simulate; the arguments of `simulate`."""

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

    def __post_init__(self) -> None:
        check_seed_and_threads(self.seed, self.threads)
        if self.warmup is not None:
            hint = "it is in mean sizes"
            within(self.warmup, "warmup", SimulationError, 0.0, LARGEST, hint)
        if self.precision is not None:
            fraction(self.precision, "precision", SimulationError)
        _refuse_bad_start(self.start)
        choice(self.estimator, ESTIMATORS, "estimator", SimulationError)


def simulate(
    scenario: Scenario,
    policy: Policy | None = None,
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
) -> Performance:
    """Simulate a scenario under a policy.

    The same seed gives the same numbers, whatever the threads, the executor or the machine.

    Args:
        scenario: the classes, the cluster and the arrivals.
        policy: who gets how many servers; greedy(p*) by default.
        jobs: arrivals to count in each replication, by default a million (half of it with a
            precision). The chain kernel counts a fixed time in which so many are expected.
        replications: independent runs; their spread gives the intervals.
        warmup: time at the start that is not counted, in mean sizes; chosen by a pilot if not
            given.
        start: "equilibrium", "empty", or jobs of each width: {width: count} of the first class,
            or {(class, width): count}.
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
    """
    most = MOST_REPLICATIONS
    options = RunOptions(
        jobs=None if jobs is None else whole(jobs, "jobs", SimulationError),
        replications=whole(replications, "replications", SimulationError, most=most),
        warmup=warmup,
        start=start,
        estimator=estimator,
        precision=precision,
        max_jobs=whole(max_jobs, "max_jobs", SimulationError),
        seed=seed,
        threads=threads,
        executor=executor,
        progress=progress,
    )
    return simulate_system(build_system(scenario, policy), options, "asked for")


def simulate_system(system: System, options: RunOptions, reason: str) -> Performance:
    """Simulate a system; `reason` says in the result why it was simulated."""
    precision, estimator = options.precision, options.estimator
    _refuse_hopeless(system, estimator, precision)
    _refuse_bad_labels(system)
    # Refuse a bad start before any work.
    initial_counts(system, options.start, np.random.default_rng(0))
    first_round = options.replications if precision is None else max(options.replications, STEP)
    kernel = choose_kernel(system, estimator, first_round)
    seed = fresh_seed() if options.seed is None else int(options.seed)
    short = max(1, min(ROUND_JOBS, options.max_jobs // STEP))
    each = int(options.jobs or (1_000_000 if precision is None else short))
    plan = Plan(system, options.start, 0.0, each, 1, estimator == "completed_only", seed, MAIN)
    workers = count_workers(options.threads, options.executor)
    compile_kernel(plan, kernel, cut(range(first_round), kernel, workers)[0])
    left_out, notes = warmup_of(plan, kernel, options.warmup)
    plan = dataclasses.replace(plan, warmup=left_out)

    def run(chunk: range) -> Finished:
        return run_replications(
            plan,
            kernel,
            chunk,
            workers=workers,
            executor=options.executor,
            progress=options.progress,
        )

    rounds = Rounds(plan, kernel, estimator, precision, options.max_jobs, run, notes=notes)
    converged = until_enough([rounds], options.replications)
    return performance(rounds, reason, converged=converged)


def fresh_seed() -> int:
    """Return a seed that nobody has used, short enough to be written down."""
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])


def compile_kernel(plan: Plan, kernel: str, chunk: tuple[int, ...]) -> None:
    """Compile the kernel for such a chunk, or load it from the cache, by running next to nothing.

    The chain is compiled for the lanes that the chunk needs.
    """
    # numba's own import takes its time
    interruptible(importlib.import_module, "moldable.kernels.count_chain")
    # The ring draws by itself only what comes after a first block.
    jobs = 1 if kernel == "count-chain" else BLOCK + 1
    tiny = dataclasses.replace(plan, start="empty", warmup=0.0, jobs=jobs, batches=1)
    patience = threading.Timer(
        PATIENCE, LOG.info, ["compiling for this kind of system; it is kept on disk for next time"]
    )
    patience.daemon = True  # an interrupt while it is called off must not keep the process
    patience.start()
    try:
        interruptible(RUNNERS[kernel], tiny, chunk)
    finally:
        patience.cancel()


def warmup_of(plan: Plan, kernel: str, asked: float | None) -> tuple[float, list[str]]:
    """Return the time to leave out, and what is to be said about it."""
    unit, rate = mean_size(plan.system), plan.system.workload.arrival_rate
    if asked is not None:
        _refuse_endless(plan, asked * unit * rate, "ask for a shorter warm-up")
        return asked * unit, []
    listed = isinstance(plan.system.arrivals, ArrivalTimes)
    if listed or exactly_stationary(plan.system, plan.start):
        return 0.0, []
    # No pilot settles within less than one mean execution time of the slowest kind.
    slowest = float(plan.system.kind_scale.max())
    _refuse_endless(plan, slowest * rate, "ask for more jobs, or give warmup= (--warmup)")
    time, unsettled = choose_warmup(plan, partial(interruptible, RUNNERS[kernel]))
    if unsettled is None:
        return time, []
    note = (
        f"the pilot did not settle within {unsettled / unit:.3g} mean sizes, so a warm-up of "
        f"{time / unit:.3g} may be too short; give --warmup (in Python: warmup=)"
    )
    return time, [note]


def _refuse_endless(plan: Plan, arrivals: float, mend: str) -> None:
    """Refuse a warm-up that would last minutes to hours longer than what is counted."""
    most = max(LONGEST_WARMUP, WARMUP_SHARE * plan.jobs)
    if arrivals > most:
        raise SimulationError(
            f"the slowest jobs need a warm-up of {arrivals:.2g} arrivals in each replication, more "
            f"than {most:.2g}; {mend}, lower the load, or leave the slowest class out"
        )


def _refuse_hopeless(system: System, estimator: str, precision: float | None) -> None:
    classes = system.workload.classes
    heavy = any(math.isinf(job_class.size.variance) for job_class in classes)
    if precision is not None and estimator != "assigned" and heavy:
        raise SimulationError(
            f"sizes without a variance give the {estimator!r} mean time no interval, so no "
            f"precision can be reached; use the 'assigned' estimator"
        )


def _refuse_bad_labels(system: System) -> None:
    labels = system.arrivals.labels
    if labels is not None and int(labels.max()) >= len(system.workload.classes):
        raise SimulationError(
            f"an arrival has class {int(labels.max())}, but the workload has only "
            f"{len(system.workload.classes)} classes, counted from 0"
        )


def _refuse_bad_start(start: object) -> None:
    """Refuse what is neither a name nor counts; names and widths are looked at later."""
    if isinstance(start, str):
        return
    if not isinstance(start, Mapping):
        raise SimulationError(
            f"{shown(start)} is unknown; give 'equilibrium', 'empty', {{width: count}} or "
            f"{{(class, width): count}}",
            "start",
        )
    for key, count in start.items():
        pair = key if isinstance(key, tuple) else ("", key)
        match pair:
            case (str(), numbers.Real()):
                pass
            case _:
                raise SimulationError(
                    f"start: {key!r:.80} must be a width, or a pair of a class and a width"
                )
        if not isinstance(count, numbers.Real) or not math.isfinite(count):
            raise SimulationError(f"start: {count!r:.80} jobs of {key}; give a whole number from 0")


def check_seed_and_threads(seed: int | None, threads: int | None) -> None:
    """Refuse what no random numbers, or no work, can be had from."""
    if seed is not None:
        whole(seed, "seed", SimulationError, least=0, most=LARGEST)
    if threads is not None:
        whole(threads, "threads", SimulationError)
