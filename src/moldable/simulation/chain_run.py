"""Run replications of a system with exponential or phase-type sizes, several in lock step."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Iterator
from typing import Any, Final, final

import numpy as np

from moldable.arrays import Floats
from moldable.errors import SimulationError
from moldable.simulation.alias_table import alias_table, columns_needed
from moldable.simulation.plan import Plan, Report, Tallies, joined, no_report, report_part
from moldable.simulation.start import Start, initial_counts
from moldable.system.count_model import ChainModel, chain_model
from moldable.system.loss_system import System, by_pool

ROUNDING: Final = 4e-12
"""Precision of a probability that is packed with the largest code, a few times over."""
TICKS: Final = 16
"""Ticks between two samples of the counts, which change little meanwhile."""
FEWEST: Final = 64
"""Fewest samples in a window: short windows are sampled more often."""
SLICE: Final = 1 << 20
"""Ticks between two progress reports: some tenths of a second."""
LANE_SETS: Final = (8, 16, 32)
"""Replications that run in lock step: 32 are fastest, 8 cost about twice as much each."""


def run_chain(plan: Plan, replications: tuple[int, ...], report: Report = no_report) -> Tallies:
    """Run replications; `report` is called with the share that is done."""
    window = plan.jobs / plan.system.workload.arrival_rate
    parts = by_pool(plan.system)
    if len(parts) == 1:
        return _run_pool(plan, replications, window, 0, report)
    # Classes with their own servers and Poisson arrivals are independent: one chain for each, over
    # the same time.
    tallies = Tallies.empty(plan, replications)
    tallies.time[:] = window
    seconds = 0.0
    for j, alone in enumerate(parts):
        own = dataclasses.replace(plan, system=alone)
        part = _run_pool(own, replications, window, j, report_part(report, j, len(parts)))
        kinds = plan.system.kind_class == j
        tallies.arrived[..., j] = part.arrived[..., 0]
        tallies.blocked[..., j] = part.blocked[..., 0]
        tallies.granted[..., kinds] = part.granted
        tallies.mean_jobs[..., kinds] = part.mean_jobs
        seconds += part.seconds
    tallies.booked[:] = tallies.finished_jobs[:] = tallies.finished_time[:] = np.nan
    return dataclasses.replace(tallies, seconds=seconds)


def _run_pool(
    plan: Plan, replications: tuple[int, ...], window: float, part: int, report: Report
) -> Tallies:
    model = chain_model(plan.system)
    if model is None:
        raise SimulationError("the chain kernel needs exponential or phase-type sizes")
    most = LANE_SETS[-1]
    groups = [replications[i : i + most] for i in range(0, len(replications), most)]
    clock = _Clock(model, window, plan, len(groups), report)
    return joined([_run_lanes(plan, model, group, part, clock) for group in groups])


@final
class _Clock:
    """Divides a window into blocks of ticks, and blocks into slices between progress reports."""

    def __init__(
        self, model: ChainModel, window: float, plan: Plan, groups: int, report: Report
    ) -> None:
        total = window * model.total_rate
        self.ticks = max(1, min(TICKS, math.floor(total / FEWEST)))
        self.blocks = max(1, round(total / self.ticks))
        self.warm = math.ceil(plan.warmup * model.total_rate / self.ticks)
        self.time = self.blocks * self.ticks / model.total_rate
        self.past, self.all = 0, groups * (self.warm + plan.batches * self.blocks)
        self.report = report

    def slices(self, blocks: int) -> Iterator[int]:
        """Divide blocks into runs of a fraction of a second, and report after each."""
        most = max(1, SLICE // self.ticks)
        for begin in range(0, blocks, most):
            size = min(most, blocks - begin)
            yield size
            self.past += size
            self.report(self.past / self.all)


def _run_lanes(
    plan: Plan, model: ChainModel, group: tuple[int, ...], part: int, clock: _Clock
) -> Tallies:
    from moldable.kernels import count_chain as kernel

    slots, classes, used = model.rates.size, len(plan.system.workload.classes), len(group)
    lanes = next(lanes for lanes in LANE_SETS if lanes >= used)
    buffer = _initial_buffer(plan, model, group, part, lanes)
    counts = buffer[kernel.JOBS + slots :]
    sums = np.zeros((slots, lanes))
    fixed = kernel_arguments(model, lanes, classes)
    tallies = Tallies.empty(plan, group)

    def run(blocks: int) -> None:
        flat = buffer.ravel()
        kernel.count_chain(flat.view(np.uint64), flat, *fixed, blocks, clock.ticks, sums.ravel())

    def by_kind(rows: Floats) -> Floats:
        return np.asarray(rows[:, :used].reshape(-1, model.phases, used).sum(axis=1).T)

    with np.errstate(over="ignore"):  # the generator's sums wrap around; only seen with the JIT off
        run(0)  # compilation is not timed
        started = time.thread_time()
        for blocks in clock.slices(clock.warm):
            run(blocks)
        for batch in range(plan.batches):
            counts[:], sums[:] = 0.0, 0.0
            for blocks in clock.slices(clock.blocks):
                run(blocks)
            tallies.granted[batch] = by_kind(counts[:slots])
            tallies.mean_jobs[batch] = by_kind(sums / clock.blocks)
            tallies.blocked[batch] = counts[slots:, :used].T
    tallies.booked[:] = tallies.finished_jobs[:] = tallies.finished_time[:] = np.nan
    for j in range(classes):
        accepted = tallies.granted[..., plan.system.kind_class == j].sum(axis=-1)
        tallies.arrived[..., j] = accepted + tallies.blocked[..., j]
    tallies.time[:] = clock.time
    _check_servers(plan, model, buffer[:, :used])
    return dataclasses.replace(tallies, seconds=time.thread_time() - started)


def kernel_arguments(model: ChainModel, lanes: int, classes: int) -> tuple[Any, ...]:
    """Return the kernel's arguments that describe the model."""
    from moldable.kernels.count_chain import CODES

    count = model.outcomes.shape[1]
    if count > CODES:
        raise SimulationError(
            f"{count} outcomes of an arrival (kinds of jobs and classes) exceed the "
            f"{CODES} that the count chain can encode; use the bucket ring"
        )
    table = alias_table(model.outcomes, columns_needed(model.outcomes))
    # A probability within rounding of 1 would carry over into the code it is packed with.
    sure = table.threshold > 1.0 - ROUNDING
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


def _initial_buffer(
    plan: Plan, model: ChainModel, group: tuple[int, ...], part: int, lanes: int
) -> Floats:
    """Return the kernel's buffer with seeded generators and the initial jobs."""
    from moldable.kernels.count_chain import IDLE, JOBS

    slots, classes = model.rates.size, len(plan.system.workload.classes)
    buffer = np.zeros((JOBS + 2 * slots + classes, lanes))
    words = buffer.view(np.uint64)
    buffer[IDLE] = plan.system.servers
    words[0] = 1  # lanes without a replication need any state but zeros
    for lane, replication in enumerate(group):
        words[:4, lane] = plan.seeds(replication, 2 * part).generate_state(4, np.uint64)
        rng = np.random.default_rng(plan.seeds(replication, 2 * part + 1))
        jobs = initial_slots(plan.system, model, rng, plan.start)
        buffer[JOBS : JOBS + slots, lane] = jobs
        buffer[IDLE, lane] -= model.widths @ jobs
    return buffer


def initial_slots(
    system: System, model: ChainModel, rng: np.random.Generator, start: Start = "equilibrium"
) -> Floats:
    """Draw the number of jobs in each slot at time 0."""
    counts = initial_counts(system, start, rng)
    if model.phases == 1:
        return counts.astype(np.float64)
    laws = model.residual[system.kind_class]
    spread = [rng.multinomial(count, law) for count, law in zip(counts, laws, strict=True)]
    return np.concatenate(spread).astype(np.float64)


def _check_servers(plan: Plan, model: ChainModel, buffer: Floats) -> None:
    from moldable.kernels.count_chain import IDLE, JOBS

    held = model.widths @ buffer[JOBS : JOBS + model.rates.size]
    all_there = np.array_equal(held + buffer[IDLE], np.full(buffer.shape[1], plan.system.servers))
    if not all_there or buffer[IDLE].min() < 0.0:
        raise SimulationError("servers were not conserved: this is a bug, please report it")
