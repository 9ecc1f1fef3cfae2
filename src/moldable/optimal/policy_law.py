"""The stationary distribution and performance of a policy that sees all running jobs."""

from __future__ import annotations

import numpy as np

from moldable.arrays import Floats
from moldable.errors import ChainError
from moldable.exact.states import Chain, product_form
from moldable.exact.stationary import stationary
from moldable.optimal.policy_iteration import BestPolicy, Decisions
from moldable.optimal.problem import ControlProblem
from moldable.system.estimate import Estimate
from moldable.system.performance import ClassPerformance

CONSERVED = 1e-9
"""Largest relative difference between arriving and departing jobs."""


def policy_law(problem: ControlProblem, policy: BestPolicy) -> Floats:
    """Return the stationary probability of every state; zero for transient ones."""
    from moldable.kernels.policy_chain import policy_inflow, recurrent

    states, kinds = problem.states, problem.widths.size
    place, waiting = np.empty(states, dtype=np.int32), np.empty(states, dtype=np.int32)
    lines = (problem.start, problem.counts, problem.before)
    met = recurrent(*lines, policy.target, place, waiting)
    row, out = np.empty(met + 1, dtype=np.int32), np.empty(met)
    source, rate = np.empty(2 * kinds * met, dtype=np.int32), np.empty(2 * kinds * met)
    choices = (problem.after, problem.room, problem.rates, problem.arrivals, problem.owner)
    used = policy_inflow(*lines, *choices, policy.decisions, place, row, source, rate, out)
    kept = place >= 0
    jobs = problem.jobs()[:, kept]
    chain = Chain(jobs, row, source[:used].copy(), rate[:used].copy(), out)
    del source, rate, waiting
    law = np.zeros(states)
    # As a first guess, the mean jobs of each kind if all these states were equally likely.
    shares = granted(problem, policy.decisions, kept / kept.sum())[:, :-1]
    law[kept], _ = stationary(chain, product_form(jobs, problem.arrivals @ shares * problem.times))
    return law


def granted(problem: ControlProblem, decisions: Decisions, law: Floats) -> Floats:
    """Return the probability of each kind for each class (row), last of being blocked."""
    size = problem.widths.size + 1
    chances = [np.bincount(chosen.astype(np.int64) + 1, law, size) for chosen in decisions]
    return np.roll(np.array(chances), -1, axis=1)


def class_figures(
    problem: ControlProblem, decisions: Decisions, law: Floats
) -> tuple[ClassPerformance, ...]:
    """Return the performance of every class, and check rate conservation."""
    chances = granted(problem, decisions, law)
    running = np.array([jobs @ law for jobs in problem.jobs()])
    coming = problem.arrivals @ chances[:, :-1]
    worst = float(np.abs(coming * problem.times - running).max())
    if not worst <= CONSERVED * max(1.0, float(running.max())):
        raise ChainError(
            f"the best policy's distribution fails rate conservation by {worst:.2g}: a bug, please "
            f"report it"
        )
    figures = []
    for j, job_class in enumerate(problem.workload.classes):
        own = np.flatnonzero(problem.owner == j)
        taken = chances[j, own]
        accepted = float(taken.sum())
        widths = problem.widths[own].tolist()
        figures.append(
            ClassPerformance(
                job_class.name,
                Estimate.exact(float(chances[j, -1])),
                Estimate.exact(float(taken @ problem.times[own]) / accepted),
                dict(zip(widths, (taken / accepted).tolist(), strict=True)),
                dict(zip(widths, (running[own] / problem.servers).tolist(), strict=True)),
            )
        )
    return tuple(figures)


def commonest_widths(
    problem: ControlProblem, decisions: Decisions, law: Floats
) -> tuple[dict[str, tuple[int, ...]], float]:
    """Return the width granted most often at each idle count, by class; 0: blocked.

    Idle counts that do not occur repeat the width of the next smaller one. The second result is the
    share of arrivals for which this table decides as the policy does.
    """
    idle, size = problem.idle(), problem.widths.size + 1
    widths = np.append(problem.widths, 0)
    table, agreeing = {}, 0.0
    for j, job_class in enumerate(problem.workload.classes):
        places = idle * size + np.where(decisions[j] < 0, size - 1, decisions[j])
        chances = np.bincount(places, law, (problem.servers + 1) * size).reshape(-1, size)
        chosen: list[int] = []
        for row in chances:
            met = bool(row.any())
            chosen.append(int(widths[np.argmax(row)]) if met else chosen[-1] if chosen else 0)
        table[job_class.name] = tuple(chosen)
        agreeing += job_class.arrival_rate * float(chances.max(axis=1).sum())
    return table, agreeing / problem.workload.arrival_rate
