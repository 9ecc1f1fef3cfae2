"""The more servers are idle, the wider the job: a table of thresholds for each class.

Trunk reservation, carried over from whom to admit to how wide: thresholds on the idle servers are
what is best for rigid jobs of several values (B. L. Miller, "A queueing reward system with several
customer classes", Management Science 16, 1969).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import final

from moldable.checks import whole
from moldable.errors import PolicyError
from moldable.model.workload import JobClass, Workload
from moldable.policies.class_entries import (
    classes_of,
    entry_of,
    refuse_other_classes,
    refuse_unknown_width,
)
from moldable.policies.policy_table import Policy, PolicyTable


@final
@dataclass(frozen=True, eq=False)
class Thresholds(Policy):
    """From so many idle servers on, this width.

    With fewer idle than the first row says, a job gets the narrowest width its class allows.

    Args:
        tables: for each class name, {idle count: width from there on}, the counts ascending.
    """

    tables: Mapping[str, Mapping[int, int]]

    def __post_init__(self) -> None:
        tables = {
            name: _checked(name, table)
            for name, table in classes_of(self.tables, "thresholds").items()
        }
        object.__setattr__(self, "tables", tables)

    def decide(self, job_class: JobClass, idle: int) -> Mapping[int, float]:
        """Wish for the width of the last row that is reached."""
        table = self._table(job_class)
        starts = tuple(table)
        reached = bisect_right(starts, idle)
        if reached == 0:
            return {int(job_class.speedup.widths[0]): 1.0}
        width = table[starts[reached - 1]]
        refuse_unknown_width(self.name, job_class, width)
        return {width: 1.0}

    def reach(self, job_class: JobClass, servers: int) -> int:
        """From the last row on, its width is granted."""
        return min(max(self._table(job_class)), servers)

    def tabulate(self, workload: Workload, pools: tuple[int, ...]) -> PolicyTable:
        """Tabulate the policy; every class and width it names must be there."""
        refuse_other_classes(workload, self.tables, self.name)
        for job_class in workload.classes:
            for width in self._table(job_class).values():
                refuse_unknown_width(self.name, job_class, width)
        return super().tabulate(workload, pools)

    def describe(self) -> str:
        """Say the tables in words, such as "2 servers from 4 idle, 3 from 10"."""
        if len(self.tables) == 1:
            return "".join(map(_in_words, self.tables.values()))
        return "; ".join(f"{name}: {_in_words(table)}" for name, table in self.tables.items())

    @property
    def name(self) -> str:
        """What reports call it."""
        return "thresholds"

    def _table(self, job_class: JobClass) -> Mapping[int, int]:
        return entry_of(job_class, self.tables, self.name, "table")


def _checked(name: str, table: Mapping[int, int]) -> dict[int, int]:
    where = f"thresholds, class {name!r}"
    if not isinstance(table, Mapping) or not table:
        raise PolicyError(
            f"{where}: {table!r} has no row; write a table for each class, by its name: "
            f"{{'jobs': {{idle count: width}}}}, such as {{'jobs': {{1: 1, 4: 2}}}}"
        )
    rows = {
        whole(idle, f"{where}: idle count", PolicyError): whole(
            width, f"{where}: width", PolicyError
        )
        for idle, width in table.items()
    }
    for idle, width in rows.items():
        if width > idle:
            raise PolicyError(
                f"{where}: width {width} from {idle} idle is more than are idle; start that row at "
                f"{width} or give a narrower width"
            )
    for before, after in pairwise(rows):
        if after <= before:
            raise PolicyError(
                f"{where}: the row from {after} idle stands after the one from {before}; idle "
                f"counts must ascend: sort the rows"
            )
    return rows


def _in_words(table: Mapping[int, int]) -> str:
    (idle, width), *others = table.items()
    first = f"{width} server{'s' if width > 1 else ''} from {idle} idle"
    return ", ".join((first, *(f"{width} from {idle}" for idle, width in others)))
