"""Naive version of optimal control: states in a dictionary, and two methods for the optimum.

One is the linear program over occupation measures, solved by HiGHS; the other is relative value
iteration.
"""

from __future__ import annotations

import itertools

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from naive.highs import TIGHT


class NaiveControl:
    """All states of some classes on a shared pool; a state is a tuple of jobs of each kind."""

    def __init__(self, workload, servers):
        self.workload, self.servers = workload, servers
        self.kinds = [
            (j, int(width), part.mean_size / float(speed))
            for j, part in enumerate(workload.classes)
            for width, speed in zip(part.speedup.widths, part.speedup.speedups, strict=True)
            if width <= servers
        ]
        ranges = [range(servers // width + 1) for _, width, _ in self.kinds]
        self.states = [s for s in itertools.product(*ranges) if self.idle(s) >= 0]
        self.place = {state: i for i, state in enumerate(self.states)}
        total = sum(part.arrival_rate for part in workload.classes)
        self.arrivals = [part.arrival_rate for part in workload.classes]
        self.size = sum(part.offered for part in workload.classes) / total
        self.total = total

    def idle(self, state):
        """Return the idle servers."""
        held = sum(x * width for x, (_, width, _) in zip(state, self.kinds, strict=True))
        return self.servers - held

    def choices(self, j, state):
        """Return the kinds that a job of this class could get."""
        return [
            k
            for k, (owner, width, _) in enumerate(self.kinds)
            if owner == j and width <= self.idle(state)
        ]

    def moved(self, state, kind, by):
        """Return the state with more or fewer jobs of a kind."""
        return (*state[:kind], state[kind] + by, *state[kind + 1 :])

    def departures(self, state):
        """Yield (next state, rate) for all jobs that may end."""
        for k, jobs in enumerate(state):
            if jobs:
                yield self.moved(state, k, -1), jobs / self.kinds[k][2]

    def least_cost(self, blocking_cost, *, only_blocking=False, max_time=None):
        """Return the least cost per arrival of all policies, randomised ones included, by HiGHS.

        With `max_time`, only policies with at most this mean execution time are considered.
        """
        columns, cost = [], []  # (class, state, kind): rate at which it is granted; then the law
        for j, state in itertools.product(range(len(self.arrivals)), self.states):
            for kind in self.choices(j, state) or [None]:
                columns.append((j, state, kind))
                time = 0.0 if only_blocking else self.kinds[kind or 0][2]
                charge = 1.0 if only_blocking else blocking_cost * self.size
                cost.append((charge if kind is None else time) / self.total)
        law, count = len(columns), len(self.states)
        equations = sp.lil_matrix((count * (1 + len(self.arrivals)) + 1, law + count))
        for column, (j, state, kind) in enumerate(columns):
            here = self.place[state]
            if kind is not None:
                equations[here, column] -= 1.0
                equations[self.place[self.moved(state, kind, +1)], column] += 1.0
            equations[count * (1 + j) + here, column] = 1.0
        for here, state in enumerate(self.states):
            for after, rate in self.departures(state):
                equations[here, law + here] -= rate
                equations[self.place[after], law + here] += rate
            for j, rate in enumerate(self.arrivals):
                equations[count * (1 + j) + here, law + here] = -rate
            equations[-1, law + here] = 1.0
        right = np.zeros(equations.shape[0])
        right[-1] = 1.0
        limits = {}
        if max_time is not None:
            over = [0.0 if kind is None else self.kinds[kind][2] - max_time for *_, kind in columns]
            limits = {"A_ub": [over + [0.0] * count], "b_ub": [0.0]}
        result = linprog(
            np.concatenate((cost, np.zeros(count))),
            A_eq=equations.tocsr(),
            b_eq=right,
            method="highs",
            options=TIGHT,
            **limits,
        )
        assert result.status == 0, result.message
        return float(result.fun)

    def improved(self, values, blocking_cost):
        """Return, for these values, the best kinds {(class, state): kind} and each state's change.

        Values are a dictionary; among equally good kinds the first is chosen.
        """
        best, changes = {}, {}
        for state in self.states:
            change = sum(rate * (values[to] - values[state]) for to, rate in self.departures(state))
            for j, rate in enumerate(self.arrivals):
                costs = {
                    k: self.kinds[k][2] + values[self.moved(state, k, +1)] - values[state]
                    for k in self.choices(j, state)
                }
                best[j, state] = min(costs, key=costs.get) if costs else None
                change += rate * (min(costs.values()) if costs else blocking_cost * self.size)
            changes[state] = change
        return best, changes

    def iterate(self, blocking_cost, tolerance=1e-10):
        """Return the least cost per arrival by relative value iteration."""
        clock = self.total + max(sum(rate for _, rate in self.departures(s)) for s in self.states)
        values = dict.fromkeys(self.states, 0.0)
        while True:
            _, changes = self.improved(values, blocking_cost)
            least, most = min(changes.values()), max(changes.values())
            if most - least <= tolerance * most:
                return 0.5 * (least + most) / self.total
            for state in self.states:
                values[state] += (changes[state] - least) / clock

    def generator(self, chosen):
        """Return the rates between states under decisions {(class, state): kind or None}."""
        rates = np.zeros((len(self.states), len(self.states)))
        for state, here in self.place.items():
            for after, rate in self.departures(state):
                rates[here, self.place[after]] += rate
            for j, rate in enumerate(self.arrivals):
                if chosen[j, state] is not None:
                    rates[here, self.place[self.moved(state, chosen[j, state], +1)]] += rate
        return rates - np.diag(rates.sum(axis=1))
