"""Solve a large system with two kinds of jobs on the states that matter.

The number of wide jobs and the idle servers vary by a few standard deviations only. States outside
a window around them are left out, and the window grows until the neglected probability is bounded
by NEGLIGIBLE.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from moldable.arrays import Floats, Ints, Whole
from moldable.errors import ChainError
from moldable.exact.lyapunov import ENOUGH, NEGLIGIBLE, LyapunovBound, Region, TwoSlots, Within
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
        fewest: least number of wide jobs.
        most: largest number of wide jobs.
        idle: largest number of idle servers.
    """

    fewest: int
    most: int
    idle: int


def solve_window(model: ChainModel, most: int = MOST_STATES) -> tuple[Whole, Floats, float, float]:
    """Solve on a window that grows until the neglected probability is negligible.

    Args:
        model: with two slots.
        most: states that the window may grow to.

    Returns:
        The states as columns of counts, their probabilities, a bound on the error of these and,
        relatively, of the blocking, and a bound on the neglected probability.
    """
    windows, order = _windows(model)
    window, most = windows.first_window(), min(most, FACTORISED[True])
    for _ in range(ATTEMPTS):
        if windows.states(window) > most:
            break
        chain = windows.chain(window)
        blocked = windows.model.blocked(chain.counts)
        law, error = stationary(chain, windows.guess(chain), blocked)
        neglected, wider = windows.neglected(window, windows.inside(chain, law))
        if neglected <= NEGLIGIBLE:
            return chain.counts[order], law, error, neglected
        window = wider
    raise ChainError(
        f"no window of {most:,} states holds all but {NEGLIGIBLE:g} of the probability of "
        f"{model.servers} servers; simulate instead"
    )


def first_states(model: ChainModel) -> int:
    """Predict the number of states of a window, without solving anything."""
    windows, _ = _windows(model)
    return windows.states(windows.first_window())


def _windows(model: ChainModel) -> tuple[Windows, Whole]:
    """Return the windows with the narrower slot first, and the order that undoes it."""
    order = np.argsort(model.widths, kind="stable")
    outcomes = model.outcomes.copy()
    outcomes[:, : order.size] = model.outcomes[:, order]
    ordered = dataclasses.replace(
        model, rates=model.rates[order], widths=model.widths[order], outcomes=outcomes
    )
    return Windows(ordered), np.argsort(order)


@final
class Windows:
    """The windows of a system, their chains, and bounds on what they neglect.

    Args:
        model: with two slots, the narrower first.
    """

    def __init__(self, model: ChainModel) -> None:
        self.model, self.system = model, TwoSlots(model)
        self.bound = LyapunovBound(self.system)
        self.servers, self.narrow, self.wide = model.servers, self.system.narrow, self.system.wide
        self.most_wide = self.servers // self.wide

    def first_window(self) -> Window:
        """Return the window that suffices for a normal distribution around the pilot's means.

        Only the size of the window depends on this: what it neglects is bounded afterwards.
        """
        wide, wide_variance, idle, idle_variance = self.system.pilot
        points = np.linspace(-5.0, 5.0, 41)
        spread = math.sqrt(max(wide_variance, 1.0)), math.sqrt(max(idle_variance, 1.0))
        wides = np.clip(wide + points * spread[0], 0.0, self.most_wide)
        idles = np.clip(np.rint(idle + points * spread[1]), 0, self.servers).astype(np.int64)
        weights = np.exp(-0.5 * points**2)
        law = np.outer(weights, weights).ravel() / weights.sum() ** 2
        inside = (np.tile(idles, points.size), np.repeat(wides, points.size), law)
        window = Window(
            max(0, math.floor(wide - DEVIATIONS * spread[0])),
            min(self.most_wide, math.ceil(wide + DEVIATIONS * (spread[0] + 1.0))),
            min(self.servers, math.ceil(idle + DEVIATIONS * spread[1]) + 2 * self.wide),
        )
        for _ in range(WIDENINGS):
            neglected, wider = self.neglected(window, inside)
            if neglected <= NEGLIGIBLE / 10.0:
                break
            window = wider
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
        length = most - least + 1
        states = int(length.sum())
        refuse_too_many(states, self.model)
        counts = np.empty((2, states), dtype=np.int32)
        counts[1] = np.repeat(np.arange(window.fewest, window.most + 1), length)
        counts[0] = np.arange(states) - np.repeat(np.cumsum(length) - length - least, length)
        start, out = np.zeros(states + 1, dtype=np.int32), np.empty(states)
        source, rate = np.empty(4 * states, dtype=np.int32), np.empty(4 * states)
        fixed = (self.servers, self.model.slot_widths, self.model.rates, self.system.entries)
        used = window_inflow(least, most, window.fewest, *fixed, start, source, rate, out)
        return self._closed(Chain(counts, start, source[:used], rate[:used], out))

    def _closed(self, chain: Chain) -> Chain:
        """Lead transitions out of the window back to its middle.

        An edge that cannot be crossed could hold the chain in states that it would leave at once.
        """
        from scipy.sparse import csr_array

        entries = self.system.entries
        coming = entries[np.minimum(self.model.idle(chain.counts), entries.shape[0] - 1)]
        leak = coming.sum(axis=1) + self.model.rates @ chain.counts - chain.out
        edge = np.flatnonzero(leak > ROUNDING * chain.out)
        middle = int(np.argmax(self.guess(chain)))
        where = (np.full(edge.size, middle), edge)
        rates = chain.inflow + csr_array((leak[edge], where), shape=(chain.states, chain.states))
        out = chain.out.copy()
        out[edge] += leak[edge]
        return Chain(chain.counts, rates.indptr, rates.indices, rates.data, out)

    def guess(self, chain: Chain) -> Floats:
        """Return normal weights around the means of the pilot."""
        wide, wide_variance, idle, idle_variance = self.system.pilot
        from_wide = (chain.counts[1] - wide) ** 2 / max(wide_variance, 1.0)
        from_idle = (self.model.idle(chain.counts) - idle) ** 2 / max(idle_variance, 1.0)
        weights: Floats = np.exp(-0.5 * np.minimum(from_wide + from_idle, 1000.0))
        return weights

    def inside(self, chain: Chain, law: Floats) -> Within:
        """Return the states of a window with their probabilities, for `neglected`."""
        return self.model.idle(chain.counts), chain.counts[1].astype(np.float64), law

    def neglected(self, window: Window, inside: Within) -> tuple[float, Window]:
        """Bound the probability outside a window, and move the edges that neglect too much.

        Args:
            window: the window.
            inside: its states.
        """
        idle = np.arange(self.servers + 1)
        room = (self.servers - idle) / self.wide
        fewest, most = window.fewest - 1.0, window.most + 1.0
        usual = (idle <= window.idle) & (room >= fewest)
        few = idle[usual] if window.fewest else idle[:0]
        many, spare = idle[usual & (room >= most)], idle[~usual]
        below, beyond, above = self.bound(
            (
                Region(-1.0, few, np.zeros(few.size), np.full(few.size, fewest)),
                Region(1.0, many, np.full(many.size, most), room[many]),
                Region(1.0, spare, np.zeros(spare.size), room[spare]),
            ),
            inside,
        ).tolist()
        usual_wide, _, usual_idle, _ = self.system.pilot
        wider = window
        if below > ENOUGH:
            edge = math.floor(usual_wide - GROWTH * (usual_wide - window.fewest)) - 1
            wider = dataclasses.replace(wider, fewest=max(0, edge))
        if beyond > ENOUGH:
            edge = math.ceil(usual_wide + GROWTH * (window.most - usual_wide)) + 1
            wider = dataclasses.replace(wider, most=min(self.most_wide, edge))
        if above > ENOUGH:
            edge = math.ceil(usual_idle + GROWTH * (window.idle - usual_idle)) + 1
            wider = dataclasses.replace(wider, idle=min(self.servers, edge))
        return below + beyond + above, wider
