"""The state of the cluster that a policy sees when a job may start."""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, final

from moldable.errors import PolicyError, shown

Jobs = Mapping[str, Mapping[int, int]]
"""Running jobs: by class name, then by width."""


@final
class _Untold(Mapping[str, Mapping[int, int]]):
    """Stands for running jobs where an evaluator tabulates a policy; looking at them is an error.

    Without it a policy would be evaluated as if it did not depend on running jobs.
    """

    def __getitem__(self, name: str) -> Mapping[int, int]:
        raise _not_told()

    def __iter__(self) -> Iterator[str]:
        raise _not_told()

    def __len__(self) -> int:
        raise _not_told()


UNTOLD: Final = _Untold()


def _not_told() -> PolicyError:
    return PolicyError(
        "this policy looks at running jobs, so it can be used by grant, but not evaluated; decide "
        "by idle servers and waiting jobs only"
    )


def held_servers(running: Jobs) -> int:
    """Return the number of servers that running jobs hold."""
    return sum(width * jobs for row in running.values() for width, jobs in row.items())


@final
@dataclass(frozen=True, slots=True)
class Observation:
    """The state that a job sees when it arrives or reaches the head of the queue.

    Args:
        idle: idle servers among those that the job may use.
        waiting: jobs that wait behind this one.
        running: running jobs by class name and width; None where that is not known.

    Examples:
        >>> Observation(idle=5, running={"jobs": {1: 3}}).idle
        5
    """

    idle: int
    waiting: int = 0
    running: Jobs | None = None

    def __post_init__(self) -> None:
        for name in ("idle", "waiting"):
            count = getattr(self, name)
            if type(count) is int and count >= 0:  # checking the abstract class takes longer
                continue
            if isinstance(count, bool) or not isinstance(count, numbers.Integral) or count < 0:
                raise PolicyError(f"{name}={shown(count)} must be a whole number from 0")
        if type(self.running) is not dict and not isinstance(self.running, Mapping | None):
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
