"""A policy as a table of widths by idle servers and waiting jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, final

import numpy as np

from moldable.arrays import Floats, Ints, Mask
from moldable.model.scenario import Scenario
from moldable.model.workload import JobClass
from moldable.policies.policy import Policy

WAITING: Final = (0, 1, 2, 5, 10, 20)
"""Numbers of waiting jobs for which decisions are listed."""
UNSEEN: Final = 1e-6
"""Shares up to this are left out."""

Shares = Mapping[int, float]
"""Widths and the probabilities with which they are granted; the rest waits or is blocked."""


@final
@dataclass(frozen=True)
class ActionRow:
    """What a job gets with this many idle servers.

    Numbers of idle servers that no sum of granted widths leaves are left out: if all widths are
    even, a row from 2 to 6 is about 2, 4 and 6.

    Attributes:
        least: lower end of the range of idle servers.
        most: upper end.
        shares: what is granted, by the number of jobs that wait behind; None where this many
            servers are never idle while jobs wait.
    """

    least: int
    most: int
    shares: Mapping[int, Shares | None]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        granted = {
            str(waiting): None if shares is None else {str(w): p for w, p in shares.items()}
            for waiting, shares in self.shares.items()
        }
        return {"idle": [self.least, self.most], "waiting": granted}


@final
@dataclass(frozen=True)
class Actions:
    """The decisions for one class.

    Attributes:
        job_class: name of the class.
        rows: ranges from the fewest idle servers that occur to all.
    """

    job_class: str
    rows: tuple[ActionRow, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        return {"class": self.job_class, "rows": [row.to_dict() for row in self.rows]}


@final
@dataclass(frozen=True, eq=False)
class _Decisions:
    """The decisions for one class as arrays.

    Attributes:
        job_class: the class.
        table: probabilities of the widths by idle servers, if no job waits behind.
        queued: the same by jobs waiting behind, from 1 on; empty if the rule for 0 applies.
    """

    job_class: JobClass
    table: Floats
    queued: Floats

    def shares(self, idle: int, waiting: int) -> Floats:
        """Return the probabilities of the widths."""
        row: Floats = self.table[min(idle, len(self.table) - 1)]
        if waiting and len(self.queued):
            row = self.queued[min(waiting, len(self.queued)) - 1, idle]
        return row

    def granted(self, idles: Ints) -> set[int]:
        """Return the widths that are granted with one of these numbers of idle servers."""
        rows = self.table[np.minimum(idles, len(self.table) - 1)]
        seen: Mask = np.any(rows > UNSEEN, axis=0)
        if len(self.queued):
            few = idles[idles < self.queued.shape[1]]
            seen |= (self.queued[:, few] > UNSEEN).any(axis=(0, 1))
        return set(self.job_class.speedup.widths[: len(seen)][seen].tolist())


def actions(scenario: Scenario, policy: Policy) -> tuple[Actions, ...]:
    """Tabulate a policy for every class; neighbours with equal decisions are joined."""
    classes, n = scenario.workload.classes, scenario.servers
    # While jobs wait, no more servers are idle than one job has left.
    freed = max(int(c.speedup.up_to(n).widths[-1]) for c in classes) if scenario.waiting else 0
    found = [
        _Decisions(
            job_class,
            policy.tabulate_class(job_class, n),
            policy.tabulate_queue(job_class, freed) if freed else np.empty((0, 0, 0)),
        )
        for job_class in classes
    ]
    idles = _possible_idles(n, found)
    behind = [k for k in WAITING if k < scenario.waiting] if scenario.waiting else [0]
    return tuple(_of_class(one, n, idles, freed, behind) for one in found)


def _possible_idles(servers: int, found: Sequence[_Decisions]) -> Ints:
    """Return the numbers of idle servers, from 1 on, that occur if all are idle at first.

    Busy servers are sums of granted widths. Sums that are larger than what is granted at a time
    allows may be among them.
    """
    widths: set[int] = set()
    while True:
        busy = 1  # bit k: k servers can be busy
        for width in widths:
            step = width
            while step < servers:
                busy |= busy << step
                step *= 2
            busy &= (1 << servers) - 1
        bits = np.frombuffer(busy.to_bytes(servers // 8 + 1, "little"), dtype=np.uint8)
        idles = servers - np.flatnonzero(np.unpackbits(bits, bitorder="little"))[::-1]
        granted = {width for one in found for width in one.granted(idles)}
        if granted == widths:
            return idles
        widths = granted


def _of_class(
    found: _Decisions, servers: int, idles: Ints, freed: int, behind: Sequence[int]
) -> Actions:
    widths = found.job_class.speedup.widths

    def shares(idle: int, waiting: int) -> Shares | None:
        if waiting and idle > freed:
            return None
        row = found.shares(idle, waiting)
        return {int(widths[k]): float(row[k]) for k in np.flatnonzero(row > UNSEEN)}

    # From here on decisions are the same.
    last = int(idles[idles >= min(servers, max(len(found.table) - 1, freed) + 1)][0])
    listed = [*idles[idles < last].tolist(), last]
    decided = ((idle, {w: shares(idle, w) for w in behind}) for idle in listed)
    rows = []
    for granted, group in groupby(decided, lambda pair: pair[1]):
        ends = [idle for idle, _ in group]
        most = servers if ends[-1] == last else ends[-1]
        rows.append(ActionRow(ends[0], most, granted))
    return Actions(found.job_class.name, tuple(rows))
