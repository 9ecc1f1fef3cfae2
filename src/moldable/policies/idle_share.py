"""The idle share: the idle servers are divided among the job and those that wait behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from moldable.model.workload import JobClass
from moldable.policies.observation import Observation
from moldable.policies.policy import Policy


@final
@dataclass(frozen=True)
class IdleShare(Policy):
    """Divide the idle servers evenly among this job and those that wait.

    Examples:
        >>> policy = IdleShare().with_classes(Scenario.single([1, 1.8, 2.5], 0.8, 8))
        >>> policy.grant("jobs", Observation(idle=6, waiting=2))
        2
    """

    name = "idle share"

    def choose(self, job_class: JobClass, observation: Observation) -> Mapping[int, float]:
        """Return idle / (waiting + 1), at least the narrowest width."""
        share = observation.idle // (observation.waiting + 1)
        return {max(share, int(job_class.speedup.widths[0])): 1.0}

    def reach(self, job_class: JobClass, servers: int) -> int:
        """Return the widest width: more idle servers change nothing while no job waits."""
        return min(int(job_class.speedup.widths[-1]), servers)

    def waiting_reach(self, job_class: JobClass, most_idle: int) -> int:  # noqa: ARG002
        """Return the most idle servers: with as many waiting, each gets the narrowest width."""
        return most_idle
