"""How are replications with any sizes and arrivals run? Blocks of draws in, tallies out."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.errors import SimulationError
from moldable.model.arrivals import ArrivalTimes
from moldable.simulation.feed import BLOCK, Block, Feed
from moldable.simulation.outcomes import alias_table, columns_needed
from moldable.simulation.plan import Plan, Report, Tallies, joined
from moldable.simulation.start import initial_counts
from moldable.system.loss_system import System

MOST_BUCKETS: Final = 26
"""Power of two beyond which a ring is not made longer; jobs then stay for several turns."""
SLICE: Final = 1 << 20
"""Jobs that the kernel draws for itself between two words to the caller; fewer if drawn slowly."""
FEWEST, MOST = 0.5, 4.0
"""Arrivals in a warm-up, relative to those expected in its time. Where gaps have no variance, one
of them may outlast the warm-up, or most be far shorter than their mean."""
CHUNK: Final = 1 << 16
"""Jobs put into the ring at once when a replication begins."""
FOREVER: Final = 1e12
"""Mean sizes that no replication lasts. What is left of a longer job is not told from that: heavy
tails leave more than numbers hold, and sums of it would swallow all other times."""
TURN: Final = 2.0
"""Mean execution times that the ring spans in one turn."""


class RingModel(NamedTuple):
    """The fixed arrays of the kernel, in the order of its arguments, and what sizes them."""

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
        """Return the arguments that describe the policy and the kinds."""
        return self[:10]


def ring_model(system: System) -> RingModel:
    """Lay out the tables of every class one after the other."""
    outcomes = [_with_blocked(rows) for rows in system.wishes]
    columns = max(columns_needed(rows) for rows in outcomes)
    tables = [alias_table(rows, columns) for rows in outcomes]
    kinds, classes = system.kind_width.size, np.arange(len(tables))
    sizes = [table.threshold.size for table in tables]
    first = np.concatenate([table.first.ravel() for table in tables])
    second = np.concatenate([table.second.ravel() for table in tables])
    rate, time_of_a_job = _pace(system)
    # A power of two: times in buckets then round as the times themselves do, and ties stay ties.
    per_time = 2.0 ** round(math.log2(rate))
    return RingModel(
        np.concatenate([table.threshold.ravel() for table in tables]),
        np.where(first == kinds, -1, first),
        np.where(second == kinds, -1, second),
        np.cumsum([0, *sizes[:-1]]),
        columns,
        np.array([rows.shape[0] - 1 for rows in outcomes]),
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
    """Add a column for the probability that nothing fits."""
    blocked = np.clip(1.0 - rows.sum(axis=1, keepdims=True), 0.0, 1.0)
    blocked[blocked < 1e-12] = 0.0  # noqa: PLR2004 - rounding, not blocking
    whole = np.hstack((rows, blocked))
    normal: Floats = whole / whole.sum(axis=1, keepdims=True)
    return normal


def _pace(system: System) -> tuple[float, float]:
    """Return arrivals per time and the mean execution time when nothing is short."""
    rates = np.array([job_class.arrival_rate for job_class in system.workload.classes])
    wished = np.array([system.wishes[j][-1, k] for k, j in enumerate(system.kind_class)])
    running = float(rates[system.kind_class] @ (wished * system.kind_scale))
    rate = float(rates.sum())
    if isinstance(system.arrivals, ArrivalTimes):
        times = np.asarray(system.arrivals.times)
        lasted = float(times[-1] - times[0])
        rate = times.size / lasted if lasted > 0.0 else rate
    return rate, max(running / float(rates.sum()), 1.0 / rate)


def run_ring(plan: Plan, replications: tuple[int, ...], report: Report | None = None) -> Tallies:
    """Run replications with any sizes and arrivals; `report` hears which share is done."""
    model = ring_model(plan.system)
    done: list[Tallies] = []
    for replication in replications:

        def tell(share: float, finished: int = len(done)) -> None:
            if report is not None:
                report((finished + share) / len(replications))

        done.append(_run_one(plan, model, replication, tell))
    return joined(done)


class _State(NamedTuple):
    """The running jobs of one replication: the kernel's own arrays."""

    heads: np.ndarray[tuple[int], np.dtype[np.int32]]
    following: np.ndarray[tuple[int], np.dtype[np.int32]]
    departure: Floats
    duration: Floats
    kind: np.ndarray[tuple[int], np.dtype[np.int32]]
    free: np.ndarray[tuple[int], np.dtype[np.int32]]
    cursors: Ints
    idle: Ints

    @classmethod
    def fresh(cls, model: RingModel, *, durations: bool) -> _State:
        most = int(sum(model.pools) // model.widths.min())
        free = np.arange(most - 1, -1, -1, dtype=np.int32)
        return cls(
            np.full(model.buckets, -1, np.int32),
            np.empty(most, np.int32),
            np.empty(most),
            np.zeros(most if durations else 0),
            np.empty(most, np.int32),
            free,
            np.array([0, most]),
            model.pools.astype(np.int64),
        )

    def put(self, model: RingModel, kind: int, durations: Floats) -> None:
        """Let jobs of one kind run from time 0 on."""
        from moldable.kernels.hanging_jobs import hang

        links = (self.heads, self.following, self.departure, self.kind, self.free, self.cursors)
        held = hang(kind, durations, model.widths, *links)
        self.idle[model.pool_of_kind[kind]] -= held

    def survey(self, kinds: int, now: float, since: float) -> _Survey:
        """Look at every job that hangs in the ring."""
        from moldable.kernels.hanging_jobs import survey

        held, young = np.zeros(kinds, np.int64), np.zeros(kinds, np.int64)
        found = _Survey(held, np.zeros(kinds), young, np.zeros(kinds))
        links = (self.heads, self.following, self.departure, self.duration, self.kind)
        survey(now, since, *links, *found)
        return found


class _Survey(NamedTuple):
    """What hangs in the ring, by kind.

    Attributes:
        held: jobs whose departure has not been looked up.
        left: time that those in the system still need.
        young: those among them that arrived after a given time, if run times are kept.
        young_time: their whole run time.
    """

    held: Ints
    left: Floats
    young: Ints
    young_time: Floats


def _run_one(plan: Plan, model: RingModel, replication: int, report: Report) -> Tallies:
    from moldable.kernels.bucket_ring import bucket_ring

    rng = np.random.Generator(np.random.SFC64(plan.seeds(replication, 0)))
    state = _State.fresh(model, durations=plan.finished)
    # What a policy starts from takes more or fewer draws: it must not shift those that follow.
    own = np.random.Generator(np.random.SFC64(plan.seeds(replication, 1)))
    _let_run(plan, model, state, own if plan.common else rng)
    draws = model.draws or plan.common
    feed = Feed(plan.system, rng, scale=model.buckets_per_time, draws=draws)
    tallies = Tallies.empty(plan, (replication,))
    planned = plan.jobs * plan.batches
    spent = 0.0

    def let_arrive(slices: Iterator[Block], batch: int, own: int = 0) -> None:
        """Let blocks of jobs arrive, then so many that the kernel draws itself."""
        nonlocal spent
        granted = np.zeros(model.widths.size, np.int64)
        blocked = np.zeros(model.reach.size, np.int64)
        arrays = (*model.tables(), *state, granted, tallies.booked[batch, 0], blocked)
        for block in slices:
            started = time.thread_time()
            bucket_ring(*block, *arrays)
            spent += time.thread_time() - started
            report(min(1.0, float(feed.arrived.sum()) / planned))
        most = max(1, int(SLICE / feed.slowness) // BLOCK) * BLOCK
        while own > 0:
            count = min(own, most)
            started = time.thread_time()
            feed.run(count, arrays)
            spent += time.thread_time() - started
            own -= count
            report(min(1.0, float(feed.arrived.sum()) / planned))
        tallies.granted[batch, 0], tallies.blocked[batch, 0] = granted, blocked

    let_arrive(_warmup(plan, model, feed), 0)
    if feed.exhausted():
        raise SimulationError(
            "the warm-up leaves nothing of the list of arrivals to count; shorten it"
        )
    for batch in range(plan.batches):
        tallies.booked[batch] = 0.0
        before = feed.arrived.copy()
        window = _Window(state, model, feed.now)
        ready = min(plan.jobs, feed.left()) if feed.by_kernel() else plan.jobs
        let_arrive(feed.next(ready), batch, plan.jobs - ready)
        tallies.arrived[batch, 0] = feed.arrived - before
        window.close(tallies, batch, feed.now, plan.system.kind_class)
    _refuse_lost_servers(model, state, feed.now)
    return dataclasses.replace(tallies, seconds=spent + feed.seconds)


def _warmup(plan: Plan, model: RingModel, feed: Feed) -> Iterator[Block]:
    """Hand out the arrivals that are not counted."""
    end = plan.warmup * model.buckets_per_time
    if isinstance(plan.system.arrivals, ArrivalTimes):  # as many as there are in the list
        return feed.until(end)
    expected = plan.warmup * plan.system.workload.arrival_rate
    return feed.until(end, FEWEST * expected, MOST * expected + BLOCK)


def _let_run(plan: Plan, model: RingModel, state: _State, rng: np.random.Generator) -> None:
    """Put the first jobs into the ring, a few at a time: a large cluster holds many."""
    system = plan.system
    counts = initial_counts(system, plan.start, rng)
    for kind, count in enumerate(counts.tolist()):
        law = system.workload.classes[system.kind_class[kind]].size
        for begin in range(0, count, CHUNK):
            left = law.sample_residual(rng, min(CHUNK, count - begin))
            state.put(model, kind, np.minimum(left, FOREVER) * model.scales[kind])


class _Window:
    """The time between two arrivals, over which jobs in the system are averaged exactly.

    The time spent in the system during the window is what was booked in it, plus what the jobs
    present at its start had left, minus what those present at its end have left.
    """

    def __init__(self, state: _State, model: RingModel, now: float) -> None:
        self.state, self.model, self.opened = state, model, now
        self.left_before = state.survey(model.widths.size, now, now).left

    def close(self, tallies: Tallies, batch: int, now: float, kind_class: Ints) -> None:
        """Write the averages of the window, and the jobs that began and ended within it."""
        lasted = now - self.opened
        per_time = self.model.buckets_per_time
        ring = self.state.survey(self.model.widths.size, now, self.opened)
        spent = tallies.booked[batch, 0] + self.left_before - ring.left
        tallies.mean_jobs[batch, 0] = spent / lasted if lasted > 0.0 else 0.0
        tallies.time[batch, 0] = lasted / per_time
        tallies.booked[batch, 0] /= per_time
        finished = tallies.granted[batch, 0] - ring.young
        time_of_those = tallies.booked[batch, 0] - ring.young_time / per_time
        for j in range(tallies.arrived.shape[-1]):
            own = kind_class == j
            known = bool(self.state.duration.size)
            tallies.finished_jobs[batch, 0, j] = finished[own].sum() if known else np.nan
            tallies.finished_time[batch, 0, j] = time_of_those[own].sum() if known else np.nan


def _refuse_lost_servers(model: RingModel, state: _State, now: float) -> None:
    held = state.survey(model.widths.size, now, now).held * model.widths
    pools = np.bincount(model.pool_of_kind, held, model.pools.size)
    if not np.array_equal(pools + state.idle, model.pools):
        raise SimulationError("servers were not conserved: this is a bug, please report it")
