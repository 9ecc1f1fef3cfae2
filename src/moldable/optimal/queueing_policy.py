"""The optimal policy of a cluster with a queue, as a `Policy` for schedulers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from moldable.arrays import Ints
from moldable.model.workload import JobClass
from moldable.optimal.queue_iteration import QueuePolicy
from moldable.optimal.queue_problem import Index, QueueProblem, grant_nodes
from moldable.policies.observation import Observation
from moldable.policies.policy import Policy


@final
@dataclass(frozen=True, eq=False, repr=False)
class OptimalQueueingPolicy(Policy):
    """Grants the width that is best for the running jobs and the number of waiting ones.

    A job gets 0 servers, that is it waits or is blocked, only if none of its widths fits. Queues
    longer than those that were computed are treated as the longest of those.

    Attributes:
        queue: the states.
        best: what is done in each.

    Examples:
        >>> best = optimal_queueing(Scenario.single([1, 1.8, 2.5], 0.8, 8, waiting="unlimited"))
        >>> [best.policy.grant("jobs", Observation(2, k, {"jobs": {3: 2}})) for k in (0, 9)]
        [2, 1]
    """

    queue: QueueProblem
    best: QueuePolicy

    strict = True
    name = "optimal with a queue"

    @property
    def known_classes(self) -> Mapping[str, JobClass]:  # type: ignore[override]
        """Classes that `grant` takes by name."""
        return {part.name: part for part in self.queue.scenario.workload.classes}

    def choose(self, job_class: JobClass, observation: Observation) -> Mapping[int, float]:
        """Return the width of the job at the head of the queue, or of an arriving job.

        Args:
            job_class: a class of the scenario, known by its name.
            observation: with the running jobs; `waiting` counts the jobs behind this one.
        """
        pool = self.queue.pool
        number, state = pool.class_number(job_class.name), pool.state_seen(observation)
        if observation.idle < int(pool.widths[0]):
            return {0: 1.0}
        kind = self._kind(number, state, observation.waiting)
        return {int(pool.widths[kind]): 1.0}

    def _kind(self, job_class: int, state: int, behind: int) -> int:
        behind = min(behind, max(self.best.places - 1, 0))
        if behind == 0:
            return int(self.best.decisions[job_class, state])
        line = int(np.searchsorted(self.queue.pool.start, state, side="right")) - 1
        free = int(self.queue.full[line]) - state
        first, kinds = self.queue.pool.members
        own = kinds[first[job_class] : first[job_class + 1]]
        if free <= self.queue.depth:
            to = self.best.goes[behind, job_class, free - 1, line]
            return int(own[self.queue.onto[own, free - 1, line] == to][0])
        return self._beyond_one_completion(own, line, free, behind)

    def _beyond_one_completion(self, own: Ints, line: int, free: int, behind: int) -> int:
        """Return the best kind with jobs waiting at more idle servers than one completion leaves.

        This happens only at the start, or if several jobs end at once.
        """
        from moldable.kernels.queue_control import head_values

        pool, onto = self.queue.pool, self._all_nodes
        values = head_values(
            self.best.values, pool.start, *pool.members, pool.arrivals, onto, behind
        )
        to = onto[own, free - 1, line]
        return int(own[np.argmin(np.where(to >= 0, values[to], np.inf))])

    @cached_property
    def _all_nodes(self) -> Index:
        pool = self.queue.pool
        return grant_nodes(pool, int(np.diff(pool.start).max()) - 1)
