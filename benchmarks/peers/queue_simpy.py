"""SimPy, with moldable jobs that queue.

SimPy's resources cannot express widths that depend on the state, so idle servers are a number and
waiting jobs a deque. Jobs are processes, as in SimPy's documentation (`run`), or arrivals and
departures are timeouts with callbacks, which is faster (`run_callbacks`). Random numbers come from
NumPy in blocks. The time is that of `Environment.run` after a warm-up, including random numbers.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from functools import partial

import numpy as np
import simpy

from benchmarks.peers import model, queue_model

LAWS = queue_model.LAWS
WARM_UP = 10.0  # mean sizes


class QueueingCluster:
    """Servers that jobs hold while they run; a job that finds none waits."""

    def __init__(self, law: str, load: float, seed: int) -> None:
        servers = queue_model.SERVERS
        self.environment = simpy.Environment()
        self.jobs = _jobs(law, servers * load, np.random.default_rng(seed))
        self.most_idle = queue_model.most_idle(servers)
        self.most_behind = queue_model.most_behind(servers)
        counts = (np.arange(self.most_idle + 1), np.arange(self.most_behind + 1))
        self.widths = queue_model.even_widths(servers, *counts).tolist()
        self.idle, self.waiting = servers, deque()
        self.coming, self.started, self.response = 0, 0, 0.0
        self.last = self.environment.event()

    def run(self, arrivals: int) -> None:
        """Run until this number of jobs has arrived."""
        self.coming, self.started, self.response = arrivals, 0, 0.0
        self.last = self.environment.event()
        self.environment.run(until=self.last)

    def count_down(self) -> None:
        """Stop after the last arrival."""
        self.coming -= 1
        if not self.coming:
            self.last.succeed()

    def next_width(self) -> int:
        """Return the width of the head of the queue."""
        row = self.widths[min(self.idle, self.most_idle)]
        return row[min(len(self.waiting) - 1, self.most_behind)]


def _jobs(law: str, rate: float, generator: np.random.Generator) -> Iterator[tuple[float, float]]:
    """Yield gaps and sizes without end, drawn in blocks because that is faster in NumPy."""
    while True:
        gaps = generator.standard_exponential(model.BLOCK) / rate
        sizes = queue_model.draw_sizes(law, model.BLOCK, generator)
        yield from zip(gaps.tolist(), sizes.tolist(), strict=True)


class ProcessCluster(QueueingCluster):
    """A process for each job, and one for the arrivals."""

    def __init__(self, law: str, load: float, seed: int) -> None:
        super().__init__(law, load, seed)
        self.environment.process(self.arrivals())

    def arrivals(self) -> Iterator[simpy.Event]:
        """Start a process for each job."""
        for gap, size in self.jobs:
            yield self.environment.timeout(gap)
            self.environment.process(self.job(size))
            self.count_down()

    def job(self, size: float) -> Iterator[simpy.Event]:
        """Wait for servers, hold them for the execution time, and release them."""
        arrived, turn = self.environment.now, self.environment.event()
        self.waiting.append(turn)
        if len(self.waiting) == 1:
            self.start_jobs()
        width = yield turn
        execution = size / queue_model.SPEED_UPS[width - 1]
        self.started += 1
        self.response += self.environment.now - arrived + execution
        yield self.environment.timeout(execution)
        self.idle += width
        self.start_jobs()

    def start_jobs(self) -> None:
        """Give servers to jobs from the head of the queue while there are any."""
        while self.waiting and self.idle:
            width = self.next_width()
            self.idle -= width
            self.waiting.popleft().succeed(width)


class CallbackCluster(QueueingCluster):
    """Timeouts with callbacks."""

    def __init__(self, law: str, load: float, seed: int) -> None:
        super().__init__(law, load, seed)
        self.timeout = self.environment.timeout
        gap, self.size = next(self.jobs)
        self.timeout(gap).callbacks.append(self.arrive)

    def arrive(self, _: simpy.Event) -> None:
        """Start the job or let it wait, and schedule the next arrival."""
        self.waiting.append((self.environment.now, self.size))
        if len(self.waiting) == 1:
            self.start_jobs()
        self.count_down()
        gap, self.size = next(self.jobs)
        self.timeout(gap).callbacks.append(self.arrive)

    def depart(self, width: int, _: simpy.Event) -> None:
        """Release the servers and offer them to the waiting jobs."""
        self.idle += width
        self.start_jobs()

    def start_jobs(self) -> None:
        """Start jobs from the head of the queue while there are servers."""
        now = self.environment.now
        while self.waiting and self.idle:
            width = self.next_width()
            arrived, size = self.waiting.popleft()
            execution = size / queue_model.SPEED_UPS[width - 1]
            self.idle -= width
            self.timeout(execution).callbacks.append(partial(self.depart, width))
            self.started += 1
            self.response += now - arrived + execution


def _run(
    name: str, cluster: QueueingCluster, load: float, arrivals: int
) -> queue_model.QueueResult:
    cluster.run(int(WARM_UP * queue_model.SERVERS * load))
    started = time.process_time()
    cluster.run(arrivals)
    seconds = time.process_time() - started
    response = cluster.response / cluster.started
    return queue_model.QueueResult(name, arrivals / seconds, response, arrivals)


def run(law: str, load: float, arrivals: int, seed: int) -> queue_model.QueueResult:
    """Simulate the arrivals after a warm-up, with a process for each job."""
    model.refuse_unless(law, LAWS, "SimPy")
    return _run("SimPy, processes", ProcessCluster(law, load, seed), load, arrivals)


def run_callbacks(law: str, load: float, arrivals: int, seed: int) -> queue_model.QueueResult:
    """Simulate the arrivals after a warm-up, with callbacks."""
    model.refuse_unless(law, LAWS, "SimPy")
    return _run("SimPy, callbacks", CallbackCluster(law, load, seed), load, arrivals)
