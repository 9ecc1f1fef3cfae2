"""Tables of widths by idle servers, one for each class.

Trunk reservation, applied to widths instead of admission: thresholds on the idle servers are
optimal for rigid jobs of several values (B. L. Miller, "A queueing reward system with several
customer classes", Management Science 16, 1969).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import final

import numpy as np

from moldable.arrays import Floats
from moldable.checks import checked_int
from moldable.errors import PolicyError
from moldable.model.workload import JobClass
from moldable.policies.policy_by_class import PolicyByClass
from moldable.policies.policy_table import (
    checked_shares,
    described_widths,
    fastest,
    refuse_large_table,
    refuse_unknown_width,
)

Choice = int | Mapping[int, float]
"""A width, or widths with the probabilities with which they are drawn."""


@final
@dataclass(frozen=True, eq=False)
class Thresholds(PolicyByClass[Mapping[int, Choice]]):
    """Choose the width by the number of idle servers.

    With fewer idle than in the first row, a job gets the narrowest width that its class allows.

    Args:
        tables: for each class name, {idle count: choice from there on}, the counts ascending. A
            choice is a width, or {width: probability} to draw one at random; width 0 refuses a job.

    Examples:
        >>> Thresholds({"jobs": {1: 1, 4: 2}}).describe()
        '1 server from 1 idle, 2 from 4'
    """

    tables: Mapping[str, Mapping[int, Choice]] = field(metadata={"key": "classes"})
    name = "thresholds"

    def __post_init__(self) -> None:
        tables = {name: _checked(name, table) for name, table in self.checked_entries().items()}
        object.__setattr__(self, "tables", tables)

    @property
    def entries(self) -> Mapping[str, Mapping[int, Choice]]:
        """The tables."""
        return self.tables

    def decide(self, job_class: JobClass, idle: int) -> Mapping[int, float]:
        """Return the choice of the last row that is reached."""
        table = self.entry(job_class, "table")
        starts = tuple(table)
        reached = bisect_right(starts, idle)
        if reached == 0:
            return {int(job_class.speedup.widths[0]): 1.0}
        shares = shares_of(table[starts[reached - 1]])
        for width in shares:
            refuse_unknown_width(self.name, job_class, width)
        return shares

    def reach(self, job_class: JobClass, servers: int) -> int:
        """Return the idle count of the last row."""
        return min(max(self.entry(job_class, "table")), servers)

    def tabulate_class(self, job_class: JobClass, servers: int) -> Floats:
        """Return the probabilities of the granted widths, row by row of the thresholds."""
        curve, table = job_class.speedup, self.entry(job_class, "table")
        size = self.reach(job_class, servers) + 1
        refuse_large_table(self.name, size, len(curve))
        found, best = np.zeros((size, len(curve))), fastest(curve)
        # Below the first row a job gets the narrowest width, where that fits.
        found[min(int(curve.widths[0]), size) : min(*table, size), 0] = 1.0
        for start, end in pairwise((*table, max(size, max(table) + 1))):
            for width, share in shares_of(table[start]).items():
                refuse_unknown_width(self.name, job_class, width)
                if width > 0:
                    found[start:end, best[np.searchsorted(curve.widths, width)]] += share
        return found

    def describe(self) -> str:
        """Describe the tables in words, such as "2 servers from 4 idle, 3 from 10"."""
        if len(self.tables) == 1:
            return "".join(map(_in_words, self.tables.values()))
        return "; ".join(f"{name}: {_in_words(table)}" for name, table in self.tables.items())


def shares_of(choice: Choice) -> Mapping[int, float]:
    """Return the widths of a choice with their probabilities."""
    return choice if isinstance(choice, Mapping) else {choice: 1.0}


def _checked(name: str, table: Mapping[int, Choice]) -> dict[int, Choice]:
    where = f"thresholds, class {name!r}"
    if not isinstance(table, Mapping) or not table:
        raise PolicyError(
            f"{where}: {table!r} has no row; write a table for each class, by its name: "
            f"{{'jobs': {{idle count: width}}}}, such as {{'jobs': {{1: 1, 4: 2}}}}"
        )
    rows: dict[int, Choice] = {
        checked_int(idle, f"{where}: idle count", PolicyError): checked_shares(
            where, choice, least=0
        )
        if isinstance(choice, Mapping)
        else checked_int(choice, f"{where}: width", PolicyError, least=0)
        for idle, choice in table.items()
    }
    for idle, choice in rows.items():
        widest = max(shares_of(choice))
        if widest > idle:
            raise PolicyError(
                f"{where}: width {widest} from {idle} idle is more than are idle; start that row "
                f"at {widest} or give a narrower width"
            )
    refuse_unsorted(rows, where, "idle servers")
    return rows


def refuse_unsorted(counts: Iterable[int], where: str, what: str) -> None:
    """Refuse rows of a table that are not in ascending order; `what` is counted."""
    for before, after in pairwise(counts):
        if after <= before:
            raise PolicyError(
                f"{where}: the row for {after} {what} comes after that for {before}; the numbers "
                f"must ascend: sort the rows"
            )


def _in_words(table: Mapping[int, Choice]) -> str:
    (idle, choice), *others = table.items()
    servers = {0: "", 1: " server"}.get(max(shares_of(choice)), " servers")
    first = f"{described_widths(choice)}{servers} from {idle} idle"
    rest = (f"{described_widths(choice)} from {idle}" for idle, choice in others)
    return ", ".join((first, *rest))
