"""Run replications with any sizes and arrivals, one at a time."""

from __future__ import annotations

import dataclasses
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.errors import SimulationError
from moldable.model.arrivals import ArrivalTimes
from moldable.simulation.alias_table import alias_table, columns_needed
from moldable.simulation.arrival_source import BLOCK, ArrivalSource, Block
from moldable.simulation.plan import Plan, Report, Tallies, joined, no_report, report_part
from moldable.simulation.start import initial_counts
from moldable.system.loss_system import System

MOST_BUCKETS: Final = 26
"""Largest size of a ring, as a power of two; jobs stay for several turns if it is too small."""
SLICE: Final = 1 << 20
"""Jobs that the kernel draws between two progress reports; fewer if they are drawn slowly."""
FEWEST, MOST = 0.5, 4.0
"""Arrivals in a warm-up, relative to those expected in its time. If gaps have no variance, one of
them may outlast the warm-up, or most may be far shorter than their mean."""
CHUNK: Final = 1 << 16
"""Jobs that are inserted into the ring at once when a replication starts."""
FOREVER: Final = 1e12
"""A time, in mean sizes, longer than any replication. Longer remaining times are cut off:
those of heavy tails may overflow, and their sums would swallow all other times."""
TURN: Final = 2.0
"""Mean execution times that the ring spans in one turn."""


class RingModel(NamedTuple):
    """The constant arguments of the kernel, in its order, followed by the layout of the ring."""

    threshold: Floats
    first: Ints
    second: Ints
    table_start: Ints
    columns: int
    reach: Ints
    pool_of: Ints
    pool_of_kind: Ints
    widths: Ints
    scales: Floats
    draws: bool
    buckets: int
    buckets_per_time: float
    pools: Ints

    def tables(self) -> tuple[object, ...]:
        """Return the arguments of the kernel."""
        return self[:10]


def ring_model(system: System, more_rows: Sequence[Floats] | None = None) -> RingModel:
    """Build the alias tables of all classes, one after the other.

    Args:
        system: the system.
        more_rows: of each class, to append to its rows by idle servers.
    """
    tabulated = system.wishes
    if more_rows is not None:
        tabulated = tuple(map(np.vstack, zip(system.wishes, more_rows, strict=True)))
    outcomes = [_with_blocked(rows) for rows in tabulated]
    columns = max(columns_needed(rows) for rows in outcomes)
    tables = [alias_table(rows, columns) for rows in outcomes]
    kinds, classes = system.kind_width.size, np.arange(len(tables))
    threshold, first, second = (
        np.concatenate([part.ravel() for part in parts]) for parts in zip(*tables, strict=True)
    )
    rate, time_of_a_job = _time_scales(system, tabulated)
    # A power of two, so that times in buckets are rounded as the times are, and ties stay ties.
    per_time = 2.0 ** round(math.log2(rate))
    return RingModel(
        threshold,
        np.where(first == kinds, -1, first),
        np.where(second == kinds, -1, second),
        np.cumsum([0, *(table.threshold.size for table in tables[:-1])]),
        columns,
        np.array([rows.shape[0] - 1 for rows in system.wishes]),
        np.zeros_like(classes) if system.shared else classes,
        np.zeros(kinds, np.int64) if system.shared else system.kind_class,
        system.kind_width,
        system.kind_scale * per_time,
        any(table.draws for table in tables),
        1 << min(MOST_BUCKETS, max(6, math.ceil(math.log2(TURN * per_time * time_of_a_job)))),
        per_time,
        np.array([system.servers] if system.shared else system.pools),
    )


def _with_blocked(rows: Floats) -> Floats:
    """Append a column with the probability that the job is blocked."""
    blocked = np.clip(1.0 - rows.sum(axis=1, keepdims=True), 0.0, 1.0)
    blocked[blocked < 1e-12] = 0.0  # noqa: PLR2004 - rounding, not blocking
    whole = np.hstack((rows, blocked))
    normal: Floats = whole / whole.sum(axis=1, keepdims=True)
    return normal


def _time_scales(system: System, rows: Sequence[Floats]) -> tuple[float, float]:
    """Return the arrival rate and the mean execution time of what the last rows grant."""
    rates = system.workload.rates
    wished = np.array([rows[j][-1, k] for k, j in enumerate(system.kind_class)])
    running = float(rates[system.kind_class] @ (wished * system.kind_scale))
    rate = float(rates.sum())
    if isinstance(system.arrivals, ArrivalTimes):
        times = np.asarray(system.arrivals.times)
        lasted = float(times[-1] - times[0])
        rate = times.size / lasted if lasted > 0.0 else rate
    return rate, max(running / float(rates.sum()), 1.0 / rate)


def run_ring(plan: Plan, replications: tuple[int, ...], report: Report = no_report) -> Tallies:
    """Run replications; `report` is called with the share that is done."""
    return run_each(partial(_LossReplication, plan, ring_model(plan.system)), replications, report)


def run_each(
    make: Callable[[int, Report], Replication], replications: tuple[int, ...], report: Report
) -> Tallies:
    """Run replications one after the other."""
    count = len(replications)
    return joined(
        [
            make(replication, report_part(report, k, count)).run()
            for k, replication in enumerate(replications)
        ]
    )


class RingState(NamedTuple):
    """The running jobs of one replication: arguments of the kernel, in its order."""

    heads: np.ndarray[tuple[int], np.dtype[np.int32]]
    following: np.ndarray[tuple[int], np.dtype[np.int32]]
    departure: Floats
    duration: Floats
    kind: np.ndarray[tuple[int], np.dtype[np.int32]]
    free: np.ndarray[tuple[int], np.dtype[np.int32]]
    cursors: Ints
    idle: Ints

    @classmethod
    def empty(cls, model: RingModel, *, durations: bool) -> RingState:
        """Return a state without jobs."""
        most = int(sum(model.pools) // model.widths.min())
        return cls(
            heads=np.full(model.buckets, -1, np.int32),
            following=np.empty(most, np.int32),
            departure=np.empty(most),
            duration=np.zeros(most if durations else 0),
            kind=np.empty(most, np.int32),
            free=np.arange(most - 1, -1, -1, dtype=np.int32),
            cursors=np.array([0, most]),
            idle=model.pools.astype(np.int64),
        )

    def survey(self, kinds: int, now: float, since: float) -> Survey:
        """Count the jobs in the ring."""
        from moldable.kernels.ring_state import survey

        held, young = np.zeros(kinds, np.int64), np.zeros(kinds, np.int64)
        found = Survey(held, np.zeros(kinds), young, np.zeros(kinds))
        links = (self.heads, self.following, self.departure, self.duration, self.kind)
        survey(now, since, *links, *found)
        return found


class Survey(NamedTuple):
    """The jobs in the ring, by kind.

    Attributes:
        held: jobs whose departure has not been processed.
        left: remaining time of those in the system.
        young: those among them that arrived after a given time, if durations are kept.
        young_time: their execution time.
    """

    held: Ints
    left: Floats
    young: Ints
    young_time: Floats


def _insert_initial_jobs(
    plan: Plan, model: RingModel, state: RingState, rng: np.random.Generator
) -> None:
    """Insert the initial jobs, in chunks because a large cluster holds many."""
    from moldable.kernels.ring_state import insert

    system = plan.system
    links = (state.heads, state.following, state.departure, state.kind)
    for kind, count in enumerate(initial_counts(system, plan.start, rng).tolist()):
        law = system.workload.classes[system.kind_class[kind]].size
        for begin in range(0, count, CHUNK):
            left = law.sample_residual(rng, min(CHUNK, count - begin))
            times = np.minimum(left, FOREVER) * model.scales[kind]
            held = insert(kind, times, model.widths, *links, state.free, state.cursors)
            state.idle[model.pool_of_kind[kind]] -= held


def _warmup_blocks(plan: Plan, source: ArrivalSource) -> Iterator[Block]:
    """Yield the arrivals that are not counted, at least one: what is counted begins with it."""
    end = plan.warmup * source.scale
    if end == 0.0:
        return iter(())
    if isinstance(plan.system.arrivals, ArrivalTimes):
        return source.take(end=end)
    expected = plan.warmup * plan.system.workload.arrival_rate
    return source.take(MOST * expected + BLOCK, end, max(1.0, FEWEST * expected))


def _check_servers(model: RingModel, state: RingState, now: float) -> None:
    """Raise unless every server is either held by a job or idle."""
    held = state.survey(model.widths.size, now, now).held * model.widths
    pools = np.bincount(model.pool_of_kind, held, model.pools.size)
    if not np.array_equal(pools + state.idle, model.pools):
        raise SimulationError("servers were not conserved: this is a bug, please report it")


class Replication(ABC):
    """One replication under way."""

    def __init__(self, plan: Plan, ring: RingModel, replication: int, report: Report) -> None:
        self.plan, self.ring, self.report = plan, ring, report
        self.state = RingState.empty(ring, durations=plan.finished)
        rng = np.random.Generator(np.random.SFC64(plan.seeds(replication, 0)))
        # The starts of policies take different numbers of draws, which must not shift later ones.
        own = np.random.Generator(np.random.SFC64(plan.seeds(replication, 1)))
        _insert_initial_jobs(plan, ring, self.state, own if plan.common else rng)
        self.draws = ring.draws or plan.common
        scale = ring.buckets_per_time
        self.source = ArrivalSource(plan.system, rng, scale=scale, draws=self.draws)
        self.tallies = Tallies.empty(plan, (replication,))
        self.seconds = 0.0

    def run(self) -> Tallies:
        """Run the warm-up and all batches."""
        self.warm_up(_warmup_blocks(self.plan, self.source))
        if not self.source.more():
            raise SimulationError(
                "the warm-up leaves nothing of the list of arrivals to count; shorten it"
            )
        for batch in range(self.plan.batches):
            self.run_batch(batch)
        _check_servers(self.ring, self.state, self.source.now)
        return dataclasses.replace(self.tallies, seconds=self.seconds + self.source.seconds)

    @abstractmethod
    def warm_up(self, blocks: Iterator[Block]) -> None:
        """Let blocks of jobs arrive that are not counted."""

    @abstractmethod
    def run_batch(self, batch: int) -> None:
        """Run one batch and write its tallies."""

    def tell(self) -> None:
        """Report the share of the arrivals that are done."""
        planned = self.plan.jobs * self.plan.batches
        self.report(min(1.0, float(self.source.arrived.sum()) / planned))


@final
class _LossReplication(Replication):
    """A replication without waiting places."""

    def warm_up(self, blocks: Iterator[Block]) -> None:
        """Let blocks of jobs arrive that are not counted."""
        self._let_arrive(blocks, 0)

    def _let_arrive(self, blocks: Iterator[Block], batch: int, drawn: int = 0) -> None:
        """Let blocks of jobs arrive, then a number of jobs that the kernel draws."""
        from moldable.kernels.bucket_ring import bucket_ring

        granted = np.zeros(self.ring.widths.size, np.int64)
        blocked = np.zeros(self.ring.reach.size, np.int64)
        counted = (granted, self.tallies.booked[batch, 0], blocked)
        arrays = (*self.ring.tables(), *self.state, *counted)
        for block in blocks:
            self._timed(bucket_ring, *block, *arrays)
        most = max(1, int(SLICE / self.source.steps_per_job) // BLOCK) * BLOCK
        for begin in range(0, drawn, most):
            self._timed(self.source.run, min(most, drawn - begin), arrays)
        self.tallies.granted[batch, 0], self.tallies.blocked[batch, 0] = granted, blocked

    def _timed(self, run: Callable[..., None], *arguments: Any) -> None:
        started = time.thread_time()
        run(*arguments)
        self.seconds += time.thread_time() - started
        self.tell()

    def run_batch(self, batch: int) -> None:
        """Run one batch and write its tallies."""
        plan, source, tallies = self.plan, self.source, self.tallies
        kinds, per_time = self.ring.widths.size, self.ring.buckets_per_time
        before, opened, booked = source.arrived.copy(), source.now, tallies.booked[batch, 0]
        booked[:] = 0.0
        left_before = self.state.survey(kinds, opened, opened).left
        ready = min(plan.jobs, source.left()) if source.by_kernel else plan.jobs
        self._let_arrive(source.take(ready), batch, plan.jobs - ready)
        tallies.arrived[batch, 0] = source.arrived - before
        ring, lasted = self.state.survey(kinds, source.now, opened), source.now - opened
        # Time spent in the system: what was booked, plus what the jobs present at the start had
        # left, minus what those present at the end have left.
        spent = booked + left_before - ring.left
        tallies.mean_jobs[batch, 0] = spent / lasted if lasted > 0.0 else 0.0
        tallies.time[batch, 0] = lasted / per_time
        booked /= per_time
        finished = tallies.granted[batch, 0] - ring.young
        finished_time = booked - ring.young_time / per_time
        for j in range(tallies.arrived.shape[-1]):
            own = plan.system.kind_class == j
            tallies.finished_jobs[batch, 0, j] = finished[own].sum()
            tallies.finished_time[batch, 0, j] = finished_time[own].sum()
        if not plan.finished:
            tallies.finished_jobs[batch] = tallies.finished_time[batch] = np.nan
