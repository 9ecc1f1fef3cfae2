"""Naive version of the exact chain: find every reachable state, then eliminate one by one.

Only `Policy.decide` is called; granted widths and transitions of phases are computed here.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from moldable import Policy, Workload


class TooMany(Exception):  # noqa: N818 - ends the search for states
    """There are too many states for a dense matrix."""


@dataclass(frozen=True)
class Dense:
    """The exact answer: `law` maps states, pairs of (slot, jobs), to probabilities.

    A slot is (class, width, phase).
    """

    law: dict
    blocking: list[float]
    mean_time: float
    shares: dict[int, float]
    busy: np.ndarray

    def jobs(self, width):
        """Return the probabilities of 0, 1, ... jobs of a width."""
        found = defaultdict(float)
        for state, weight in self.law.items():
            found[sum(x for (_, w, _), x in state if w == width)] += weight
        return np.array([found[x] for x in range(max(found) + 1)])


def granted(curve, wish, idle, *, strict):
    """Return the width that is granted for a drawn width, or None if the job is blocked."""
    if strict:
        return wish if wish <= idle else None
    fitting = [width for width in curve if width <= min(wish, idle)]
    if not fitting:
        return None
    fastest = max(curve[width] for width in fitting)
    return min(width for width in fitting if curve[width] == fastest)


def chances(policy: Policy, job_class, idle):
    """Return {width or None: probability} for a job that finds `idle` idle servers."""
    curve = dict(
        zip(job_class.speedup.widths.tolist(), job_class.speedup.speedups.tolist(), strict=True)
    )
    found = defaultdict(float)
    for wish, probability in policy.decide(job_class, idle).items():
        found[granted(curve, wish, idle, strict=policy.strict)] += probability
    return {width: chance for width, chance in found.items() if chance > 0.0}


def solve(workload: Workload, servers: int, policy: Policy, most_states: int = 10_000) -> Dense:
    """Return the stationary distribution of classes that share servers."""
    states, rates = all_rates(workload, servers, policy, most_states)
    return _sums(workload, servers, policy, dict(zip(states, _eliminate(rates), strict=True)))


def all_rates(workload: Workload, servers: int, policy: Policy, most_states: int = 10_000):
    """Return the states reachable from the empty system, and the rates from each (row) to each."""
    steps = _walk(workload, servers, policy, most_states)
    states = list(steps)
    place = {state: k for k, state in enumerate(states)}
    rates = np.zeros((len(states), len(states)))
    for state, targets in steps.items():
        for target, rate in targets:
            rates[place[state], place[target]] += rate
    return states, rates


def _walk(workload, servers, policy, most_states):
    """Return {state: [(next state, rate)]} of all states reachable from the empty system."""
    phases = [part.size.phases for part in workload.classes]
    seen: dict = {}
    waiting = [()]
    while waiting:
        state = waiting.pop()
        if state in seen:
            continue
        seen[state] = list(_steps(workload, phases, servers, policy, state))
        if len(seen) > most_states:
            raise TooMany
        waiting += [target for target, _ in seen[state]]
    return seen


def _steps(workload, phases, servers, policy, state):
    jobs = dict(state)
    idle = servers - sum(width * x for (_, width, _), x in state)
    for j, job_class in enumerate(workload.classes):
        for width, chance in chances(policy, job_class, idle).items():
            for phase, start in enumerate(phases[j].alpha):
                if width is not None and start > 0.0:
                    entered = _changed(jobs, (j, width, phase), +1)
                    yield entered, job_class.arrival_rate * chance * start
    for (j, width, phase), x in state:
        job_class = workload.classes[j]
        pace = job_class.speedup[width] / job_class.mean_size * x
        row = phases[j].T[phase]
        without = dict(_changed(jobs, (j, width, phase), -1))
        for after, rate in enumerate(row):
            if after != phase and rate > 0.0:
                yield _changed(without, (j, width, after), +1), pace * rate
        leaving = -row.sum()
        if leaving > 1e-12:
            yield _changed(without), pace * leaving


def _changed(jobs, slot=None, by=0):
    changed = dict(jobs)
    if slot is not None:
        changed[slot] = changed.get(slot, 0) + by
    return tuple(sorted((slot, x) for slot, x in changed.items() if x > 0))


def _eliminate(rates):
    """Return the stationary distribution by the elimination of Grassmann, Taksar and Heyman (1985).

    There are no subtractions, so every probability is accurate to nearly all digits.
    """
    rates = rates.copy()
    for k in range(len(rates) - 1, 0, -1):
        rates[:k, k] /= rates[k, :k].sum()
        rates[:k, :k] += np.outer(rates[:k, k], rates[k, :k])
    law = np.zeros(len(rates))
    law[0] = 1.0
    for k in range(1, len(rates)):
        law[k] = law[:k] @ rates[:k, k]
    return law / law.sum()


def _sums(workload, servers, policy, law):
    busy = np.zeros(servers + 1)
    for state, weight in law.items():
        busy[sum(width * x for (_, width, _), x in state)] += weight
    blocking = [0.0] * len(workload.classes)
    accepted, times = defaultdict(float), 0.0
    for j, job_class in enumerate(workload.classes):
        for held, weight in enumerate(busy):
            for width, chance in chances(policy, job_class, servers - held).items():
                if width is None:
                    blocking[j] += weight * chance
                else:
                    flow = job_class.arrival_rate * weight * chance
                    accepted[width] += flow
                    times += flow * job_class.mean_size / job_class.speedup[width]
    total = sum(accepted.values())
    shares = {width: flow / total for width, flow in accepted.items() if flow > 0.0}
    return Dense(law, blocking, times / total, shares, busy)
