"""What a policy may look at when a job arrives."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from moldable.errors import PolicyError, shown

Jobs = Mapping[str, Mapping[int, int]]
"""Running jobs: by class name, then by width."""


def held_servers(running: Jobs) -> int:
    """Return the number of servers that running jobs hold."""
    return sum(width * jobs for row in running.values() for width, jobs in row.items())


@final
@dataclass(frozen=True, slots=True)
class Observation:
    """The cluster as an arriving job finds it.

    Args:
        idle: idle servers among those that the job may use.
        waiting: jobs that wait for a server.
        running: running jobs by class name and width; None where that is not known.

    Example:
        >>> Observation(idle=5, running={"jobs": {1: 3}}).idle
        5
    """

    idle: int
    waiting: int = 0
    running: Jobs | None = None

    def __post_init__(self) -> None:
        for name in ("idle", "waiting"):
            count = getattr(self, name)
            if isinstance(count, bool) or not isinstance(count, numbers.Integral) or count < 0:
                raise PolicyError(f"{name}={shown(count)} must be a whole number from 0")
        if not isinstance(self.running, Mapping | None):
            raise PolicyError(
                f"running={shown(self.running)} must map class names to {{width: jobs}}, or be None"
            )


def observed(observation: Observation | None, idle: int | None) -> Observation:
    """Return what a job finds, from an observation or from the number of idle servers."""
    if (observation is None) == (idle is None):
        raise PolicyError("give either an observation or idle=..., such as grant('jobs', idle=5)")
    if idle is not None:
        return Observation(idle)
    if not isinstance(observation, Observation):
        raise PolicyError(f"{shown(observation)} is not an observation; pass Observation(idle=5)")
    return observation
