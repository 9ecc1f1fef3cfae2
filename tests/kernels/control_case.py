"""Small systems of optimal control, in the form of the kernels and of the naive version."""

from __future__ import annotations

import numpy as np
import pytest

from moldable import JobClass, Scenario, SpeedUp, Workload
from moldable.optimal.problem import control_problem
from naive.optimal_control import NaiveControl

ONE = Workload((JobClass("jobs", 4.0, SpeedUp((1.0, 1.8, 2.5, 3.0)), mean_size=1.5),))
TWO = Workload(
    (
        JobClass("wide", 1.3, SpeedUp({2: 1.9, 3: 2.2, 6: 4.0}), mean_size=2.0),
        JobClass("narrow", 2.0, SpeedUp({1: 1.0, 3: 3.3}), mean_size=0.7),
    )
)
SYSTEMS = [
    pytest.param((ONE, 7, 5), id="one class on 7"),
    pytest.param((ONE, 4, 2), id="one class on 4"),
    pytest.param((TWO, 9, 3), id="two classes on 9"),
    pytest.param((TWO, 6, 5), id="two classes on 6"),
]


class ControlCase:
    """A system, random values, and the best decisions for them, in both forms."""

    def __init__(self, kernels, workload, servers, seed):
        self.kernels = kernels
        self.problem = control_problem(Scenario(workload, servers))
        self.naive = NaiveControl(workload, servers)
        problem, naive = self.problem, self.naive
        pairs = list(zip(problem.owner.tolist(), problem.widths.tolist(), strict=True))
        self.kind_of = [pairs.index((j, width)) for j, width, _ in naive.kinds]
        columns = [tuple(column) for column in problem.jobs().T.tolist()]
        self.order = [
            columns.index(tuple(state[self.kind_of.index(k)] for k in range(len(pairs))))
            for state in naive.states
        ]
        self.blocking_cost = 3.0
        self.values = np.random.default_rng(seed).random(problem.states)
        self.decisions = np.full((len(workload.classes), problem.states), -1, dtype=np.int8)
        self.target = np.empty(self.decisions.shape, dtype=np.int32)
        self.bounds = self.improve(0.0)
        self.lines = (problem.start, problem.counts, problem.before)
        self.fixed = (*self.lines, problem.rates, problem.arrivals, self.target)
        best, self.changes = naive.improved(
            {state: self.values[i] for state, i in zip(naive.states, self.order, strict=True)},
            self.blocking_cost,
        )
        self.best = best
        rates = np.empty((problem.states, problem.states))
        rates[np.ix_(self.order, self.order)] = naive.generator(best)
        self.generator = rates
        # The equations that policy evaluation solves.
        self.matrix = -rates
        self.matrix[:, 0] += 1.0

    def improve(self, keep):
        p = self.problem
        blocked = np.full(len(p.workload.classes), self.blocking_cost * p.mean_size)
        return self.kernels.value_iteration.improve(
            self.values, p.start, p.counts, p.before, p.after, p.room, p.rates, p.times,
            *p.members, p.arrivals, blocked, keep, self.decisions, self.target,
        )  # fmt: skip

    def met(self):
        """Return the states that are reachable from the empty one."""
        reach = np.zeros(self.problem.states, dtype=bool)
        reach[0] = True
        for _ in range(self.problem.states):
            reach |= (self.generator[reach] > 0.0).any(axis=0)
        return reach
