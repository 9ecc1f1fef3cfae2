"""Naive version of the chain with a queue: a dictionary of states, plain rules, a dense matrix.

A policy is a function choose(class, idle, behind) that returns {width: probability}; a job whose
probabilities add up to 0 holds. A state is (running jobs, waiting classes). With `remember` it
contains the classes of all waiting jobs in their order; without, that of the first one only, and
the others are drawn when they get there.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

ANY = "any"
"""The class of a waiting job that is not drawn yet."""


class TooMany(Exception):  # noqa: N818 - ends the search for states
    """There are too many states for a dense matrix."""


class Stuck(Exception):  # noqa: N818 - ends the search for states
    """Somebody waits while nothing runs, so nothing ever changes again."""


@dataclass(frozen=True)
class Dense:
    """The exact answer; lists are by class, `jobs` and `granted` by (class, width)."""

    law: dict
    blocking: list[float]
    waits: list[float]
    waiting_jobs: list[float]
    jobs: dict
    granted: dict
    queue_length: np.ndarray
    busy: np.ndarray


@dataclass
class Queue:
    """A cluster with a queue."""

    scenario: object
    choose: object
    places: int
    remember: bool = False
    most_states: int = 1500

    def __post_init__(self):
        self.classes = self.scenario.workload.classes
        self.phases = [part.size.phases for part in self.classes]
        total = sum(part.arrival_rate for part in self.classes)
        self.shares = [part.arrival_rate / total for part in self.classes]

    def idle(self, jobs):
        return self.scenario.servers - sum(width for _, width, _ in jobs)

    def drawn(self, waiting):
        """Return [(queue whose first class is known, probability)]."""
        if waiting and waiting[0] == ANY:
            return [((j, *waiting[1:]), share) for j, share in enumerate(self.shares)]
        return [(waiting, 1.0)]

    def offered(self, jobs, waiting, granted=()):
        """Offer idle servers to one head after another: [(jobs, waiting, granted, probability)]."""
        if not waiting:
            return [(jobs, waiting, granted, 1.0)]
        found = []
        for known, share in self.drawn(waiting):
            job_class = known[0]
            kinds = self.choose(job_class, self.idle(jobs), len(known) - 1)
            if not kinds:
                found.append((jobs, known, granted, share))
            for width, chance in kinds.items():
                for phase, start in enumerate(self.phases[job_class].alpha):
                    if start > 0.0:
                        after = tuple(sorted((*jobs, (job_class, width, phase))))
                        more = (*granted, (job_class, width))
                        found += [
                            (*rest, share * chance * start * part)
                            for *rest, part in self.offered(after, known[1:], more)
                        ]
        return found

    def arrivals(self, state):
        """Return [(class, next state or None if blocked, granted, rate)]."""
        jobs, waiting = state
        found = []
        for j, part in enumerate(self.classes):
            if waiting:
                new = j if self.remember else ANY
                room = len(waiting) < self.places
                found.append((j, (jobs, (*waiting, new)) if room else None, (), part.arrival_rate))
                continue
            for after, left, granted, chance in self.offered(jobs, (j,)):
                refused = left and self.places == 0
                found.append(
                    (j, None if refused else (after, left), granted, part.arrival_rate * chance)
                )
        return found

    def departures(self, state):
        """Return [(next state, granted, rate)], changes of phase included."""
        jobs, waiting = state
        found = []
        for slot in set(jobs):
            j, width, phase = slot
            rest = list(jobs)
            rest.remove(slot)
            pace = jobs.count(slot) * self.classes[j].speedup[width] / self.classes[j].mean_size
            row = np.asarray(self.phases[j].T)[phase]
            for after, rate in enumerate(row):
                if after != phase and rate > 0.0:
                    moved = tuple(sorted((*rest, (j, width, after))))
                    found.append(((moved, waiting), (), pace * rate))
            if -row.sum() > 1e-12:
                for after, left, granted, chance in self.offered(tuple(rest), waiting):
                    found.append(((after, left), granted, pace * -row.sum() * chance))
        return found

    def walk(self):
        """Return {state: (arrivals, departures)} of the states reached from the empty cluster."""
        seen, todo = {}, [((), ())]
        while todo:
            state = todo.pop()
            if state in seen:
                continue
            if state[1] and not state[0]:
                raise Stuck
            seen[state] = self.arrivals(state), self.departures(state)
            if len(seen) > self.most_states:
                raise TooMany
            todo += [after for _, after, _, _ in seen[state][0] if after is not None]
            todo += [after for after, _, _ in seen[state][1]]
        return seen

    def solve(self):
        """Return the stationary distribution and what follows from it."""
        steps = self.walk()
        place = {state: k for k, state in enumerate(steps)}
        rates = np.zeros((len(place), len(place)))
        for state, (arrivals, departures) in steps.items():
            targets = [(after, rate) for _, after, _, rate in arrivals if after is not None]
            for after, rate in targets + [(after, rate) for after, _, rate in departures]:
                rates[place[state], place[after]] += rate
        balance = (np.diag(rates.sum(axis=1)) - rates).T
        balance[0] = 1.0
        right = np.zeros(len(place))
        right[0] = 1.0
        law = np.linalg.solve(balance, right) if len(place) > 1 else np.ones(1)
        return self.sums(steps, dict(zip(steps, law.tolist(), strict=True)))

    def sums(self, steps, law):
        count = len(self.classes)
        blocking, waits, waiting_jobs = [0.0] * count, [0.0] * count, [0.0] * count
        jobs, granted = defaultdict(float), defaultdict(float)
        queue_length = np.zeros(max(len(waiting) for _, waiting in law) + 1)
        busy = np.zeros(self.scenario.servers + 1)
        for state, weight in law.items():
            queue_length[len(state[1])] += weight
            busy[self.scenario.servers - self.idle(state[0])] += weight
            for j, width, _ in state[0]:
                jobs[j, width] += weight
            for j in range(count):
                waiting_jobs[j] += weight * (
                    state[1].count(j) + state[1].count(ANY) * self.shares[j]
                )
            arrivals, departures = steps[state]
            for j, after, kinds, rate in arrivals:
                share = weight * rate / self.classes[j].arrival_rate
                if after is None:
                    blocking[j] += share
                elif not kinds:
                    waits[j] += share
                for kind in kinds:
                    granted[kind] += weight * rate
            for kind, rate in [(kind, rate) for _, kinds, rate in departures for kind in kinds]:
                granted[kind] += weight * rate
        return Dense(
            law, blocking, waits, waiting_jobs, dict(jobs), dict(granted), queue_length, busy
        )
