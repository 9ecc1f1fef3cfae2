"""Which jobs arrive next, and how long are they? Random numbers, drawn block by block.

Kernels draw nearly everything; laws and arrivals that they do not know are asked in Python. Blocks
have a fixed size and are cut, never redrawn, so that where a warm-up ends or a batch begins changes
nothing in what arrives.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.errors import SimulationError
from moldable.model.arrivals import MarkovModulated
from moldable.model.sizes import SizeLaw
from moldable.simulation.drawn_arrivals import drawn_arrivals
from moldable.simulation.drawn_laws import NOTHING, drawn_law, drawn_laws
from moldable.simulation.outcomes import alias_table
from moldable.system.loss_system import System

BLOCK: Final = 8192
"""Arrivals drawn at once: small enough for the cache, large enough to amortise the calls."""
LATEST: Final = 2.0**44
"""Time at which neighbouring numbers are 0.4 % of a mean gap apart: arrivals would coincide."""
NO_LABELS: Ints = np.zeros(0, dtype=np.int64)
NO_COLUMNS = (NOTHING, NO_LABELS, NO_LABELS)
"""What classes are drawn from where they are given."""


class Block(NamedTuple):
    """Jobs that arrive one after the other, in the order of the kernel's arguments."""

    times: Floats
    sizes: Floats
    labels: Ints
    picks: Floats

    def cut(self, begin: int, end: int) -> Block:
        """Return a part; empty arrays, which mean that there is no choice, stay empty."""
        return Block(
            self.times[begin:end],
            self.sizes[begin:end],
            self.labels[begin:end],
            self.picks[begin:end],
        )


class Feed:
    """The arrivals of one replication.

    Attributes:
        now: the time of the last arrival handed out; times are multiplied by `scale`.
        arrived: jobs of each class handed out.
        seconds: processor time spent drawing.
    """

    def __init__(
        self, system: System, rng: np.random.Generator, *, scale: float, draws: bool
    ) -> None:
        classes = system.workload.classes
        rates = np.array([job_class.arrival_rate for job_class in classes])
        rate = float(rates.sum())
        self.system, self.rng, self.given = system, rng, system.arrivals.labels
        self.columns = _columns(rates) if self.given is None else NO_COLUMNS
        self.laws = _laws([job_class.size for job_class in classes])
        self.drawn_laws = drawn_laws(self.laws)
        self.missing = [j for j, law in enumerate(self.laws) if not drawn_law(law).known]
        self.arrivals = drawn_arrivals(system.arrivals, rate, rng, scale)
        self.clock = NOTHING if self.arrivals is None else self.arrivals[0]
        self.stream = None if self.arrivals else system.arrivals.stream(rate, rng, scale)
        # One block is used up before the next is drawn, so the same memory serves for all.
        labels = np.empty(BLOCK, np.int64) if len(classes) > 1 else NO_LABELS
        self.memory = Block(
            np.empty(BLOCK), np.empty(BLOCK), labels, np.empty(BLOCK) if draws else NOTHING
        )
        self.block, self.position, self.drawn = self.memory.cut(0, 0), 0, 0
        self.now, self.seconds = 0.0, 0.0
        self.arrived = np.zeros(len(classes), dtype=np.int64)

    def exhausted(self) -> bool:
        """Has a list of arrivals run out?"""
        return not self._more()

    def until(self, end: float, least: float = 0.0, most: float = math.inf) -> Iterator[Block]:
        """Hand out the arrivals up to a time, but at least and at most so many."""
        while end > 0.0 and self._more():
            before, size = self.drawn - self.block.times.size, self.block.times.size
            stop = int(np.searchsorted(self.block.times, end, side="right"))
            stop = int(min(max(stop, least - before), most - before, size))
            if stop > self.position:
                yield self._hand_out(stop)
            if self.position < size:
                return

    @property
    def slowness(self) -> float:
        """Steps that a kernel takes to draw one job, relative to Poisson arrivals."""
        arrivals = self.system.arrivals
        if not isinstance(arrivals, MarkovModulated):
            return 1.0
        return 1.0 + arrivals.changes(self.system.workload.arrival_rate)

    def left(self) -> int:
        """Return how many arrivals of the present block have not been handed out."""
        return self.block.times.size - self.position

    def by_kernel(self) -> bool:
        """Can a kernel draw everything by itself?"""
        return self.arrivals is not None and not self.missing

    def run(self, count: int, ring: tuple[object, ...]) -> None:
        """Let so many jobs arrive that the kernel draws by itself, given its other arguments."""
        from moldable.kernels.bucket_ring import NOW, drawn_ring

        drawn_ring(
            self.rng,
            count,
            self.arrived,
            self.arrivals,
            self.columns,
            self.drawn_laws,
            tuple(self.memory),
            ring,
        )
        self._advance(float(self.clock[NOW]))

    def next(self, count: int) -> Iterator[Block]:
        """Hand out the next arrivals; fewer when a list has run out."""
        while count > 0 and self._more():
            stop = min(self.position + count, self.block.times.size)
            count -= stop - self.position
            yield self._hand_out(stop)

    def _more(self) -> bool:
        if self.position < self.block.times.size:
            return True
        started = time.thread_time()
        self.block, self.position = self._draw(), 0
        self.seconds += time.thread_time() - started
        return self.block.times.size > 0

    def _hand_out(self, stop: int) -> Block:
        part = self.block.cut(self.position, stop)
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
                f"an arrival came {now:.3g} mean gaps after the start, where floating point does "
                f"not tell neighbouring arrivals apart; let the arrivals pause less long"
            )
        self.now = now

    def _draw(self) -> Block:
        from moldable.kernels.bucket_ring import draw_block, draw_jobs

        block = self.memory
        if self.arrivals is not None:
            draw_block(self.rng, *block, self.arrivals, self.columns, self.drawn_laws)
        elif self.stream is not None:
            times = self.stream.take(BLOCK)
            block = block.cut(0, times.size)._replace(times=times)
            if self.given is not None and block.labels.size:
                block.labels[:] = self.given[self.drawn : self.drawn + times.size]
            draw_jobs(self.rng, *block[1:], self.columns, self.drawn_laws)
        self.drawn += block.times.size
        self._draw_missing(block)
        return block

    def _draw_missing(self, block: Block) -> None:
        """Let laws that no kernel knows draw the sizes of their own jobs."""
        for j in self.missing:
            own = block.labels == j if len(self.laws) > 1 else slice(None)
            block.sizes[own] = self.laws[j].sample(self.rng, block.sizes[own].size)


def _columns(rates: Floats) -> tuple[Floats, Ints, Ints]:
    """Return what the class of a job is drawn from."""
    table = alias_table(rates[None, :] / rates.sum(), rates.size)
    return table.threshold[0], table.first[0], table.second[0]


def _laws(laws: list[SizeLaw]) -> list[SizeLaw]:
    """Return the law of each class, or a single one if they are all equal."""
    return laws[:1] if all(law == laws[0] for law in laws[1:]) else laws
