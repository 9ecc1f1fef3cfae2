"""Which jobs arrive next, and how long are they? Random numbers, drawn block by block.

Blocks have a fixed size and are cut, never redrawn, so that where a warm-up ends or a batch begins
changes nothing in what arrives.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from moldable.hull import Floats, Ints
from moldable.simulation.system import System
from moldable.sizes import Deterministic, Exponential, Lognormal, Pareto, PhaseType, SizeLaw

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
        self.shares = np.cumsum(rates) / rates.sum()
        self.laws = [job_class.size for job_class in classes]
        self.gap = scale / float(rates.sum())
        self.stream = system.arrivals.stream(float(rates.sum()), rng, scale)
        self.fast = _fast_law(self.laws[0]) if system.poisson and len(classes) == 1 else None
        self.drawn, self.drawn_until = 0, 0.0
        self.memory: Block | None = None
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

    def drawing(self) -> tuple[object, ...]:
        """Return what a kernel needs to draw on by itself, with memory to draw into."""
        block = self._memory()
        assert self.fast is not None  # noqa: S101 - only then does anybody ask
        return self.drawn_until, self.gap, *self.fast, *block

    def skip(self, count: int, now: float) -> None:
        """Take note of arrivals of a single class that a kernel has drawn for itself."""
        self.arrived[0] += count
        self.now = self.drawn_until = now

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
        if self.fast is not None:
            return self._draw_fast(self.fast)
        times = self.stream.take(BLOCK)
        labels = self._labels(times.size)
        sizes = self._sizes(labels, times.size)
        picks = self.rng.random(times.size) if self.draws else np.zeros(0)
        self.drawn += times.size
        return Block(times, sizes, labels, picks)

    def _draw_fast(self, fast: Drawn) -> Block:
        from moldable.kernels.bucket_ring import draw_block

        block = self._memory()
        times, sizes, _, picks = block
        draw_block(self.rng, times, sizes, picks, self.drawn_until, self.gap, *fast)
        self.drawn_until = float(times[-1])
        return block

    def _memory(self) -> Block:
        """One block is used up before the next is drawn, so the same memory serves for all."""
        if self.memory is None:
            picks = np.empty(BLOCK if self.draws else 0)
            self.memory = Block(np.empty(BLOCK), np.empty(BLOCK), NO_LABELS, picks)
        return self.memory

    def _labels(self, count: int) -> Ints:
        if len(self.laws) == 1:
            return NO_LABELS
        given = self.system.arrivals.labels
        if given is not None:
            return given[self.drawn : self.drawn + count]
        drawn = np.searchsorted(self.shares[:-1], self.rng.random(count), side="right")
        return drawn.astype(np.int64)

    def _sizes(self, labels: Ints, count: int) -> Floats:
        if all(law == self.laws[0] for law in self.laws):
            return _sample(self.laws[0], self.rng, count)
        sizes = np.empty(count)
        for j, law in enumerate(self.laws):
            own = labels == j
            sizes[own] = _sample(law, self.rng, int(own.sum()))
        return sizes


class Drawn(NamedTuple):
    """A law as the numbers a kernel draws it from, in the order of its arguments."""

    law: int
    location: float
    scale: float
    begin: Floats
    stay: Floats
    jumps: Floats


def _plain(law: int, location: float = 0.0, scale: float = 0.0) -> Drawn:
    return Drawn(law, location, scale, np.zeros(1), np.zeros(1), np.zeros((1, 1)))


def _phases(law: PhaseType) -> Drawn:
    from moldable.kernels.bucket_ring import PHASES

    generator = np.array(law.phases.T, dtype=np.float64)
    leave = -np.diag(generator)
    jumps = np.cumsum(generator + np.diag(leave), axis=1) / leave[:, None]
    return Drawn(PHASES, 0.0, 0.0, np.cumsum(law.phases.alpha), 1.0 / leave, jumps)


def _sample(law: SizeLaw, rng: np.random.Generator, count: int) -> Floats:
    """Draw sizes; a general phase-type law is walked in a kernel, numpy being slow at it."""
    if not isinstance(law, PhaseType):
        return law.sample(rng, count)
    from moldable.kernels.bucket_ring import draw_phases

    sizes = np.empty(count)
    draw_phases(rng, sizes, *_phases(law)[3:])
    return sizes


def _fast_law(law: SizeLaw) -> Drawn | None:
    """Return how a kernel draws the law by itself, if it can."""
    from moldable.kernels import bucket_ring as kernel

    if isinstance(law, Exponential):
        return _plain(kernel.EXPONENTIAL)
    if isinstance(law, Deterministic):
        return _plain(kernel.DETERMINISTIC)
    if isinstance(law, Lognormal):
        return _plain(kernel.LOGNORMAL, -0.5 * law.sigma**2, law.sigma)
    if isinstance(law, Pareto):
        return _plain(kernel.PARETO, math.log1p(-1.0 / law.shape), 1.0 / law.shape)
    return _phases(law) if isinstance(law, PhaseType) else None
