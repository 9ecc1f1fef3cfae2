"""A policy with all widths one step narrower or wider."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from moldable.allocation.frontier import Frontier
from moldable.arrays import Floats, Ints
from moldable.model.workload import JobClass
from moldable.policies.observation import Observation
from moldable.policies.policy import Policy

STEPS: Final = {"one step narrower": -1, "one step wider": 1}


@final
@dataclass(frozen=True)
class OneStep(Policy):
    """Grant the next width of the frontier below or above the one that another policy grants.

    The width stays the same where there is none, or where the wider one does not fit.

    Attributes:
        policy: the other policy.
        step: -1 for narrower widths, 1 for wider ones.
    """

    policy: Policy
    step: int

    def choose(self, job_class: JobClass, observation: Observation) -> Mapping[int, float]:
        """Return the neighbours of the widths that the other policy grants."""
        widths = job_class.speedup.widths.tolist()
        near = widths_one_step(job_class, self.step)
        found: dict[int, float] = {}
        for width, share in self.policy.granted_shares(job_class, observation).items():
            moved = int(near[widths.index(width)]) if width else 0
            granted = width if moved > observation.idle else moved
            found[granted] = found.get(granted, 0.0) + share
        return found

    def tabulate_class(self, job_class: JobClass, servers: int) -> Floats:
        """Return the table of the other policy with its widths moved."""
        own = self.policy.tabulate_class(job_class, servers)
        # The last row stands for all larger idle counts, in which wider widths may fit.
        widest = int(job_class.speedup.widths[-1])
        missing = min(servers, widest) + 1 - len(own)
        if missing > 0:
            own = np.vstack([own, np.repeat(own[-1:], missing, axis=0)])
        return self._moved(job_class, own)

    def tabulate_behind(self, job_class: JobClass, most_idle: int, behind: int) -> Floats:
        """Return the table of the other policy while jobs wait, with its widths moved."""
        return self._moved(job_class, self.policy.tabulate_behind(job_class, most_idle, behind))

    def reach(self, job_class: JobClass, servers: int) -> int:
        """Return the reach of the other policy, or the widest width if that is more."""
        widest = int(job_class.speedup.widths[-1])
        return min(max(self.policy.reach(job_class, servers), widest), servers)

    def waiting_reach(self, job_class: JobClass, most_idle: int) -> int:
        """Return the number of waiting jobs from which the other policy decides alike."""
        return self.policy.waiting_reach(job_class, most_idle)

    def _moved(self, job_class: JobClass, table: Floats) -> Floats:
        widths = job_class.speedup.widths
        near = widths_one_step(job_class, self.step)
        found, idle = np.zeros_like(table), np.arange(len(table))
        for k, moved in enumerate(np.searchsorted(widths, near).tolist()):
            fits = idle >= widths[moved]
            found[fits, moved] += table[fits, k]
            found[~fits, k] += table[~fits, k]
        return found

    @property
    def name(self) -> str:
        """The policy and the step."""
        return f"{self.policy.name}, one step {'wider' if self.step > 0 else 'narrower'}"


def widths_one_step(job_class: JobClass, step: int) -> Ints:
    """Return, for each allowed width, the next one of the frontier below (-1) or above (1) it."""
    widths, corners = job_class.speedup.widths, Frontier.of(job_class.speedup).widths
    if step > 0:
        at = np.searchsorted(corners, widths, side="right")
        inside = at < corners.size
    else:
        at = np.searchsorted(corners, widths, side="left") - 1
        inside = at >= 0
    near: Ints = np.where(inside, corners[np.where(inside, at, 0)], widths)
    return near
