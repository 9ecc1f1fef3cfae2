"""How rare is blocking that no run of a reasonable length sees?

From time to time the idle servers fall from a usual number to a low one. Of these descents, those
that come nearer to a full cluster than most are followed further, several times each, and the
others are given up: multilevel splitting (M. J. J. Garvels, "The splitting method in rare event
simulation", 2000). No stage is rare, so the rate at which descents begin and a product of common
shares tell how rare the whole is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.model.scenario import Scenario
from moldable.policies.policy_table import Policy
from moldable.simulation.chain_run import initial_slots
from moldable.simulation.estimates import around
from moldable.simulation.plan import DESCENT, child_seed
from moldable.simulation.replications import count_workers
from moldable.system.count_model import ChainModel, chain_model
from moldable.system.loss_system import System, build_system
from moldable.system.performance import Estimate
from moldable.threads import on_threads

RUNS: Final = 2048
PARTS: Final = 8
"""Shares of the runs with random numbers of their own: fixed, whatever the number of threads."""
CHAINS: Final = 128
"""Long runs in which descents begin."""
WARMUP: Final = 8.0
"""Mean execution times of the slowest kind before these are looked at."""
USUAL, LOW = 0.5, 0.1
"""Quantiles of the idle servers between which a descent begins."""
CAME_DOWN: Final = 0.15
"""Share of the runs that should reach the next level."""
PILOTS: Final = 8
"""One run in so many looks for that level first."""
DESCENTS: Final = 8
"""Descents from which an interval is taken."""
NEVER: Final = math.inf
NOWHERE: Final = -1
"""A floor that no run comes down to."""


@final
@dataclass(frozen=True, eq=False)
class Runs:
    """The counts of many runs, side by side.

    Attributes:
        jobs: running, by run (row) and slot.
        idle: servers of each run.
    """

    jobs: Floats
    idle: Ints

    def take(self, which: Ints | slice) -> Runs:
        """Return copies of some runs."""
        return Runs(self.jobs[which].copy(), self.idle[which].copy())


class Followed(NamedTuple):
    """What was seen of each run: its time, its fewest idle servers, and the time blocked."""

    passed: Floats
    lowest: Ints
    lost: Floats


@final
class Descent:
    """Follows runs of one policy down to a full cluster.

    Attributes:
        usual: idle servers from which a descent begins, and to which it returns.
        blocked: probability that an arrival is blocked, by idle servers.
    """

    def __init__(self, system: System, model: ChainModel, seed: int, threads: int | None) -> None:
        self.system, self.model, self.threads = system, model, count_workers(threads, None)
        self.rng, *self.rngs = (
            np.random.default_rng(seeds) for seeds in np.random.SeedSequence(seed).spawn(PARTS + 1)
        )
        slots, self.usual = model.rates.size, system.servers
        self.blocked = model.outcomes[:, slots:].sum(axis=1)
        self.arguments = (
            np.cumsum(model.outcomes, axis=1)[:, :slots].copy(),
            self.blocked,
            float(model.arrival_rate),
            model.rates,
            model.widths.astype(np.int64),
            model.jumps.reshape(slots, model.phases),
        )

    def blocking(self) -> float:
        """Return the probability that an arrival is blocked; 0 if no run came down."""
        full = int(np.flatnonzero(self.blocked)[-1])
        level, runs, rate = self._begun(full)
        while level > full:
            pilots = self._follow(runs.take(slice(None, None, PILOTS)), ceiling=self.usual)
            level = max(full, min(int(np.quantile(pilots.lowest, CAME_DOWN)), level - 1))
            self._follow(runs, floor=level, ceiling=self.usual)
            arrived = np.flatnonzero(runs.idle <= level)
            rate *= arrived.size / RUNS
            if arrived.size == 0:
                break
            runs = runs.take(self.rng.choice(arrived, RUNS))
        return rate * float(self._follow(runs, ceiling=self.usual).lost.mean())

    def _begun(self, full: int) -> tuple[int, Runs, float]:
        """Return a low level, runs that have just come down to it, and how often any does."""
        jobs = np.array([initial_slots(self.system, self.model, self.rng) for _ in range(CHAINS)])
        idle = self.system.servers - (jobs @ self.model.widths).astype(np.int64)
        chains = Runs(jobs, idle)
        self._follow(chains, end=WARMUP * float(self.system.kind_scale.max()))
        usual, low = np.quantile(chains.idle, (USUAL, LOW)).astype(int).tolist()
        level = max(low, full)
        self.usual = max(usual, level + 1)
        self._follow(chains, floor=level)  # from here on cycle follows cycle
        looks, time = [], 0.0
        for _ in range(RUNS // CHAINS):
            time += float(self._follow(chains, ceiling=self.usual).passed.sum())
            time += float(self._follow(chains, floor=level).passed.sum())
            looks.append(chains.take(slice(None)))
        jobs, idle = (
            np.concatenate([getattr(k, name) for k in looks]) for name in ("jobs", "idle")
        )
        return level, Runs(jobs, idle), RUNS / time

    def _follow(
        self, runs: Runs, *, floor: int = NOWHERE, ceiling: int | None = None, end: float = NEVER
    ) -> Followed:
        """Move the runs on, down to a floor, up to a ceiling or to an end."""
        from moldable.kernels.descent import follow

        count, high = runs.idle.size, self.system.servers + 1 if ceiling is None else ceiling
        seen = Followed(np.empty(count), np.empty_like(runs.idle), np.empty(count))
        arrays, ends = (runs.jobs, runs.idle, *seen), np.linspace(0, count, PARTS + 1).astype(int)

        def part(k: int) -> None:
            own = (array[ends[k] : ends[k + 1]] for array in arrays)
            follow(self.rngs[k], *own, floor, high, end, *self.arguments)

        list(on_threads(part, range(PARTS), self.threads))
        return seen


def rare_blocking(
    scenario: Scenario, policy: Policy, *, seed: int, threads: int | None = None
) -> float | None:
    """Return the blocking of a policy, however rare, to about a tenth of itself.

    It is 0 if no descent came down, and None if sizes have no phases.

    Args:
        scenario: the cluster and the classes, sharing one pool.
        policy: what grants widths.
        seed: of all random numbers.
        threads: all cores by default; they do not change the result.
    """
    system = build_system(scenario, policy)
    model = chain_model(system)
    return None if model is None else Descent(system, model, seed, threads).blocking()


def rare_blocking_interval(
    scenario: Scenario, policy: Policy, *, seed: int, threads: int | None = None
) -> Estimate | None:
    """Return the same from several independent descents, with its interval."""
    found = [
        rare_blocking(scenario, policy, seed=child_seed(seed, DESCENT, k), threads=threads)
        for k in range(DESCENTS)
    ]
    values = np.array([value for value in found if value is not None])
    if values.size == 0:
        return None
    estimate = around(float(values.mean()), values - values.mean())
    low, high = estimate.interval or (0.0, 1.0)
    return Estimate(estimate.value, (max(low, 0.0), high))
