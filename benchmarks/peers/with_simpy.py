"""SimPy.

Arrivals and departures are timeouts with callbacks, which is twice as fast as a process per job.
Random numbers come from NumPy in blocks. The time is that of `Environment.run`, including random
numbers; the jobs that run at the start are placed before.
"""

from __future__ import annotations

import time

import numpy as np
import simpy

from benchmarks.peers import PeerResult, model

LAWS = model.LAWS


class LossSystem:
    """Places that jobs hold while they run; a job that finds none is lost."""

    def __init__(self, law: str, arrivals: int, seed: int) -> None:
        generator = np.random.default_rng(seed)
        self.environment = simpy.Environment()
        self.timeout = self.environment.timeout
        self.last = self.environment.event()
        self.gaps = model.gaps(generator)
        self.services = model.services(law, generator)
        self.coming = arrivals
        self.blocked = 0
        running = model.running_at_start(law, generator)
        self.busy = len(running)
        for remaining in running:
            self.timeout(remaining).callbacks.append(self.depart)
        self.timeout(next(self.gaps)).callbacks.append(self.arrive)

    def arrive(self, _: simpy.Event) -> None:
        """Start the job if there is a free place, and schedule the next arrival."""
        if self.busy < model.PLACES:
            self.busy += 1
            self.timeout(next(self.services)).callbacks.append(self.depart)
        else:
            self.blocked += 1
        self.coming -= 1
        if self.coming:
            self.timeout(next(self.gaps)).callbacks.append(self.arrive)
        else:
            self.last.succeed()

    def depart(self, _: simpy.Event) -> None:
        """Release the place."""
        self.busy -= 1


def run(law: str, arrivals: int, seed: int) -> PeerResult:
    """Simulate the arrivals from equilibrium."""
    model.refuse_unless(law, LAWS, "SimPy")
    system = LossSystem(law, arrivals, seed)
    started = time.process_time()
    system.environment.run(until=system.last)
    seconds = time.process_time() - started
    return PeerResult("SimPy", arrivals / seconds, system.blocked / arrivals, arrivals)
