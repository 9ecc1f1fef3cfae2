"""What every evaluator reads of a policy: which width is granted, by class and idle servers.

A policy says what it would like to give; what is granted is the fastest allowed width that fits
into min(wish, idle), the narrowest of equally fast ones, and a job is blocked only if none fits.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from moldable.errors import PolicyError
from moldable.hull import Floats, Ints
from moldable.speedup import SpeedUp
from moldable.workload import JobClass, Workload

LARGEST_TABLE: Final = 200_000
"""Rows beyond which a policy must say where its decisions stop changing."""


class Policy(ABC):
    """A rule that gives each arriving job a width.

    A user's own policy needs one method, `decide`. If its decisions no longer change from some
    number of idle servers on, overriding `reach` keeps its table short.
    """

    @abstractmethod
    def decide(self, job_class: JobClass, idle: int) -> Mapping[int, float]:
        """Return the wished widths and their probabilities for a job that finds `idle` servers."""

    def reach(self, job_class: JobClass, servers: int) -> int:  # noqa: ARG002 - for subclasses
        """Return the idle count from which decisions no longer change; at most the servers."""
        return servers

    def tabulate(self, workload: Workload, pools: tuple[int, ...]) -> PolicyTable:
        """Tabulate the policy for classes whose pools hold this many servers."""
        rows = tuple(
            _tabulate_class(self, job_class, servers)
            for job_class, servers in zip(workload.classes, pools, strict=True)
        )
        return PolicyTable(workload.classes, rows)

    @property
    def name(self) -> str:
        """What reports call it."""
        return type(self).__name__


@final
@dataclass(frozen=True, eq=False)
class PolicyTable:
    """Probabilities of the granted width.

    Attributes:
        classes: the job classes, in the workload's order.
        rows: for each class an array with a row for each idle count (the last one stands for
            all larger counts) and a column for each allowed width; what is missing to 1 in a row is
            the probability of being blocked.
    """

    classes: tuple[JobClass, ...]
    rows: tuple[Floats, ...]


def grantable(speedup: SpeedUp, most: int) -> Ints:
    """Return, for 0..most servers, the position of the width granted out of them; -1: none."""
    fits = np.searchsorted(speedup.widths, np.arange(most + 1), side="right") - 1
    best = np.zeros(len(speedup), dtype=np.int64)
    for k in range(1, len(speedup)):
        best[k] = k if speedup.speedups[k] > speedup.speedups[best[k - 1]] else best[k - 1]
    granted: Ints = np.where(fits >= 0, best[np.maximum(fits, 0)], -1)
    return granted


def _tabulate_class(policy: Policy, job_class: JobClass, servers: int) -> Floats:
    reach = min(policy.reach(job_class, servers), servers)
    if reach > LARGEST_TABLE:
        raise PolicyError(
            f"policy {policy.name} would need {reach} rows; override reach(job_class, servers) "
            f"with the idle count from which its decisions no longer change"
        )
    granted = grantable(job_class.speedup, max(reach, int(job_class.speedup.widths[-1])))
    table = np.zeros((reach + 1, len(job_class.speedup)))
    for idle in range(reach + 1):
        wishes = policy.decide(job_class, idle)
        _refuse_bad_wishes(policy, job_class, idle, wishes)
        for width, probability in wishes.items():
            k = granted[min(width, idle)]
            if k >= 0:
                table[idle, k] += probability
    return table


def _refuse_bad_wishes(
    policy: Policy, job_class: JobClass, idle: int, wishes: Mapping[int, float]
) -> None:
    where = f"policy {policy.name}, class {job_class.name!r}, {idle} idle"
    for width, probability in wishes.items():
        if int(width) != width or width < 1:
            raise PolicyError(f"{where}: width {width} must be a whole number from 1")
        if not 0.0 <= probability <= 1.0 + 1e-9:
            raise PolicyError(f"{where}: probability {probability} must lie in [0, 1]")
    total = math.fsum(wishes.values())
    if abs(total - 1.0) > 1e-9:  # noqa: PLR2004 - rounding
        raise PolicyError(
            f"{where}: probabilities sum to {total:.9g}; they must sum to 1: jobs are blocked only "
            f"when nothing fits"
        )
