"""The decisions of several policies side by side, by idle servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from moldable.arrays import Floats
from moldable.model.scenario import Scenario
from moldable.model.workload import JobClass
from moldable.policies.policy import Policy

Shares = Mapping[int, float]
"""The granted widths and their probabilities; 1 minus their sum is blocked."""


@final
@dataclass(frozen=True)
class DecisionRow:
    """A range of idle servers in which no policy changes its decision.

    Attributes:
        least: lower end of the range.
        most: upper end.
        shares: what each policy grants there.
    """

    least: int
    most: int
    shares: Mapping[str, Shares]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        granted = {
            name: {str(width): share for width, share in shares.items()}
            for name, shares in self.shares.items()
        }
        return {"idle": [self.least, self.most], **granted}


@final
@dataclass(frozen=True)
class Decisions:
    """The decisions of several policies for one class.

    Attributes:
        job_class: name of the class.
        rows: ranges from 1 idle server to all.
    """

    job_class: str
    rows: tuple[DecisionRow, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        return {"class": self.job_class, "rows": [row.to_dict() for row in self.rows]}


def decisions(scenario: Scenario, policies: Mapping[str, Policy]) -> tuple[Decisions, ...]:
    """Tabulate policies side by side for every class of a workload that shares one pool."""
    workload, servers = scenario.workload, scenario.servers
    pools = (servers,) * len(workload.classes)
    tables = {name: policy.tabulate(workload, pools).rows for name, policy in policies.items()}
    return tuple(
        _of_class(job_class, servers, {name: rows[j] for name, rows in tables.items()})
        for j, job_class in enumerate(workload.classes)
    )


def _of_class(job_class: JobClass, servers: int, tables: Mapping[str, Floats]) -> Decisions:
    changes = [np.flatnonzero(np.diff(table, axis=0).any(axis=1)) + 1 for table in tables.values()]
    # With no idle server there is nothing to decide.
    starts = np.unique(np.concatenate([[1], *changes]))
    ends = [*(starts[1:] - 1).tolist(), servers]
    widths = job_class.speedup.widths
    rows = (
        DecisionRow(
            least, most, {name: _granted(widths, table, least) for name, table in tables.items()}
        )
        for least, most in zip(starts.tolist(), ends, strict=True)
    )
    return Decisions(job_class.name, tuple(rows))


def _granted(widths: np.ndarray[Any, Any], table: Floats, idle: int) -> Shares:
    row = table[min(idle, len(table) - 1)]  # the last one stands for all larger counts
    return {int(widths[k]): float(row[k]) for k in np.flatnonzero(row)}
