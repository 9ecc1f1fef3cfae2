"""The base class of policies.

A policy returns widths with their probabilities, from which one is drawn. What is granted is the
fastest allowed width that fits into min(drawn, idle), the narrowest of equally fast ones; a job is
blocked if none fits, or waits if there are waiting places. Width 0 refuses a job although it would
fit. Under a strict policy a job gets exactly the width drawn, or none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from copy import copy
from itertools import accumulate
from types import MappingProxyType
from typing import Final, Self

import numpy as np

from moldable.arrays import Floats
from moldable.checks import checked_int
from moldable.errors import PolicyError, shown, suggest
from moldable.model.scenario import ScenarioOrFile, checked_scenario
from moldable.model.workload import JobClass, Workload
from moldable.policies.observation import UNTOLD, Observation, observed
from moldable.policies.outcomes import Outcomes, drawn
from moldable.policies.policy_table import (
    PolicyTable,
    checked_shares,
    grantable,
    refuse_large_table,
    refuse_unknown_width,
)

LARGEST_TABLE: Final = 200_000
"""Rows beyond which a policy must override `reach`."""
MANY_WAITING: Final = 100
"""Waiting jobs beyond which a policy is taken to decide alike unless it says otherwise."""


class Policy:
    """A rule that gives each arriving job a width.

    A user's own policy needs one method: `decide`, or `choose` if it also looks at waiting jobs. If
    its decisions no longer change from some number of idle servers or waiting jobs on, overriding
    `reach` or `waiting_reach` keeps its table short. A policy that looks at running jobs can be
    asked by `grant`, but not evaluated.

    Attributes:
        strict: whether a job gets exactly the width drawn or is blocked, rather than what fits.
        ignores_idle: whether `decide` returns the same at every idle count.
        name: what reports call the policy.

    Examples:
        >>> class LeaveTwoIdle(Policy):
        ...     def decide(self, job_class, idle):
        ...         return {max(idle - 2, 0): 1.0}
        >>> round(evaluate(Scenario.single([1, 1.8, 2.5], 0.5, 8), LeaveTwoIdle()).blocking, 4)
        0.3299
    """

    strict: bool = False
    ignores_idle: bool = False
    known_classes: Mapping[str, JobClass] = MappingProxyType({})
    """Classes that `grant` takes by name."""

    def decide(self, job_class: JobClass, idle: int) -> Mapping[int, float]:  # noqa: ARG002
        """Return widths and their probabilities for a job that finds `idle` idle servers.

        Width 0 refuses the job.
        """
        raise PolicyError(
            f"policy {self.name} has no rule; give it a method decide(job_class, idle), or "
            f"choose(job_class, observation), that returns {{width: probability}}"
        )

    def choose(self, job_class: JobClass, observation: Observation) -> Mapping[int, float]:
        """Return widths and their probabilities for a job that finds the cluster like this.

        By default it is `decide` with the idle servers. In evaluations `observation.running` is not
        known, and looking at it is an error.
        """
        return self.decide(job_class, observation.idle)

    def grant(
        self,
        job_class: JobClass | str,
        observation: Observation | None = None,
        u: float | None = None,
        *,
        idle: int | None = None,
    ) -> int:
        """Return the number of servers granted to a job; 0: it is blocked, or waits.

        Args:
            job_class: its class, or the name of a class that the policy knows, see `with_classes`.
            observation: the cluster as the job finds it.
            u: uniform on [0, 1): draws among random widths; a larger number draws a wider width.
                It is not needed where the decision is not random.
            idle: instead of an observation, the number of idle servers.
        """
        job_class, seen = self._class_of(job_class), observed(observation, idle)
        outcomes = self.outcomes(job_class, seen)
        return drawn(outcomes, u, f"policy {self.name}, class {job_class.name!r}, {seen.idle} idle")

    def outcomes(self, job_class: JobClass | str, observation: Observation) -> Outcomes:
        """Return the servers that a job may get now; `grant` draws one of them."""
        job_class = self._class_of(job_class)
        where = f"policy {self.name}, class {job_class.name!r}, {observation.idle} idle"
        shares = checked_shares(where, self.choose(job_class, observation), 0)
        likely = sorted([width for width, probability in shares.items() if probability > 0.0])
        ends = accumulate([shares[width] for width in likely])
        granted = [self._fitting(job_class, width, observation.idle) for width in likely]
        return tuple(zip(ends, granted, strict=True))

    def granted_shares(
        self, job_class: JobClass | str, observation: Observation
    ) -> dict[int, float]:
        """Return the servers that a job may get now, with their probabilities; 0: it gets none."""
        job_class = self._class_of(job_class)
        where = f"policy {self.name}, class {job_class.name!r}, {observation.idle} idle"
        found: dict[int, float] = {}
        for width, share in checked_shares(where, self.choose(job_class, observation), 0).items():
            if share > 0.0:
                granted = self._fitting(job_class, width, observation.idle)
                found[granted] = found.get(granted, 0.0) + share
        return dict(sorted(found.items()))

    def _fitting(self, job_class: JobClass, width: int, idle: int) -> int:
        """Return the servers granted to a job for which a width was drawn."""
        if self.strict:
            refuse_unknown_width(self.name, job_class, width)
            return width if width <= idle else 0
        return fastest_width(job_class, min(width, idle))

    def __repr__(self) -> str:
        """Show a user's own policy; those of the library show their arguments."""
        return f"<policy {self.name}>"

    def with_classes(self, scenario: ScenarioOrFile) -> Self:
        """Return a copy that knows the classes of a scenario, so that `grant` takes their names.

        Policies that were computed for a scenario know its classes already.
        """
        return self.knowing(checked_scenario(scenario).workload.classes)

    def knowing(self, classes: Iterable[JobClass]) -> Self:
        """Return a copy that knows these classes."""
        known = {job_class.name: job_class for job_class in classes}
        told = copy(self)
        object.__setattr__(told, "known_classes", known)  # own policies may be frozen
        return told

    def _class_of(self, job_class: JobClass | str) -> JobClass:
        if isinstance(job_class, JobClass):
            return job_class
        known = self.known_classes
        if isinstance(job_class, str) and job_class in known:
            return known[job_class]
        hint = (
            suggest(str(job_class), known)
            if known
            else "call policy.with_classes('cluster.toml'), with a scenario or its file"
        )
        raise PolicyError(
            f"policy {self.name} does not know the class {shown(job_class)}; pass a JobClass or a "
            f"name that it knows: {hint}"
        )

    def reach(self, job_class: JobClass, servers: int) -> int:
        """Return the idle count from which decisions no longer change; at most the servers."""
        return min(max(self.decide(job_class, 0)), servers) if self.ignores_idle else servers

    def waiting_reach(self, job_class: JobClass, most_idle: int) -> int:  # noqa: ARG002
        """Return the number of waiting jobs from which decisions no longer change.

        At most `most_idle` servers are idle while jobs wait. By default that number is 0, or 100
        for a policy that overrides `choose`.
        """
        return MANY_WAITING if self._chooses else 0

    @property
    def _chooses(self) -> bool:
        return type(self).choose is not Policy.choose

    def tabulate(self, workload: Workload, pools: tuple[int, ...]) -> PolicyTable:
        """Tabulate the policy for classes whose pools hold this many servers."""
        rows = tuple(map(self.tabulate_class, workload.classes, pools))
        return PolicyTable(workload.classes, rows, self.name)

    def tabulate_class(self, job_class: JobClass, servers: int) -> Floats:
        """Return the table of one class while no job waits, see `PolicyTable`."""
        reach = _reach(self, job_class, servers)
        refuse_large_table(self.name, reach + 1, len(job_class.speedup))
        return self._rows(job_class, reach, 0)

    def tabulate_queue(self, job_class: JobClass, most_idle: int) -> Floats:
        """Return the tables of one class while 1, 2, ... other jobs wait, up to `waiting_reach`.

        Each has a row for every idle count up to `most_idle`.
        """
        name = f"policy {self.name}: waiting_reach"
        asked = self.waiting_reach(job_class, most_idle)
        count = checked_int(asked, name, PolicyError, least=0)
        refuse_large_table(self.name, count * (most_idle + 1), len(job_class.speedup))
        tables = np.zeros((count, most_idle + 1, len(job_class.speedup)))
        for behind in range(1, count + 1):
            tables[behind - 1] = self.tabulate_behind(job_class, most_idle, behind)
        return tables

    def tabulate_behind(self, job_class: JobClass, most_idle: int, behind: int) -> Floats:
        """Return the table of one class while `behind` other jobs wait, by idle servers."""
        refuse_large_table(self.name, most_idle + 1, len(job_class.speedup))
        return self._rows(job_class, most_idle, behind)

    def _rows(self, job_class: JobClass, most_idle: int, waiting: int) -> Floats:
        """Return the probability of each width (column) by idle servers, up to a number of them."""
        curve = job_class.speedup
        granted = grantable(curve, most_idle)
        table = np.zeros((most_idle + 1, len(curve)))
        for idle in range(most_idle + 1):
            for width, probability in self._shares(job_class, idle, waiting).items():
                if width == 0:
                    continue
                if self.strict:
                    refuse_unknown_width(self.name, job_class, width)
                    k = int(np.searchsorted(curve.widths, width)) if width <= idle else -1
                else:
                    k = int(granted[min(width, idle)])
                if k >= 0:
                    table[idle, k] += probability
        return table

    @property
    def name(self) -> str:
        """The name in reports."""
        return type(self).__name__

    def _shares(self, job_class: JobClass, idle: int, waiting: int) -> Mapping[int, float]:
        where = f"policy {self.name}, class {job_class.name!r}, {idle} idle"
        if self._chooses:
            chosen = self.choose(job_class, Observation(idle, waiting, UNTOLD))
        else:
            chosen = self.decide(job_class, idle)
        return checked_shares(where, chosen, least=0)


def fastest_width(job_class: JobClass, servers: int) -> int:
    """Return the fastest width that fits on the servers, the narrowest of equally fast ones.

    0 if every allowed width needs more servers.
    """
    return job_class.speedup.fastest(servers)


def _reach(policy: Policy, job_class: JobClass, servers: int) -> int:
    asked = policy.reach(job_class, servers)
    name = f"policy {policy.name}: reach"
    reach = min(checked_int(asked, name, PolicyError, least=0, most=math.inf), servers)
    if reach > LARGEST_TABLE:
        raise PolicyError(
            f"policy {policy.name} would need {reach} rows; override reach(job_class, servers) "
            f"with the idle count from which its decisions no longer change"
        )
    return reach
