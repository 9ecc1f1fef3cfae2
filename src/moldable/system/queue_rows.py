"""The decisions of a policy while jobs wait, as arrays.

A job at the head of the queue that is not granted any width *holds*: it waits, and so do all jobs
behind it. While jobs wait, idle servers are those with which the head held, and those of jobs that
have ended since.
"""

from __future__ import annotations

import numpy as np

from moldable.arrays import Floats, Mask
from moldable.errors import SimulationError
from moldable.model.assumptions import ROUNDING
from moldable.model.scenario import Scenario
from moldable.policies.policy import Policy
from moldable.policies.policy_table import PolicyTable


def tabulate_waiting(scenario: Scenario, policy: Policy, table: PolicyTable) -> tuple[Floats, ...]:
    """Return, for each class, the rows of its table for 1, 2, ... jobs waiting behind.

    Each array has the shape (numbers of waiting jobs, idle counts, widths); the last number of
    waiting jobs stands for all larger ones, and no more servers than the last idle count are idle
    while jobs wait.
    """
    _refuse_endless_waiting(scenario, policy, table)
    servers, classes = scenario.servers, scenario.workload.classes
    widest = max(int(c.speedup.up_to(servers).widths[-1]) for c in classes)
    held = max(_last(_holds(rows)) for rows in table.rows)
    while True:
        most_idle = min(held + widest, servers)
        found = tuple(policy.tabulate_queue(job_class, most_idle) for job_class in classes)
        now = max(
            [held, *(_last(np.asarray(_holds(rows).any(axis=0))) for rows in found if rows.size)]
        )
        if now <= held:
            return found
        if now >= servers:
            raise _endless(policy, "a class", "while other jobs wait")
        held = now


def _holds(rows: Floats) -> Mask:
    """Return at which idle counts a job may be granted nothing."""
    return np.asarray(rows.sum(axis=-1) < 1.0 - ROUNDING)


def _last(holds: Mask) -> int:
    found = np.flatnonzero(holds)
    return int(found[-1]) if found.size else 0


def _refuse_endless_waiting(scenario: Scenario, policy: Policy, table: PolicyTable) -> None:
    for job_class, rows in zip(scenario.workload.classes, table.rows, strict=True):
        if _holds(rows)[min(scenario.servers, rows.shape[0] - 1)]:
            raise _endless(policy, f"class {job_class.name!r}", "while all servers are idle")


def _endless(policy: Policy, who: str, when: str) -> SimulationError:
    return SimulationError(
        f"policy {policy.name} may refuse a job of {who} {when}, so the job and all behind it "
        f"would wait for ever; grant it a width there, or take waiting=0, where such jobs are lost"
    )
