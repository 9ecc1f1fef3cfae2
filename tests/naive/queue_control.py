"""Naive version of optimal control with a queue: states in a dictionary, dense policy iteration.

A state is (jobs of each kind, number waiting). A decision depends on the jobs of each kind, the
number waiting including the job that is decided, and its class.
"""

from __future__ import annotations

import numpy as np

from naive.optimal_control import NaiveControl


class NaiveQueue:
    """Some classes on a shared pool with waiting places."""

    def __init__(self, workload, servers, places, overflow):
        self.pool = NaiveControl(workload, servers)
        self.places, self.overflow = places, overflow
        self.narrowest = min(width for _, width, _ in self.pool.kinds)
        self.states = [
            (running, waiting)
            for waiting in range(places + 1)
            for running in self.pool.states
            if waiting == 0 or self.is_full(running)
        ]
        self.place = {state: i for i, state in enumerate(self.states)}
        self.rate = self.pool.total
        self.shares = [rate / self.rate for rate in self.pool.arrivals]

    def is_full(self, running):
        """Return whether a job must wait."""
        return self.pool.idle(running) < self.narrowest

    def jobs(self, state):
        """Return the number of jobs in the system."""
        return sum(state[0]) + state[1]

    def granted(self, running, waiting, rule):
        """Return {state: probability} after grants by a rule (running, waiting, class) -> kind."""
        if waiting == 0 or self.is_full(running):
            return {(running, waiting): 1.0}
        found = {}
        for j, share in enumerate(self.shares):
            after = self.pool.moved(running, rule(running, waiting, j), +1)
            for state, chance in self.granted(after, waiting - 1, rule).items():
                found[state] = found.get(state, 0.0) + share * chance
        return found

    def events(self, state):
        """Yield (rate, running, waiting) before grants; the last is None for a blocked arrival."""
        running, waiting = state
        blocked = self.is_full(running) and waiting == self.places
        yield self.rate, running, None if blocked else waiting + 1
        for after, rate in self.pool.departures(running):
            yield rate, after, waiting

    def generator(self, rule):
        """Return the rates between states under a rule."""
        rates = np.zeros((len(self.states), len(self.states)))
        for state, here in self.place.items():
            for rate, running, waiting in self.events(state):
                if waiting is not None:
                    for after, chance in self.granted(running, waiting, rule).items():
                        rates[here, self.place[after]] += rate * chance
        return rates - np.diag(rates.sum(axis=1))

    def cost(self):
        """Return the cost per unit of time in each state."""
        return np.array(
            [
                self.jobs(state)
                + self.rate * self.overflow * (next(iter(self.events(state)))[2] is None)
                for state in self.states
            ]
        )

    def best_rule(self, values):
        """Return the best decisions for some values, as a rule, and the values after grants."""
        memory, chosen = {}, {}

        def after_grants(running, waiting):
            if waiting == 0 or self.is_full(running):
                return values[self.place[running, waiting]]
            if (running, waiting) not in memory:
                total = 0.0
                for j, share in enumerate(self.shares):
                    options = {
                        kind: after_grants(self.pool.moved(running, kind, +1), waiting - 1)
                        for kind in self.pool.choices(j, running)
                    }
                    best = min(options, key=options.get)
                    chosen[running, waiting, j] = best
                    total += share * options[best]
                memory[running, waiting] = total
            return memory[running, waiting]

        def rule(running, waiting, j):
            after_grants(running, waiting)
            return chosen[running, waiting, j]

        return rule, after_grants

    def changes(self, values):
        """Return the change of each value per unit of time under the best decisions."""
        _, after_grants = self.best_rule(values)
        found = self.cost()
        for state, here in self.place.items():
            for rate, running, waiting in self.events(state):
                if waiting is not None:
                    found[here] += rate * (after_grants(running, waiting) - values[here])
        return found

    def solve(self, rule):
        """Return the cost per unit of time and the relative values of a rule."""
        matrix = -self.generator(rule)
        matrix[:, 0] += 1.0
        values = np.linalg.solve(matrix, self.cost())
        gain = float(values[0])
        return gain, values - gain

    def least_cost(self):
        """Return the least cost per arrival and its rule, by Howard's policy iteration."""
        gain, values = self.solve(lambda running, _, j: self.pool.choices(j, running)[0])
        while True:
            rule, _ = self.best_rule(values)
            better, values = self.solve(rule)
            if better >= gain * (1.0 - 1e-12):
                return better / self.rate, rule
            gain = better

    def law(self, rule):
        """Return the stationary distribution under a rule."""
        equations = self.generator(rule).T.copy()
        equations[0] = 1.0
        right = np.zeros(len(self.states))
        right[0] = 1.0
        return np.linalg.solve(equations, right)

    def figures(self, rule):
        """Return jobs, waiting jobs, blocking and P(wait | accepted) under a rule."""
        law = self.law(rule)
        jobs = sum(p * self.jobs(state) for p, state in zip(law, self.states, strict=True))
        queue = sum(p * state[1] for p, state in zip(law, self.states, strict=True))
        full = [self.is_full(state[0]) for state in self.states]
        last = [
            is_full and s[1] == self.places for is_full, s in zip(full, self.states, strict=True)
        ]
        blocked = float(law[last].sum())
        return jobs, queue, blocked, (float(law[full].sum()) - blocked) / (1.0 - blocked)
