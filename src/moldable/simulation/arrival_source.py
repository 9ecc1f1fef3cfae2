"""Draw the arrivals of one replication in blocks: times, sizes, classes and uniform numbers.

Kernels draw nearly everything; only size distributions and arrival processes that they do not know
are drawn in Python. Blocks have a fixed size and are split, never redrawn, so the end of a warm-up
or the start of a batch changes nothing in the arrivals.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.errors import SimulationError
from moldable.model.arrivals import Arrivals, MarkovModulated, Poisson, Renewal
from moldable.model.scenario import Scenario
from moldable.model.sizes import Exponential
from moldable.simulation.alias_table import alias_table
from moldable.simulation.samplers import NOTHING, sampler, sampler_arrays
from moldable.system.loss_system import System

BLOCK: Final = 8192
"""Arrivals drawn at once: small enough for the cache, large enough to amortise the calls."""
LATEST: Final = 2.0**44
"""Time at which neighbouring numbers are 0.4 % of a mean gap apart: arrivals would coincide."""
MOST_CHANGES: Final = 1000.0
"""Changes of level between two arrivals: more would take minutes for a block of arrivals, during
which Ctrl-C has no effect."""
NO_LABELS: Ints = np.zeros(0, dtype=np.int64)

TimeSampler = tuple[Floats, float, tuple[object, ...], tuple[Floats, Floats, Floats]]


class Block(NamedTuple):
    """Consecutive arrivals: the first arguments of the kernel `bucket_ring`."""

    times: Floats
    sizes: Floats
    labels: Ints
    picks: Floats

    def part(self, begin: int, end: int) -> Block:
        """Return a part; empty arrays, which mean that nothing is chosen, stay empty."""
        times, sizes, labels, picks = self
        return Block(times[begin:end], sizes[begin:end], labels[begin:end], picks[begin:end])


class ArrivalSource:
    """The arrivals of one replication.

    Attributes:
        now: the time of the last arrival taken.
        arrived: jobs of each class taken so far.
        seconds: processor time spent drawing.
        by_kernel: whether a kernel can draw everything.
        scale: factor by which times are multiplied.
    """

    def __init__(
        self, system: System, rng: np.random.Generator, *, scale: float, draws: bool
    ) -> None:
        classes, arrivals = system.workload.classes, system.arrivals
        rates = system.workload.rates
        rate = float(rates.sum())
        self.system, self.rng, self.given = system, rng, arrivals.labels
        self.scale = scale
        table = alias_table(rates[None, :] / rates.sum(), rates.size)
        # No table means that the classes are given.
        self.choice = tuple(rows[0, : rates.size if self.given is None else 0] for rows in table)
        self.laws = [job_class.size for job_class in classes]
        if all(law == self.laws[0] for law in self.laws[1:]):
            del self.laws[1:]
        samplers = [sampler(law) for law in self.laws]
        self.samplers = sampler_arrays(samplers)
        self.in_python = [j for j, one in enumerate(samplers) if not one.compiled]
        self.time_sampler = time_sampler(arrivals, rate, rng, scale)
        self.stream = None if self.time_sampler else arrivals.stream(rate, rng, scale)
        self.by_kernel = self.time_sampler is not None and not self.in_python
        # One block is used up before the next is drawn, so all share the same memory.
        labels = np.empty(BLOCK, np.int64) if len(classes) > 1 else NO_LABELS
        picks = np.empty(BLOCK) if draws else NOTHING
        self.memory = Block(np.empty(BLOCK), np.empty(BLOCK), labels, picks)
        self.block, self.position, self.drawn = self.memory.part(0, 0), 0, 0
        self.now, self.seconds = 0.0, 0.0
        self.arrived = np.zeros(len(classes), dtype=np.int64)

    @property
    def steps_per_job(self) -> float:
        """Steps that a kernel takes to draw one job, relative to Poisson arrivals."""
        arrivals = self.system.arrivals
        if not isinstance(arrivals, MarkovModulated):
            return 1.0
        return 1.0 + arrivals.changes(self.system.workload.arrival_rate)

    def left(self) -> int:
        """Return how many arrivals of the current block have not been taken."""
        return self.block.times.size - self.position

    def more(self) -> bool:
        """Draw another block if the current one is used up; return False if a list has ended."""
        if self.left() > 0:
            return True
        started = time.thread_time()
        self.block, self.position = self._draw(), 0
        self.seconds += time.thread_time() - started
        return self.left() > 0

    def take(
        self, most: float = math.inf, end: float = math.inf, least: float = 0.0
    ) -> Iterator[Block]:
        """Yield the next arrivals up to a time, but at least and at most the given numbers."""
        taken = self.drawn - self.left()
        while self.drawn - self.left() < taken + most and self.more():
            size = self.block.times.size
            before = self.drawn - size - taken
            stop = int(np.searchsorted(self.block.times, end, side="right"))
            stop = int(min(max(stop, least - before), most - before, size))
            if stop > self.position:
                yield self._take_until(stop)
            if self.position < size:
                return

    def run(self, count: int, ring: tuple[object, ...]) -> None:
        """Let the kernel draw and run jobs, given the other arguments of `bucket_ring`."""
        from moldable.kernels.bucket_ring import NOW, draw_and_run

        assert self.time_sampler is not None  # noqa: S101 - by_kernel
        drawn = (self.time_sampler, self.choice, self.samplers)
        draw_and_run(self.rng, count, self.arrived, *drawn, tuple(self.memory), ring)
        self._advance(float(self.time_sampler[0][NOW]))

    def _take_until(self, stop: int) -> Block:
        part = self.block.part(self.position, stop)
        self._advance(float(part.times[-1]))
        if part.labels.size:
            self.arrived += np.bincount(part.labels, minlength=self.arrived.size)
        else:
            self.arrived[0] += stop - self.position
        self.position = stop
        return part

    def _advance(self, now: float) -> None:
        if not now < LATEST:
            raise SimulationError(
                f"an arrival came {now:.3g} mean gaps after the start, where floating point "
                f"cannot resolve the times between arrivals; shorten the pauses of the arrivals"
            )
        self.now = now

    def _draw(self) -> Block:
        from moldable.kernels.bucket_ring import draw_jobs, draw_times

        block = self.memory
        if self.stream is None:
            draw_times(self.rng, block.times, *(self.time_sampler or ()))
        else:
            times = self.stream.take(BLOCK)
            block = block.part(0, times.size)._replace(times=times)
            if self.given is not None and block.labels.size:
                block.labels[:] = self.given[self.drawn : self.drawn + times.size]
        draw_jobs(self.rng, *block[1:], self.choice, self.samplers)
        self.drawn += block.times.size
        for j in self.in_python:
            own = block.labels == j if len(self.laws) > 1 else slice(None)
            block.sizes[own] = self.laws[j].sample(self.rng, block.sizes[own].size)
        return block


def time_sampler(
    arrivals: Arrivals, rate: float, rng: np.random.Generator, scale: float
) -> TimeSampler | None:
    """Return the last arguments of the kernel's `draw_times`, or None if it cannot draw them.

    The arrivals start in equilibrium. The first array is the state of this realisation, which the
    kernel updates.

    Args:
        arrivals: the process.
        rate: its mean rate.
        rng: draws the initial state.
        scale: factor by which times are multiplied.
    """
    gap, levels = sampler(Exponential()), (NOTHING, NOTHING, np.zeros((0, 0)))
    first, level, left = -1.0, 0, 0.0
    match arrivals:
        case Poisson():
            pass
        case Renewal():
            gap = sampler(arrivals.gap)
            if not gap.compiled:
                return None
            first = arrivals.first_gap(rng)
        case MarkovModulated():
            levels = _levels(arrivals, rate, scale)
            level = arrivals.first_level(rng)
            left = levels[1][level] * rng.standard_exponential()
        case _:
            return None
    # Copied, because numba compiles another version for read-only numbers.
    gap = gap._replace(numbers=gap.numbers.copy())
    return np.array([0.0, first, level, left]), scale / rate, tuple(gap), levels


def _levels(arrivals: MarkovModulated, rate: float, scale: float) -> tuple[Floats, Floats, Floats]:
    """Return mean gaps and stays in each level, and cumulative probabilities of jumps."""
    refuse_fast_changes(arrivals, rate)
    leaving = arrivals.leaving()
    total = leaving.sum(axis=1)
    with np.errstate(divide="ignore"):  # gaps are infinite in a level without arrivals
        gaps = scale / arrivals.rates(rate)
    return gaps, scale / total, np.cumsum(leaving, axis=1) / total[:, None]


def refuse_fast_changes(arrivals: Arrivals, rate: float) -> None:
    """Refuse levels that change so often between two arrivals that drawing them takes minutes."""
    changes = arrivals.changes(rate) if isinstance(arrivals, MarkovModulated) else 0.0
    if not changes <= MOST_CHANGES:
        raise SimulationError(
            f"the level of the arrivals changes up to {changes:.3g} times between two arrivals, "
            f"more than the {MOST_CHANGES:g} that are followed; replace levels that alternate "
            f"faster than jobs arrive by one level of their mean rate"
        )


def refuse_bad_labels(scenario: Scenario) -> None:
    """Refuse arrivals of classes that the workload does not have."""
    labels, classes = scenario.arrivals.labels, scenario.workload.classes
    if labels is not None and int(labels.max()) >= len(classes):
        raise SimulationError(
            f"an arrival has class {int(labels.max())}, but the workload has only "
            f"{len(classes)} classes, counted from 0"
        )
