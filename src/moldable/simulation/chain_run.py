"""How are replications of a memoryless system run? Lanes in, tallies out."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from moldable.errors import SimulationError
from moldable.hull import Floats
from moldable.simulation.outcomes import alias_table, columns_needed
from moldable.simulation.plan import Plan, Report, Tallies, joined
from moldable.simulation.start import initial_counts
from moldable.simulation.system import System
from moldable.workload import Workload

CARRY: Final = 4e-12
"""What is left of a share's precision beside the largest code, a few times over."""
TICKS: Final = 16
"""Ticks between two looks at the counts: they change little meanwhile, so nothing is lost."""
FEWEST: Final = 64
"""Looks in a window, at the least: short windows are looked at more often."""
SLICE: Final = 1 << 20
"""Ticks between two words to the caller: some tenths of a second."""


@final
@dataclass(frozen=True, eq=False)
class ChainModel:
    """The chain of one pool of servers.

    Attributes:
        rates: rate at which a job in each slot completes its phase; a slot is a kind and a phase.
        widths: servers held in each slot.
        jumps: cumulative probabilities of the next phase, slot by slot.
        phases: how many phases a size has.
        residual: phase of a running job in equilibrium, by class.
        arrival_rate: of all classes.
        total_rate: of the uniform clock.
        outcomes: probability of each outcome of an arrival by idle servers: slots, then blocked
            jobs of each class.
    """

    rates: Floats
    widths: Floats
    jumps: Floats
    phases: int
    residual: Floats
    arrival_rate: float
    total_rate: float
    outcomes: Floats


def chain_model(system: System) -> ChainModel | None:
    """Describe a shared pool as a chain, or None if some size law has no phases."""
    laws = [job_class.size.phases for job_class in system.workload.classes]
    if any(law is None for law in laws):
        return None
    present = [law for law in laws if law is not None]
    phases = max(len(law.alpha) for law in present)
    start = np.zeros((len(present), phases))
    jump = np.zeros((len(present), phases, phases))
    leave = np.ones((len(present), phases))
    residual = np.zeros((len(present), phases))
    for j, law in enumerate(present):
        alpha, generator = np.array(law.alpha, dtype=float), np.array(law.T, dtype=float)
        size = alpha.size
        start[j, :size], leave[j, :size] = alpha, -np.diag(generator)
        off = generator - np.diag(np.diag(generator))
        jump[j, :size, :size] = np.cumsum(off, axis=1) / leave[j, :size, None]
        jump[j, :size, size:] = jump[j, :size, size - 1 : size]
        share = np.linalg.solve(-generator.T, alpha)
        residual[j, :size] = share / share.sum()
    owner = system.kind_class
    rates = leave[owner] / system.kind_scale[:, None]
    widths = np.repeat(system.kind_width.astype(float), phases)
    arrival = sum(job_class.arrival_rate for job_class in system.workload.classes)
    fastest = float(np.max(rates.ravel() / widths))
    return ChainModel(
        rates.ravel(),
        widths,
        jump[owner].ravel(),
        phases,
        residual,
        arrival,
        arrival + system.servers * fastest,
        _outcomes(system, start),
    )


def _outcomes(system: System, start: Floats) -> Floats:
    classes = system.workload.classes
    total = sum(job_class.arrival_rate for job_class in classes)
    reach = max(rows.shape[0] for rows in system.wishes) - 1
    kinds, phases = system.kind_width.size, start.shape[1]
    outcomes = np.zeros((reach + 1, kinds * phases + len(classes)))
    for j, job_class in enumerate(classes):
        rows = system.wishes[j][np.minimum(np.arange(reach + 1), system.wishes[j].shape[0] - 1)]
        share = job_class.arrival_rate / total
        outcomes[:, : kinds * phases] += share * np.kron(rows, start[j])
        blocked = np.clip(1.0 - rows.sum(axis=1), 0.0, 1.0)
        blocked[blocked < 1e-12] = 0.0  # noqa: PLR2004 - rounding, not blocking
        outcomes[:, kinds * phases + j] = share * blocked
    normal: Floats = outcomes / outcomes.sum(axis=1, keepdims=True)
    return normal


def run_chain(plan: Plan, replications: tuple[int, ...], report: Report | None = None) -> Tallies:
    """Run replications of a memoryless system; `report` hears which share is done."""
    window = plan.jobs / plan.system.workload.arrival_rate
    if plan.system.shared or len(plan.system.pools) == 1:
        return _run_pool(plan, replications, window, 0, report)
    # Classes with servers and Poisson arrivals of their own do not meet: one chain for each, over
    # one common time.
    tallies = Tallies.empty(plan, replications)
    tallies.time[:] = window
    seconds = 0.0
    for j in range(len(plan.system.pools)):
        own = dataclasses.replace(plan, system=_alone(plan.system, j))
        part = _run_pool(own, replications, window, j, report)
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


def _alone(system: System, j: int) -> System:
    """Return one class and its own servers as a system."""
    kinds = system.kind_class == j
    return dataclasses.replace(
        system,
        workload=Workload((system.workload.classes[j],)),
        servers=system.pools[j],
        pools=(system.pools[j],),
        shared=True,
        kind_class=np.zeros(int(kinds.sum()), dtype=np.int64),
        kind_width=system.kind_width[kinds],
        kind_scale=system.kind_scale[kinds],
        wishes=(system.wishes[j][:, kinds],),
    )


def _run_pool(
    plan: Plan, replications: tuple[int, ...], window: float, part: int, report: Report | None
) -> Tallies:
    from moldable.kernels.count_chain import LANES

    model = chain_model(plan.system)
    if model is None:
        raise SimulationError("the chain kernel needs exponential or phase-type sizes")
    groups = [replications[i : i + LANES] for i in range(0, len(replications), LANES)]
    clock = _Clock(model, window, plan.warmup, report)
    return joined([_run_lanes(plan, model, group, part, clock) for group in groups])


@final
class _Clock:
    """How a window is cut into blocks of ticks, and blocks into slices between two words."""

    def __init__(
        self, model: ChainModel, window: float, warmup: float, report: Report | None
    ) -> None:
        total = window * model.total_rate
        self.ticks = max(1, min(TICKS, math.floor(total / FEWEST)))
        self.blocks = max(1, round(total / self.ticks))
        self.warm = math.ceil(warmup * model.total_rate / self.ticks)
        self.time = self.blocks * self.ticks / model.total_rate
        self.report = report

    def slices(self, blocks: int) -> Iterator[int]:
        """Cut blocks into runs of a fraction of a second, telling how far it is after each."""
        size = max(1, SLICE // self.ticks)
        for begin in range(0, blocks, size):
            yield min(size, blocks - begin)
            if self.report is not None:
                self.report(min(1.0, (begin + size) / blocks))


def _run_lanes(
    plan: Plan, model: ChainModel, group: tuple[int, ...], part: int, clock: _Clock
) -> Tallies:
    from moldable.kernels import count_chain as kernel

    slots, classes = model.rates.size, len(plan.system.workload.classes)
    buffer = np.zeros((kernel.JOBS + 2 * slots + classes, kernel.LANES))
    words = buffer.view(np.uint64)
    _seed_lanes(plan, model, group, part, buffer)
    counts = buffer[kernel.JOBS + slots :]
    sums = np.zeros(slots * kernel.LANES)
    fixed = _kernel_arguments(model, classes)
    tallies = Tallies.empty(plan, group)
    started = time.thread_time()
    with np.errstate(over="ignore"):  # the generator's sums wrap around; only seen with the JIT off
        flat = (words.ravel(), buffer.ravel())
        for blocks in clock.slices(clock.warm):
            kernel.count_chain(*flat, *fixed, blocks, clock.ticks, sums)
        for batch in range(plan.batches):
            counts[:], sums[:] = 0.0, 0.0
            for blocks in clock.slices(clock.blocks):
                kernel.count_chain(*flat, *fixed, blocks, clock.ticks, sums)
            _tally(tallies, batch, model, counts, sums / clock.blocks)
    for j in range(classes):
        accepted = tallies.granted[..., plan.system.kind_class == j].sum(axis=-1)
        tallies.arrived[..., j] = accepted + tallies.blocked[..., j]
    tallies.time[:] = clock.time
    _refuse_lost_servers(plan, model, buffer[:, : len(group)])
    return dataclasses.replace(tallies, seconds=time.thread_time() - started)


def _kernel_arguments(model: ChainModel, classes: int) -> tuple[object, ...]:
    from moldable.kernels.count_chain import CODES

    table = alias_table(model.outcomes, columns_needed(model.outcomes))
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
        float(packed.shape[0] - 1),
        tuple(model.rates.tolist()),
        tuple(model.widths.tolist()),
        tuple(model.jumps.tolist()) if model.phases > 1 else (0.0,),
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
        counts = initial_counts(plan.system, plan.start, rng)
        for kind, count in enumerate(counts.tolist()):
            law = model.residual[plan.system.kind_class[kind]]
            spread = rng.multinomial(count, law) if model.phases > 1 else [count]
            slot = kernel.JOBS + kind * model.phases
            buffer[slot : slot + model.phases, lane] = spread
        buffer[kernel.IDLE, lane] -= counts @ plan.system.kind_width


def _tally(
    tallies: Tallies, batch: int, model: ChainModel, counts: Floats, mean_jobs: Floats
) -> None:
    from moldable.kernels.count_chain import LANES

    lanes, slots = len(tallies.replications), model.rates.size
    kinds = slots // model.phases

    def by_kind(rows: Floats) -> Floats:
        return np.asarray(rows.reshape(kinds, model.phases, LANES).sum(axis=1)[:, :lanes].T)

    tallies.granted[batch] = by_kind(counts[:slots])
    tallies.mean_jobs[batch] = by_kind(mean_jobs)
    tallies.blocked[batch] = counts[slots:, :lanes].T
    tallies.booked[batch] = tallies.finished_jobs[batch] = tallies.finished_time[batch] = np.nan


def _refuse_lost_servers(plan: Plan, model: ChainModel, buffer: Floats) -> None:
    from moldable.kernels.count_chain import IDLE, JOBS

    held = model.widths @ buffer[JOBS : JOBS + model.rates.size]
    all_there = np.array_equal(held + buffer[IDLE], np.full(buffer.shape[1], plan.system.servers))
    if not all_there or buffer[IDLE].min() < 0.0:
        raise SimulationError("servers were not conserved: this is a bug, please report it")
