"""Small systems with a queue, in the form of the kernels and of the naive version."""

from __future__ import annotations

import numpy as np
import pytest

from moldable import JobClass, Scenario, SpeedUp, Workload
from moldable.optimal.queue_problem import queue_problem
from naive.queue_control import NaiveQueue

ONE = Workload((JobClass("jobs", 4.0, SpeedUp((1.0, 1.8, 2.5, 3.0)), mean_size=1.5),))
TWO = Workload(
    (
        JobClass("wide", 1.3, SpeedUp({1: 1.0, 2: 1.9, 4: 3.0}), mean_size=2.0),
        JobClass("narrow", 2.0, SpeedUp({1: 1.0, 3: 3.3}), mean_size=0.7),
    )
)
PAIRS = Workload(
    (
        JobClass("even", 0.5, SpeedUp({2: 1.5, 5: 2.0}), mean_size=2.0),
        JobClass("odd", 1.0, SpeedUp({2: 1.7, 3: 3.3})),
    )
)
QUEUES = [
    pytest.param((ONE, 6, 4), id="one class on 6"),
    pytest.param((ONE, 5, 1), id="one class on 5, one place"),
    pytest.param((ONE, 4, 0), id="one class on 4, no place"),
    pytest.param((TWO, 5, 3), id="two classes on 5"),
    pytest.param((PAIRS, 7, 5), id="two classes of width 2 on 7"),
]


class QueueControlCase:
    """A system, random values, and the best decisions for them, in both forms."""

    def __init__(self, kernels, workload, servers, places):
        self.kernels, self.places, self.overflow = kernels, places, 3.0
        self.queue = queue_problem(Scenario(workload, servers, waiting=places))
        self.naive = NaiveQueue(workload, servers, places, self.overflow)
        pool, naive = self.queue.pool, self.naive
        pairs = list(zip(pool.owner.tolist(), pool.widths.tolist(), strict=True))
        self.kind_of = [pairs.index((j, width)) for j, width, _ in naive.pool.kinds]
        self.columns = [tuple(column) for column in pool.jobs().T.tolist()]
        self.order = [self.index(state) for state in naive.states]
        self.states = self.queue.states(places)
        self.values = np.random.default_rng(places).random(self.states)
        classes = len(workload.classes)
        self.target = np.zeros((classes, pool.states), dtype=np.int32)
        self.decisions = np.full((classes, pool.states), -1, dtype=np.int8)
        shape = (places, classes, self.queue.depth, self.queue.lines)
        self.goes = np.zeros(shape, dtype=np.int32)
        self.out = self.queue.rates_out(places)
        self.bounds = self.improve(0.0)
        self.rule, self.after_grants = naive.best_rule(self.values[self.order])
        self.generator = np.zeros((self.states, self.states))
        self.generator[np.ix_(self.order, self.order)] = naive.generator(self.rule)

    def index(self, state):
        """Return the kernels' index of a state of the naive version."""
        running, waiting = state
        jobs = tuple(running[self.kind_of.index(k)] for k in range(len(self.kind_of)))
        place = self.columns.index(jobs)
        if waiting == 0:
            return place
        line = int(np.flatnonzero(self.queue.full == place)[0])
        return self.queue.states(waiting - 1) + line

    def improve(self, keep):
        pool, queue = self.queue.pool, self.queue
        return self.kernels.queue_control.improve_queue(
            self.values, pool.start, pool.counts, pool.before, pool.after, pool.room, pool.rates,
            *pool.members, pool.arrivals, queue.node, queue.ends, queue.onto,
            pool.jobs().sum(axis=0)[queue.full], self.overflow, keep, self.target, self.decisions,
            self.goes,
        )  # fmt: skip

    @property
    def up(self):
        """Arguments of the kernels that follow completions."""
        pool, queue = self.queue.pool, self.queue
        return (
            *(pool.start, pool.counts, pool.before, pool.rates, pool.arrivals),
            *(self.goes, queue.node, queue.ends, self.out),
        )

    @property
    def down(self):
        """Arguments of the kernels that follow arrivals."""
        pool = self.queue.pool
        return pool.start, pool.arrivals, self.target, self.out

    @property
    def solver(self):
        """Arguments of the solvers."""
        pool, queue = self.queue.pool, self.queue
        return (
            *(pool.start, pool.counts, pool.before, pool.rates, pool.arrivals),
            *(self.target, self.goes, queue.node, queue.ends, self.out),
        )
