"""Estimate very small blocking probabilities by multilevel importance splitting.

From time to time the number of idle servers falls from its median to a low level. The runs that
come closer to a full cluster than most are continued, several times each, and the others are
dropped (M. J. J. Garvels, "The splitting method in rare event simulation", 2000). No stage is rare,
so the rate of reaching the low level and a product of moderate probabilities give the result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.model.scenario import Scenario
from moldable.model.waiting import refuse_waiting
from moldable.policies.policy import Policy
from moldable.simulation.chain_run import initial_slots
from moldable.simulation.estimates import around
from moldable.simulation.plan import SPLITTING, child_seed
from moldable.simulation.replications import count_workers
from moldable.system.count_model import ChainModel, chain_model
from moldable.system.estimate import Estimate
from moldable.system.loss_system import System, build_system
from moldable.threads import on_threads

RUNS: Final = 2048
PARTS: Final = 8
"""Parts of the runs with separate random numbers: fixed, whatever the number of threads."""
CHAINS: Final = 128
"""Long runs that provide the starting states."""
WARMUP: Final = 8.0
"""Warm-up of these, in mean execution times of the slowest kind."""
MEDIAN, LOW = 0.5, 0.1
"""Quantiles of the idle servers between which a run starts."""
CONTINUED: Final = 0.15
"""Share of the runs that should reach the next level."""
PILOTS: Final = 8
"""One run in this many is used to choose that level."""
REPEATS: Final = 8
"""Independent estimates from which an interval is computed."""


@final
@dataclass(frozen=True, eq=False)
class Runs:
    """The states of many runs.

    Attributes:
        jobs: running jobs, by run (row) and slot.
        idle: idle servers of each run.
    """

    jobs: Floats
    idle: Ints

    def take(self, which: Ints | slice) -> Runs:
        """Return copies of some runs."""
        return Runs(self.jobs[which].copy(), self.idle[which].copy())


class Followed(NamedTuple):
    """Results of each run: its time, its fewest idle servers, and the time blocked."""

    passed: Floats
    lowest: Ints
    lost: Floats


@final
class Splitting:
    """Simulates runs under one policy down to a full cluster.

    Attributes:
        median: idle servers at which a run ends.
        blocked: probability that an arrival is blocked, by idle servers.
    """

    def __init__(self, system: System, model: ChainModel, seed: int, threads: int | None) -> None:
        self.system, self.model, self.threads = system, model, count_workers(threads)
        self.rng, *self.rngs = (
            np.random.default_rng(seeds) for seeds in np.random.SeedSequence(seed).spawn(PARTS + 1)
        )
        slots, self.median = model.rates.size, system.servers
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
        """Return the blocking probability; 0 if no run reached a full cluster."""
        full = int(np.flatnonzero(self.blocked)[-1])
        level, runs, rate = self._start(full)
        while level > full:
            pilots = self._follow(runs.take(slice(None, None, PILOTS)), ceiling=self.median)
            level = max(full, min(int(np.quantile(pilots.lowest, CONTINUED)), level - 1))
            self._follow(runs, floor=level, ceiling=self.median)
            arrived = np.flatnonzero(runs.idle <= level)
            rate *= arrived.size / RUNS
            if arrived.size == 0:
                break
            runs = runs.take(self.rng.choice(arrived, RUNS))
        return rate * float(self._follow(runs, ceiling=self.median).lost.mean())

    def _start(self, full: int) -> tuple[int, Runs, float]:
        """Return a low level, runs that have just reached it, and the rate at which it is."""
        jobs = np.array([initial_slots(self.system, self.model, self.rng) for _ in range(CHAINS)])
        idle = self.system.servers - (jobs @ self.model.widths).astype(np.int64)
        chains = Runs(jobs, idle)
        self._follow(chains, end=WARMUP * float(self.system.kind_scale.max()))
        median, low = np.quantile(chains.idle, (MEDIAN, LOW)).astype(int).tolist()
        level = max(low, full)
        self.median = max(median, level + 1)
        self._follow(chains, floor=level)  # cycles begin here
        starts, time = [], 0.0
        for _ in range(RUNS // CHAINS):
            time += float(self._follow(chains, ceiling=self.median).passed.sum())
            time += float(self._follow(chains, floor=level).passed.sum())
            starts.append(chains.take(slice(None)))
        runs = Runs(
            np.concatenate([start.jobs for start in starts]),
            np.concatenate([start.idle for start in starts]),
        )
        return level, runs, RUNS / time

    def _follow(
        self, runs: Runs, *, floor: int = -1, ceiling: int | None = None, end: float = math.inf
    ) -> Followed:
        """Continue the runs in place, down to a floor, up to a ceiling or to an end."""
        from moldable.kernels.splitting import follow

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
    """Return the blocking probability of a policy, with a relative error of about a tenth.

    It is 0 if no run reached a full cluster, and None if sizes have no phases.

    Args:
        scenario: the cluster and the classes, sharing one pool.
        policy: grants the widths.
        seed: random seed.
        threads: all cores by default; they do not change the result.
    """
    refuse_waiting(scenario.waiting, "importance splitting")
    system = build_system(scenario, policy)
    model = chain_model(system)
    return None if model is None else Splitting(system, model, seed, threads).blocking()


def rare_blocking_interval(
    scenario: Scenario, policy: Policy, *, seed: int, threads: int | None = None
) -> Estimate | None:
    """Return the mean of several independent estimates, with its confidence interval."""
    found = [
        rare_blocking(scenario, policy, seed=child_seed(seed, SPLITTING, k), threads=threads)
        for k in range(REPEATS)
    ]
    values = np.array([value for value in found if value is not None])
    if values.size == 0:
        return None
    estimate = around(float(values.mean()), values - values.mean())
    low, high = estimate.interval or (0.0, 1.0)
    return Estimate(estimate.value, (max(low, 0.0), high))
