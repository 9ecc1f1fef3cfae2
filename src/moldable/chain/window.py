"""Which states matter in a large system with two kinds of jobs?

The number of wide jobs and the idle servers vary by a few standard deviations only. States outside
a window around them are left out, and the window grows until what is neglected is bounded by a
probability below every digit that is reported.

The bound is by drifts. Wide jobs are at most as many as on endless servers, whose number is
Poisson: that bounds the upper tail without any computation. Beyond the other two edges the state
drifts back, at least as fast as at the edge; in equilibrium what crosses the edge outwards equals
what drifts back, so the probability outside is at most the crossing flow over the drift. At the
lower edge the drift is averaged over the states there; where wide jobs are few the window begins
at none, and has no such edge.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from moldable.chain.states import MOST_STATES, Chain, refuse_too_many
from moldable.chain.stationary import stationary
from moldable.count_model import ChainModel
from moldable.errors import ChainError
from moldable.hull import Floats, Ints, Whole

DEVIATIONS: Final = 9.0
"""Half of the first window, in standard deviations of a Poisson number."""
NEGLIGIBLE: Final = 1e-14
WIDENINGS: Final = 12
GROWTH: Final = 1.4


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
@dataclass(frozen=True, eq=False)
class Windowed:
    """The stationary law on a window.

    Attributes:
        chain: the states; their first slot holds the narrow jobs.
        law: their probabilities.
        residual: of the balance equations within the window.
        neglected_mass: bound on the probability outside.
    """

    chain: Chain
    law: Floats
    residual: float
    neglected_mass: float


def solve_window(model: ChainModel, servers: int, most: int = MOST_STATES) -> Windowed:
    """Solve on a window that grows until what it leaves out is negligible.

    Args:
        model: with two slots, the narrower first.
        servers: of the pool.
        most: states that the window may grow to.
    """
    system = _TwoSlots(model, servers)
    window = system.first_window()
    for _ in range(WIDENINGS):
        if system.states(window) > most:
            break
        chain = system.chain(window)
        law, residual = stationary(chain, system.guess(chain))
        outside = system.outside(window, chain, law)
        if sum(outside) <= NEGLIGIBLE:
            return Windowed(chain, law, residual, sum(outside))
        window = system.wider(window, outside)
    raise ChainError(
        f"no window of {most:,} states holds all but {NEGLIGIBLE:g} of the probability of "
        f"{servers} servers; simulate instead"
    )


def first_states(model: ChainModel, servers: int) -> int:
    """Predict the states of a window, without solving anything."""
    system = _TwoSlots(model, servers)
    return system.states(system.first_window())


@final
class _TwoSlots:
    """A system whose state is (narrow jobs, wide jobs)."""

    def __init__(self, model: ChainModel, servers: int) -> None:
        self.servers, self.model = servers, model
        self.narrow, self.wide = model.widths.astype(np.int64).tolist()
        self.entries = model.outcomes[:, :2] * model.arrival_rate
        self.most_wide = servers // self.wide
        # Nobody is granted a slot more often than at the idle count that favours it most.
        self.offered = self.entries.max(axis=0) / model.rates

    def first_window(self) -> Window:
        mean = float(self.entries[-1, 1] / self.model.rates[1])
        spread = DEVIATIONS * math.sqrt(max(self.offered[1], 1.0))
        fewest = max(0, math.floor(min(mean, self.most_wide) - spread))
        most = min(self.most_wide, math.ceil(float(self.offered[1]) + spread + DEVIATIONS))
        if 2 * fewest <= most:  # the rest is no larger: then there is no lower edge to judge
            fewest = 0
        jobs = self.entries[-1] / self.model.rates
        held = float(jobs @ self.model.widths)
        deviation = math.sqrt(float(jobs @ self.model.widths**2))
        spare = max(0.0, self.servers - held)
        idle = min(self.servers, math.ceil(spare + DEVIATIONS * deviation) + 2 * self.wide)
        return Window(fewest, most, idle)

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
        fixed = (self.servers, widths, self.model.rates, self.entries)
        used = window_inflow(least, most, window.fewest, *fixed, start, source, rate, out)
        return Chain(counts, start, source[:used], rate[:used], out)

    def guess(self, chain: Chain) -> Floats:
        return product_form(chain.counts, self.entries[-1] / self.model.rates)

    def outside(self, window: Window, chain: Chain, law: Floats) -> tuple[float, float, float]:
        """Bound the probability below `fewest`, above `most` and above `idle`."""
        idle = self.servers - self.model.widths.astype(np.int64) @ chain.counts
        return (
            self._below(window, chain.counts[1], idle, law),
            self._above(window),
            self._emptier(window, chain.counts, idle, law),
        )

    def _above(self, window: Window) -> float:
        from scipy.special import gammainc

        if window.most == self.most_wide:
            return 0.0
        return float(gammainc(window.most + 1.0, self.offered[1]))

    def _below(self, window: Window, wide: Whole, idle: Whole, law: Floats) -> float:
        if window.fewest == 0:
            return 0.0
        edge = wide == window.fewest
        mass = float(law[edge].sum())
        if mass == 0.0:
            return 0.0
        rows = np.minimum(idle[edge], self.entries.shape[0] - 1)
        coming = float(law[edge] @ self.entries[rows, 1]) / mass
        # With fewer wide jobs more servers may be idle than anywhere in the window, and the policy
        # may stop granting wide ones there.
        seen = min(window.idle, self.servers - self.wide * window.fewest)
        beyond = self.entries[min(seen + 1, self.entries.shape[0] - 1) :, 1]
        coming = min(coming, float(beyond.min()))
        leaving = window.fewest * float(self.model.rates[1])
        drift = coming - leaving
        return mass * leaving / drift if drift > 0.0 else 1.0

    def _emptier(self, window: Window, counts: Whole, idle: Whole, law: Floats) -> float:
        """Bound the probability of more idle servers than the window holds."""
        if window.idle >= self.servers - self.wide * window.fewest:
            return 0.0
        rates, widths = self.model.rates, self.model.widths
        near = idle > window.idle - widths.max()
        freed = (rates * widths) @ counts[:, near]
        crossing = float(law[near] @ freed)
        # Beyond the edge the policy may change again: count on the row that takes the least.
        beyond = self.entries[min(window.idle + 1, self.entries.shape[0] - 1) :]
        taken = float((beyond @ widths).min())
        wide = np.array([window.fewest, window.most])
        narrow = np.maximum(self.servers - window.idle - self.wide * wide, 0)
        most_freed = float((narrow * rates[0] + self.wide * wide * rates[1]).max())
        drift = taken - most_freed
        return crossing / drift if drift > 0.0 else 1.0

    def wider(self, window: Window, outside: tuple[float, float, float]) -> Window:
        below, above, emptier = (mass > NEGLIGIBLE / 3.0 for mass in outside)
        middle = min(float(self.offered[1]), float(self.most_wide))
        if below:
            reach = GROWTH * (middle - window.fewest) + 1.0
            window = dataclasses.replace(window, fewest=max(0, math.floor(middle - reach)))
        if above:
            reach = GROWTH * (window.most - middle) + 1.0
            most = min(self.most_wide, math.ceil(middle + reach))
            window = dataclasses.replace(window, most=most)
        if emptier:
            idle = min(self.servers, math.ceil(GROWTH * window.idle) + 1)
            window = dataclasses.replace(window, idle=idle)
        return window


def product_form(counts: Whole, offered: Floats) -> Floats:
    """Return Poisson weights of all states as if they were independent, scaled to at most 1."""
    logs = np.zeros(counts.shape[1])
    for jobs, mean in zip(counts, np.maximum(offered, 1e-3), strict=True):
        steps = np.log(mean) - np.log(np.arange(1, int(jobs.max()) + 1))
        logs += np.concatenate(((0.0,), np.cumsum(steps)))[jobs]
    weights: Floats = np.exp(np.maximum(logs - logs.max(), -600.0))
    return weights
