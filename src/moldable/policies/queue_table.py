"""Tables of widths by idle servers and waiting jobs, one for each class."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar, final

from moldable.arrays import Floats
from moldable.checks import checked_int
from moldable.errors import PolicyError, shown
from moldable.model.workload import JobClass
from moldable.policies.observation import Observation
from moldable.policies.policy import Policy
from moldable.policies.policy_by_class import PolicyByClass
from moldable.policies.thresholds import Choice, Thresholds, refuse_unsorted, shares_of

Rows = Mapping[int, Mapping[int, Choice]]
"""{waiting jobs: {idle servers: choice}}."""
_Entry = TypeVar("_Entry")


@final
@dataclass(frozen=True, eq=False)
class QueueTable(PolicyByClass[Rows]):
    """Choose the width by the idle servers and by the jobs that wait behind this one.

    Args:
        tables: for each class name, {waiting jobs: {idle count: choice}}. Both numbers ascend, and
            each entry holds from there on; the first number of waiting jobs is 0. Choices are those
            of `Thresholds`.

    Examples:
        >>> policy = QueueTable({"jobs": {0: {1: 1, 4: 2}, 3: {1: 1}}})
        >>> policy.describe()
        '0 waiting: 1 server from 1 idle, 2 from 4; 3 waiting: 1 server from 1 idle'
    """

    tables: Mapping[str, Rows] = field(metadata={"key": "classes"})
    name = "queue table"

    def __post_init__(self) -> None:
        for name, rows in self.checked_entries().items():
            _refuse_bad_rows(name, rows)
        counts = sorted({count for rows in self.tables.values() for count in rows})
        tables = {
            name: {count: self._parts[count].tables[name] for count in counts if count in rows}
            for name, rows in self.tables.items()
        }
        object.__setattr__(self, "tables", tables)

    @property
    def entries(self) -> Mapping[str, Rows]:
        """The tables."""
        return self.tables

    def choose(self, job_class: JobClass, observation: Observation) -> Mapping[int, float]:
        """Return the choice of the last row that is reached."""
        return self._part(job_class, observation.waiting).decide(job_class, observation.idle)

    def reach(self, job_class: JobClass, servers: int) -> int:
        """Return the idle count of the last row while no job waits."""
        return self._part(job_class, 0).reach(job_class, servers)

    def waiting_reach(self, job_class: JobClass, most_idle: int) -> int:  # noqa: ARG002
        """Return the last number of waiting jobs."""
        return max(self.entry(job_class, "table"))

    def tabulate_class(self, job_class: JobClass, servers: int) -> Floats:
        """Return the table while no job waits; see `Policy.tabulate_class`."""
        return self._part(job_class, 0).tabulate_class(job_class, servers)

    def describe(self) -> str:
        """Describe the tables in words."""
        return "; ".join(
            f"{name + ', ' if len(self.tables) > 1 else ''}{count} waiting: "
            f"{Thresholds({name: row}).describe()}"
            for name, rows in self.tables.items()
            for count, row in rows.items()
        )

    def leaving_idle(self, spare: int) -> QueueTable:
        """Return the policy that never uses the last `spare` idle servers.

        With fewer idle servers than in the first entry of a row, no job starts.
        """
        return QueueTable(
            {
                name: {
                    count: {1: 0, **{idle + spare: choice for idle, choice in row.items()}}
                    for count, row in rows.items()
                }
                for name, rows in self.tables.items()
            }
        )

    def drawn_with(self, other: QueueTable, share: float) -> QueueTable:
        """Return the policy that decides as `other` with this probability, else as this one.

        Both have the same classes.
        """
        tables: dict[str, dict[int, dict[int, Choice]]] = {}
        for name, rows in self.tables.items():
            counts = sorted({*rows, *other.tables[name]})
            pairs = ((_last(rows, count), _last(other.tables[name], count)) for count in counts)
            tables[name] = {
                count: {
                    idle: _drawn(_last(own, idle), _last(others, idle), share)
                    for idle in sorted({*own, *others})
                    if idle >= max(min(own), min(others))
                }
                for count, (own, others) in zip(counts, pairs, strict=True)
            }
        return QueueTable(tables)

    def _part(self, job_class: JobClass, waiting: int) -> Policy:
        """Return the policy of a class while this many jobs wait."""
        counts = tuple(self.entry(job_class, "table"))
        return self._parts[counts[bisect_right(counts, waiting) - 1]]

    @cached_property
    def _parts(self) -> dict[int, Thresholds]:
        """The tables by waiting jobs."""
        found: dict[int, dict[str, Mapping[int, Choice]]] = {}
        for name, rows in self.tables.items():
            for count, row in rows.items():
                found.setdefault(int(count), {})[name] = row
        return {count: Thresholds(row) for count, row in found.items()}


def _last(rows: Mapping[int, _Entry], reached: int) -> _Entry:
    """Return the last entry that is reached; the first if there is none."""
    starts = tuple(rows)
    return rows[starts[max(bisect_right(starts, reached) - 1, 0)]]


def _drawn(own: Choice, other: Choice, share: float) -> Choice:
    """Return the choice that is `other` with probability `share`."""
    if own == other:
        return own
    found: dict[int, float] = {}
    for choice, weight in ((own, 1.0 - share), (other, share)):
        for width, part in shares_of(choice).items():
            found[width] = found.get(width, 0.0) + weight * part
    return dict(sorted(found.items()))


def _refuse_bad_rows(name: str, rows: Rows) -> None:
    where = f"queue table, class {name!r}"
    if not isinstance(rows, Mapping) or not rows:
        raise PolicyError(
            f"{where}: {shown(rows)} has no row; write {{waiting jobs: {{idle count: width}}}}, "
            f"such as {{0: {{1: 1, 4: 2}}, 3: {{1: 1}}}}"
        )
    counts = [checked_int(c, f"{where}: waiting jobs", PolicyError, least=0) for c in rows]
    if counts[0] != 0:
        raise PolicyError(
            f"{where}: the first row is for {counts[0]} waiting jobs; add one for 0, where no "
            f"other job waits"
        )
    refuse_unsorted(counts, where, "waiting jobs")
