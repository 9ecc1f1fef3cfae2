"""How are replications of a memoryless system run? Lanes in, tallies out."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final, final

import numpy as np

from moldable.arrays import Floats
from moldable.errors import SimulationError
from moldable.simulation.outcomes import alias_table, columns_needed
from moldable.simulation.plan import Plan, Report, Tallies, joined
from moldable.simulation.start import Start, initial_counts
from moldable.system.count_model import ChainModel, chain_model
from moldable.system.loss_system import System, by_pool

CARRY: Final = 4e-12
"""What is left of a share's precision beside the largest code, a few times over."""
TICKS: Final = 16
"""Ticks between two looks at the counts: they change little meanwhile, so nothing is lost."""
FEWEST: Final = 64
"""Looks in a window, at the least: short windows are looked at more often."""
SLICE: Final = 1 << 20
"""Ticks between two words to the caller: some tenths of a second."""
LANE_SETS: Final = (8, 16, 32)
"""Replications that may run in lock step: 32 are fastest, 8 cost about twice as much each."""


def run_chain(plan: Plan, replications: tuple[int, ...], report: Report | None = None) -> Tallies:
    """Run replications of a memoryless system; `report` hears which share is done."""
    window = plan.jobs / plan.system.workload.arrival_rate
    parts = by_pool(plan.system)
    if len(parts) == 1:
        return _run_pool(plan, replications, window, 0, report)
    # Classes with servers and Poisson arrivals of their own do not meet: one chain for each, over
    # one common time.
    tallies = Tallies.empty(plan, replications)
    tallies.time[:] = window
    seconds = 0.0
    for j, alone in enumerate(parts):

        def tell(share: float, finished: int = j) -> None:
            if report is not None:
                report((finished + share) / len(parts))

        own = dataclasses.replace(plan, system=alone)
        part = _run_pool(own, replications, window, j, tell)
        kinds = plan.system.kind_class == j
        tallies.arrived[..., j], tallies.blocked[..., j] = (
            part.arrived[..., 0],
            part.blocked[..., 0],
        )
        tallies.granted[..., kinds] = part.granted
        tallies.mean_jobs[..., kinds] = part.mean_jobs
        seconds += part.seconds
    tallies.booked[:] = tallies.finished_jobs[:] = tallies.finished_time[:] = np.nan
    return dataclasses.replace(tallies, seconds=seconds)


def _run_pool(
    plan: Plan, replications: tuple[int, ...], window: float, part: int, report: Report | None
) -> Tallies:
    model = chain_model(plan.system)
    if model is None:
        raise SimulationError("the chain kernel needs exponential or phase-type sizes")
    most = LANE_SETS[-1]
    groups = [replications[i : i + most] for i in range(0, len(replications), most)]
    clock = _Clock(model, window, plan, len(groups), report)
    return joined([_run_lanes(plan, model, group, part, clock) for group in groups])


def _lanes_for(replications: int) -> int:
    """Return the smallest set of lanes that holds so many replications, or the largest of all."""
    return next((lanes for lanes in LANE_SETS if lanes >= replications), LANE_SETS[-1])


@final
class _Clock:
    """How a window is cut into blocks of ticks, and blocks into slices between two words."""

    def __init__(
        self, model: ChainModel, window: float, plan: Plan, groups: int, report: Report | None
    ) -> None:
        total = window * model.total_rate
        self.ticks = max(1, min(TICKS, math.floor(total / FEWEST)))
        self.blocks = max(1, round(total / self.ticks))
        self.warm = math.ceil(plan.warmup * model.total_rate / self.ticks)
        self.time = self.blocks * self.ticks / model.total_rate
        self.past, self.all = 0, groups * (self.warm + plan.batches * self.blocks)
        self.report = report

    def slices(self, blocks: int) -> Iterator[int]:
        """Cut blocks into runs of a fraction of a second, telling how far all is after each."""
        most = max(1, SLICE // self.ticks)
        for begin in range(0, blocks, most):
            size = min(most, blocks - begin)
            yield size
            self.past += size
            if self.report is not None:
                self.report(self.past / self.all)


def _run_lanes(
    plan: Plan, model: ChainModel, group: tuple[int, ...], part: int, clock: _Clock
) -> Tallies:
    from moldable.kernels import count_chain as kernel

    slots, classes = model.rates.size, len(plan.system.workload.classes)
    lanes = _lanes_for(len(group))
    buffer = np.zeros((kernel.JOBS + 2 * slots + classes, lanes))
    words = buffer.view(np.uint64)
    _seed_lanes(plan, model, group, part, buffer)
    counts = buffer[kernel.JOBS + slots :]
    sums = np.zeros((slots, lanes))
    fixed = kernel_arguments([model], lanes, classes)
    tallies = Tallies.empty(plan, group)
    with np.errstate(over="ignore"):  # the generator's sums wrap around; only seen with the JIT off
        flat = (words.ravel(), buffer.ravel())
        kernel.count_chain(*flat, *fixed, 0, clock.ticks, sums.ravel())  # compiling is not running
        started = time.thread_time()
        for blocks in clock.slices(clock.warm):
            kernel.count_chain(*flat, *fixed, blocks, clock.ticks, sums.ravel())
        for batch in range(plan.batches):
            counts[:], sums[:] = 0.0, 0.0
            for blocks in clock.slices(clock.blocks):
                kernel.count_chain(*flat, *fixed, blocks, clock.ticks, sums.ravel())
            _tally(tallies, batch, model, counts, sums / clock.blocks)
    for j in range(classes):
        accepted = tallies.granted[..., plan.system.kind_class == j].sum(axis=-1)
        tallies.arrived[..., j] = accepted + tallies.blocked[..., j]
    tallies.time[:] = clock.time
    _refuse_lost_servers(plan, model, buffer[:, : len(group)])
    return dataclasses.replace(tallies, seconds=time.thread_time() - started)


def kernel_arguments(models: Sequence[ChainModel], lanes: int, classes: int) -> tuple[Any, ...]:
    """Return the kernel's arguments; the tables of several policies follow one another.

    The models differ in their outcomes only, which all have the same shape.
    """
    from moldable.kernels.count_chain import CODES

    model = models[0]
    outcomes = np.concatenate([each.outcomes for each in models])
    if outcomes.shape[1] > CODES:
        raise SimulationError(
            f"{outcomes.shape[1]} outcomes of an arrival (kinds of jobs and classes) exceed the "
            f"{CODES} that the count chain can tell apart; use the bucket ring"
        )
    table = alias_table(outcomes, columns_needed(outcomes))
    # A share within rounding of 1 would carry over into the code it is packed with.
    sure = table.threshold > 1.0 - CARRY
    second = np.where(sure, table.first, table.second)
    codes = table.first * CODES + second
    packed = codes + np.where(sure, 0.0, table.threshold)
    if not np.array_equal(np.floor(packed), codes):
        raise SimulationError("the outcomes could not be packed: this is a bug, please report it")
    return (
        packed.ravel(),
        float(table.columns),
        float(model.outcomes.shape[0] - 1),
        tuple(model.rates.tolist()),
        tuple(model.widths.tolist()),
        tuple(model.jumps.tolist()) if model.phases > 1 else (0.0,),
        (0,) * lanes,
        (0,) * model.phases,
        (0,) * classes,
        float(model.arrival_rate),
        float(model.total_rate),
    )


def _seed_lanes(
    plan: Plan, model: ChainModel, group: tuple[int, ...], part: int, buffer: Floats
) -> None:
    from moldable.kernels import count_chain as kernel

    words = buffer.view(np.uint64)
    buffer[kernel.IDLE] = plan.system.servers
    words[0] = 1  # lanes without a replication run along on any state but all zeros
    for lane, replication in enumerate(group):
        words[:4, lane] = plan.seeds(replication, 2 * part).generate_state(4, np.uint64)
        rng = np.random.default_rng(plan.seeds(replication, 2 * part + 1))
        start_lane(buffer, lane, plan.system, model, start=plan.start, rng=rng)


def start_lane(
    buffer: Floats,
    lane: int,
    system: System,
    model: ChainModel,
    *,
    start: Start,
    rng: np.random.Generator,
) -> None:
    """Let jobs run in an empty lane."""
    from moldable.kernels.count_chain import IDLE, JOBS

    spread = initial_slots(system, model, rng, start)
    buffer[JOBS : JOBS + spread.size, lane] = spread
    buffer[IDLE, lane] -= model.widths @ spread


def initial_slots(
    system: System, model: ChainModel, rng: np.random.Generator, start: Start = "equilibrium"
) -> Floats:
    """Draw how many jobs run in each slot at time 0."""
    counts = initial_counts(system, start, rng)
    if model.phases == 1:
        return counts.astype(np.float64)
    laws = model.residual[system.kind_class]
    spread = [rng.multinomial(count, law) for count, law in zip(counts, laws, strict=True)]
    return np.concatenate(spread).astype(np.float64)


def _tally(
    tallies: Tallies, batch: int, model: ChainModel, counts: Floats, mean_jobs: Floats
) -> None:
    used, slots = len(tallies.replications), model.rates.size

    def by_kind(rows: Floats) -> Floats:
        return np.asarray(rows[:, :used].reshape(-1, model.phases, used).sum(axis=1).T)

    tallies.granted[batch] = by_kind(counts[:slots])
    tallies.mean_jobs[batch] = by_kind(mean_jobs)
    tallies.blocked[batch] = counts[slots:, :used].T
    tallies.booked[batch] = tallies.finished_jobs[batch] = tallies.finished_time[batch] = np.nan


def _refuse_lost_servers(plan: Plan, model: ChainModel, buffer: Floats) -> None:
    from moldable.kernels.count_chain import IDLE, JOBS

    held = model.widths @ buffer[JOBS : JOBS + model.rates.size]
    all_there = np.array_equal(held + buffer[IDLE], np.full(buffer.shape[1], plan.system.servers))
    if not all_there or buffer[IDLE].min() < 0.0:
        raise SimulationError("servers were not conserved: this is a bug, please report it")
