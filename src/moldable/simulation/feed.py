"""Which jobs arrive next, and how long are they? Random numbers, drawn block by block.

Blocks have a fixed size and are cut, never redrawn, so that where a warm-up ends or a batch begins
changes nothing in what arrives.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from moldable.hull import Floats, Ints
from moldable.simulation.drawn_laws import draw_sizes, drawn_laws
from moldable.simulation.outcomes import alias_table
from moldable.system import System

BLOCK = 8192
"""Arrivals drawn at once: small enough for the cache, large enough to amortise the calls."""


NO_LABELS: Ints = np.zeros(0, dtype=np.int64)


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
        self.system, self.rng, self.draws = system, rng, draws
        table = alias_table(rates[None, :] / rates.sum(), rates.size)
        self.columns = (table.threshold[0], table.first[0], table.second[0])
        self.laws = [job_class.size for job_class in classes]
        self.gap = scale / float(rates.sum())
        self.stream = system.arrivals.stream(float(rates.sum()), rng, scale)
        self.drawn_laws = drawn_laws(self.laws) if system.poisson else None
        self.drawn, self.drawn_until = 0, 0.0
        self.memory: tuple[Floats, Floats, Ints, Floats] | None = None
        nothing = np.zeros(0)
        self.block, self.position = Block(nothing, nothing, NO_LABELS, nothing), 0
        self.now, self.seconds = 0.0, 0.0
        self.arrived = np.zeros(len(classes), dtype=np.int64)

    def exhausted(self) -> bool:
        """Has a list of arrivals run out?"""
        return not self._more()

    def until(self, end: float) -> Iterator[Block]:
        """Hand out the arrivals up to a time."""
        while end > 0.0 and self._more():
            stop = int(np.searchsorted(self.block.times, end, side="right"))
            if stop > self.position:
                yield self._hand_out(stop)
            if self.position < self.block.times.size:
                return

    def left(self) -> int:
        """Return how many arrivals of the present block have not been handed out."""
        return self.block.times.size - self.position

    def by_kernel(self) -> bool:
        """Can a kernel draw the arrivals by itself?"""
        return self.drawn_laws is not None

    def run(self, count: int, ring: tuple[object, ...]) -> None:
        """Let so many jobs arrive that the kernel draws by itself, given its other arguments."""
        from moldable.kernels.bucket_ring import drawn_ring

        self.now = self.drawn_until = drawn_ring(
            self.rng,
            count,
            self.arrived,
            self.drawn_until,
            self.gap,
            self.columns,
            self.drawn_laws,
            self._memory(),
            ring,
        )

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
        self.now = float(part.times[-1])
        if len(self.laws) == 1:
            self.arrived[0] += stop - self.position
        else:
            self.arrived += np.bincount(part.labels, minlength=len(self.laws))
        self.position = stop
        return part

    def _draw(self) -> Block:
        if self.by_kernel():
            return self._draw_by_kernel()
        times = self.stream.take(BLOCK)
        labels = self._labels(times.size)
        sizes = self._sizes(labels, times.size)
        picks = self.rng.random(times.size) if self.draws else np.zeros(0)
        self.drawn += times.size
        return Block(times, sizes, labels, picks)

    def _draw_by_kernel(self) -> Block:
        from moldable.kernels.bucket_ring import draw_block

        block, classes, laws = Block(*self._memory()), self.columns, self.drawn_laws
        self.drawn_until = draw_block(self.rng, *block, self.drawn_until, self.gap, classes, laws)
        return block

    def _memory(self) -> tuple[Floats, Floats, Ints, Floats]:
        """One block is used up before the next is drawn, so the same memory serves for all."""
        if self.memory is None:
            picks = np.empty(BLOCK if self.draws else 0)
            labels = np.empty(BLOCK, np.int64) if len(self.laws) > 1 else NO_LABELS
            self.memory = (np.empty(BLOCK), np.empty(BLOCK), labels, picks)
        return self.memory

    def _labels(self, count: int) -> Ints:
        if len(self.laws) == 1:
            return NO_LABELS
        given = self.system.arrivals.labels
        if given is not None:
            return given[self.drawn : self.drawn + count]
        threshold, first, second = self.columns
        drawn = self.rng.random(count) * threshold.size
        column = drawn.astype(np.int64)
        below = drawn - column < threshold[column]
        return np.asarray(np.where(below, first[column], second[column]), dtype=np.int64)

    def _sizes(self, labels: Ints, count: int) -> Floats:
        if all(law == self.laws[0] for law in self.laws):
            return draw_sizes(self.laws[0], self.rng, count)
        sizes = np.empty(count)
        for j, law in enumerate(self.laws):
            own = labels == j
            sizes[own] = draw_sizes(law, self.rng, int(own.sum()))
        return sizes
