"""Solve a large system with two kinds of jobs on the states that matter.

The number of wide jobs and the idle servers vary by a few standard deviations only. States outside
a window around them are left out, and the window grows until what is neglected is bounded by a
probability below every digit that is reported.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from moldable.arrays import Floats, Ints, Whole
from moldable.errors import ChainError
from moldable.exact.lyapunov import NEGLIGIBLE, LyapunovBound, TwoSlots
from moldable.exact.states import MOST_STATES, Chain, refuse_too_many
from moldable.exact.stationary import FACTORISED, stationary
from moldable.model.assumptions import ROUNDING
from moldable.system.count_model import ChainModel

DEVIATIONS: Final = 9.0
"""Half of the first window, in standard deviations."""
WIDENINGS: Final = 40
ATTEMPTS: Final = 3
GROWTH: Final = 1.2


@final
@dataclass(frozen=True)
class Window:
    """A part of the states of two slots.

    Attributes:
        fewest: wide jobs, at the least.
        most: wide jobs, at the most.
        idle: servers, at the most.
    """

    fewest: int
    most: int
    idle: int


@final
@dataclass(frozen=True)
class Outside:
    """Bounds on the probability outside a window.

    Attributes:
        below: of fewer wide jobs.
        beyond: of more wide jobs or idle servers.
        wide: whether the latter is decided at the edge of wide jobs.
        idle: whether it is decided at the edge of idle servers.
    """

    below: float
    beyond: float
    wide: bool
    idle: bool

    @property
    def total(self) -> float:
        """Of all states outside."""
        return self.below + self.beyond


@final
@dataclass(frozen=True, eq=False)
class Windowed:
    """The stationary law on a window.

    Attributes:
        chain: the states; their first slot holds the narrow jobs.
        law: their probabilities.
        error_bound: on their probabilities within the window and, relatively, on the blocking.
        neglected_mass: bound on the probability outside.
    """

    chain: Chain
    law: Floats
    error_bound: float
    neglected_mass: float


def solve_window(model: ChainModel, servers: int, most: int = MOST_STATES) -> Windowed:
    """Solve on a window that grows until what it leaves out is negligible.

    Args:
        model: with two slots, the narrower first.
        servers: of the pool.
        most: states that the window may grow to.
    """
    system = Windows(model, servers)
    window, most = system.first_window(), min(most, FACTORISED[True])
    for _ in range(ATTEMPTS):
        if system.states(window) > most:
            break
        chain = system.chain(window)
        law, error = stationary(chain, system.guess(chain), model.blocked(chain.counts, servers))
        idle = servers - model.widths.astype(np.int64) @ chain.counts
        outside = system.outside(window, idle, chain.counts[1].astype(np.float64), law)
        if outside.total <= NEGLIGIBLE:
            return Windowed(chain, law, error, outside.total)
        window = system.wider(window, outside)
    raise ChainError(
        f"no window of {most:,} states holds all but {NEGLIGIBLE:g} of the probability of "
        f"{servers} servers; simulate instead"
    )


def first_states(model: ChainModel, servers: int) -> int:
    """Predict the states of a window, without solving anything."""
    system = Windows(model, servers)
    return system.states(system.first_window())


@final
class Windows:
    """The windows of a system, their chains, and what they leave out."""

    def __init__(self, model: ChainModel, servers: int) -> None:
        self.system = TwoSlots(model, servers)
        self.bound = LyapunovBound(self.system)
        self.servers, self.model = servers, model
        self.narrow, self.wide = self.system.narrow, self.system.wide
        self.most_wide = servers // self.wide

    def first_window(self) -> Window:
        """Return the window that should be enough, judged by a normal law around a pilot's means.

        Only the size of the window depends on it: what it leaves out is bounded afterwards.
        """
        wide, wide_variance, idle, idle_variance = self.system.pilot
        points = np.linspace(-5.0, 5.0, 41)
        spread = math.sqrt(max(wide_variance, 1.0)), math.sqrt(max(idle_variance, 1.0))
        wides = np.clip(wide + points * spread[0], 0.0, self.most_wide)
        idles = np.clip(np.rint(idle + points * spread[1]), 0, self.servers).astype(np.int64)
        weights = np.exp(-0.5 * points**2)
        law = np.outer(weights, weights).ravel() / weights.sum() ** 2
        near = (np.tile(idles, points.size), np.repeat(wides, points.size), law)
        window = Window(
            max(0, math.floor(wide - DEVIATIONS * spread[0])),
            min(self.most_wide, math.ceil(wide + DEVIATIONS * (spread[0] + 1.0))),
            min(self.servers, math.ceil(idle + DEVIATIONS * spread[1]) + 2 * self.wide),
        )
        for _ in range(WIDENINGS):
            outside = self.outside(window, *near)
            if outside.total <= NEGLIGIBLE / 10.0:
                break
            window = self.wider(window, outside)
        return window

    def lines(self, window: Window) -> tuple[Ints, Ints]:
        """Return the fewest and most narrow jobs, for each number of wide ones."""
        wide = np.arange(window.fewest, window.most + 1, dtype=np.int64)
        left = self.servers - self.wide * wide
        return np.maximum(0, -((window.idle - left) // self.narrow)), left // self.narrow

    def states(self, window: Window) -> int:
        """Count the states of a window."""
        least, most = self.lines(window)
        return int((most - least + 1).sum())

    def chain(self, window: Window) -> Chain:
        """List the states of a window and the rates between them."""
        from moldable.kernels.state_space import window_inflow

        least, most = self.lines(window)
        states = int((most - least + 1).sum())
        refuse_too_many(states, self.servers, 2)
        counts = np.empty((2, states), dtype=np.int32)
        length = most - least + 1
        counts[1] = np.repeat(np.arange(window.fewest, window.most + 1), length)
        counts[0] = np.arange(states) - np.repeat(np.cumsum(length) - length - least, length)
        start, out = np.zeros(states + 1, dtype=np.int32), np.empty(states)
        source, rate = np.empty(4 * states, dtype=np.int32), np.empty(4 * states)
        widths = self.model.widths.astype(np.int64)
        fixed = (self.servers, widths, self.model.rates, self.system.entries)
        used = window_inflow(least, most, window.fewest, *fixed, start, source, rate, out)
        return self._closed(Chain(counts, start, source[:used], rate[:used], out))

    def _closed(self, chain: Chain) -> Chain:
        """Let what leaves the window begin again at its middle.

        At an edge that nothing may cross, a window could hold the system in states that it would
        leave at once.
        """
        from scipy.sparse import csr_array

        leak = self.leaving(chain) - chain.out
        edge = np.flatnonzero(leak > ROUNDING * chain.out)
        middle = int(np.argmax(self.guess(chain)))
        shape = (chain.states, chain.states)
        within = csr_array((chain.rate, chain.source, chain.start), shape=shape)
        where = (np.full(edge.size, middle), edge)
        rates = within + csr_array((leak[edge], where), shape=shape)
        out = chain.out.copy()
        out[edge] += leak[edge]
        return Chain(chain.counts, rates.indptr, rates.indices, rates.data, out)

    def leaving(self, chain: Chain) -> Floats:
        """Return the total rate out of each state, to wherever it leads."""
        idle = self.servers - self.model.widths.astype(np.int64) @ chain.counts
        rows = self.system.entries[np.minimum(idle, self.system.entries.shape[0] - 1)]
        return np.asarray(rows.sum(axis=1) + self.model.rates @ chain.counts)

    def guess(self, chain: Chain) -> Floats:
        """Return normal weights around the means of the pilot."""
        wide, wide_variance, idle, idle_variance = self.system.pilot
        found = self.servers - self.model.widths.astype(np.int64) @ chain.counts
        from_wide = (chain.counts[1] - wide) ** 2 / max(wide_variance, 1.0)
        from_idle = (found - idle) ** 2 / max(idle_variance, 1.0)
        weights: Floats = np.exp(-0.5 * np.minimum(from_wide + from_idle, 1000.0))
        return weights

    def outside(self, window: Window, idle: Whole, wide: Floats, law: Floats) -> Outside:
        """Bound the probability outside the window.

        Args:
            window: the window.
            idle: servers in each state within.
            wide: jobs in each state within.
            law: their probabilities.
        """
        inside = (idle, wide, law)
        every = np.arange(self.servers + 1)
        room = (self.servers - every) / self.wide
        fewest = np.full(room.size, float(window.fewest))
        above = np.where(every > window.idle, fewest, window.most + 1.0)
        below, _ = self.bound(-1.0, fewest * 0.0, np.minimum(fewest - 1.0, room), inside)
        beyond, nearest = self.bound(1.0, above, room, inside)
        both = beyond == 1.0
        return Outside(
            below, beyond, wide=both or nearest <= window.idle, idle=both or nearest > window.idle
        )

    def wider(self, window: Window, outside: Outside) -> Window:
        """Move the edges beyond which too much lies."""
        wide, _, idle, _ = self.system.pilot
        if outside.below > NEGLIGIBLE / 20.0:
            fewest = math.floor(wide - GROWTH * (wide - window.fewest)) - 1
            window = dataclasses.replace(window, fewest=max(0, fewest))
        if outside.beyond > NEGLIGIBLE / 20.0 and outside.wide:
            most = math.ceil(wide + GROWTH * (window.most - wide)) + 1
            window = dataclasses.replace(window, most=min(self.most_wide, most))
        if outside.beyond > NEGLIGIBLE / 20.0 and outside.idle:
            spare = math.ceil(idle + GROWTH * (window.idle - idle)) + 1
            window = dataclasses.replace(window, idle=min(self.servers, spare))
        return window


def product_form(counts: Whole, offered: Floats) -> Floats:
    """Return Poisson weights of all states as if they were independent, scaled to at most 1."""
    logs = np.zeros(counts.shape[1])
    for jobs, mean in zip(counts, np.maximum(offered, 1e-3), strict=True):
        steps = np.log(mean) - np.log(np.arange(1, int(jobs.max()) + 1))
        logs += np.concatenate(((0.0,), np.cumsum(steps)))[jobs]
    weights: Floats = np.exp(np.maximum(logs - logs.max(), -600.0))
    return weights
