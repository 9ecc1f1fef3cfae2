"""How often is each state met under a policy that looks at all running jobs?"""

from __future__ import annotations

import numpy as np

from moldable.arrays import Floats, Ints, Mask
from moldable.errors import ChainError
from moldable.exact.states import Chain, product_form
from moldable.exact.stationary import stationary
from moldable.optimal.policy_iteration import BestPolicy, Decisions
from moldable.optimal.problem import ControlProblem
from moldable.system.performance import ClassPerformance, Estimate

CONSERVED = 1e-9
"""Relative difference between jobs coming and going that is rounding."""


def policy_law(problem: ControlProblem, policy: BestPolicy) -> Floats:
    """Return the stationary probability of every state; zero for those never met."""
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
    law[kept], _ = stationary(chain, product_form(jobs, _offered(problem, policy, kept)))
    return law


def _offered(problem: ControlProblem, policy: BestPolicy, met: Mask) -> Floats:
    """Return the jobs of each kind that would run if all states met were alike: a first guess."""
    shares = granted(problem, policy.decisions, met / met.sum())[:, :-1]
    return np.asarray(problem.arrivals @ shares * problem.times)


def granted(problem: ControlProblem, decisions: Decisions, law: Floats) -> Floats:
    """Return the probability of each kind for each class (row), and at last of being blocked."""
    size = problem.widths.size + 1
    chances = [np.bincount(chosen.astype(np.int64) + 1, law, size) for chosen in decisions]
    return np.roll(np.array(chances), -1, axis=1)


def class_figures(
    problem: ControlProblem, decisions: Decisions, law: Floats
) -> tuple[ClassPerformance, ...]:
    """Sum the law up for every class, and check that as many jobs go as come."""
    chances = granted(problem, decisions, law)
    running = np.array([jobs @ law for jobs in problem.jobs()])
    coming = problem.arrivals @ chances[:, :-1]
    worst = float(np.abs(coming * problem.times - running).max())
    if not worst <= CONSERVED * max(1.0, float(running.max())):
        raise ChainError(
            f"the law of the best policy fails rate conservation by {worst:.2g}: a bug, please "
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
    """Return the width granted most often at each idle count, by class, and how often that is.

    Where no idle count like this is met, the width of the next smaller one is repeated; 0 means
    blocked. The second result is the share of arrivals that such a table treats alike.
    """
    idle, kinds = problem.idle(), problem.widths.size
    widths = np.append(problem.widths, 0)
    table, agreeing = {}, 0.0
    for j, job_class in enumerate(problem.workload.classes):
        chances = _by_idle(decisions[j], law, idle, problem.servers, kinds)
        chosen: list[int] = []
        for row in chances:
            met = bool(row.any())
            chosen.append(int(widths[np.argmax(row)]) if met else chosen[-1] if chosen else 0)
        table[job_class.name] = tuple(chosen)
        agreeing += job_class.arrival_rate * float(chances.max(axis=1).sum())
    return table, agreeing / problem.workload.arrival_rate


def _by_idle(decisions: Decisions, law: Floats, idle: Ints, servers: int, kinds: int) -> Floats:
    """Return the probability of each idle count (row) with each kind granted, or at last none."""
    places = idle * (kinds + 1) + np.where(decisions < 0, kinds, decisions)
    chances = np.bincount(places, law, (servers + 1) * (kinds + 1))
    return chances.reshape(servers + 1, kinds + 1).astype(np.float64)
