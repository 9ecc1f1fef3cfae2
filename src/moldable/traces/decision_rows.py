"""The decisions of a policy for the jobs of a log, as a table that is filled on demand.

A row holds the widths granted to one kind of job while a number of jobs wait behind it, by idle
servers. Few of all possible rows are ever used, so the replay asks for those that it needs.
"""

from __future__ import annotations

from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from moldable.arrays import Floats, Ints
from moldable.checks import checked_int
from moldable.errors import PolicyError
from moldable.model.speedup import SpeedUp
from moldable.model.workload import JobClass
from moldable.policies.fixed_width import FixedWidth
from moldable.policies.observation import UNTOLD, Observation
from moldable.policies.policy import Policy
from moldable.policies.policy_by_class import PolicyByClass
from moldable.policies.policy_table import ROUNDING, PolicyTable, checked_shares, refuse_large_table
from moldable.traces.request_kinds import RequestKinds

MOST_CELLS: Final = 60_000_000
"""Widths in the rows of a policy, 240 MB."""
FIRST_ROWS, FIRST_COLUMNS = 64, 8


@final
class DecisionRows:
    """The rows of one policy for the kinds of a log.

    A policy that computes widths from the curve of a job sees only the widths that the job may run
    on. A policy that holds widths, fixed or in tables by class, is asked for its width, and the job
    gets the nearest one that it may run on.

    Args:
        policy: the policy.
        kinds: of jobs.
        servers: of the cluster.
        jobs: number of jobs, which no queue exceeds.

    Attributes:
        reach: by kind, the number of waiting jobs from which decisions no longer change.
        rows: row by kind and waiting jobs, -1 if it has not been needed yet.
        granted: widths by row, idle servers and outcome; 0: none.
        bounds: draws at which each outcome but the last ends.
    """

    def __init__(self, policy: Policy, kinds: RequestKinds, servers: int, jobs: int) -> None:
        self.policy, self.kinds, self.servers = policy, kinds, servers
        refuse_large_table(policy.name, servers + 1, 1 + max(map(len, kinds.curves)))
        self._any_width = SpeedUp.linear(servers)
        self._classes = tuple(self._class_to_ask(kind) for kind in range(len(kinds)))
        name = f"policy {policy.name}: waiting_reach"
        self.reach: Ints = np.array(
            [
                min(checked_int(policy.waiting_reach(c, servers), name, PolicyError, least=0), jobs)
                for c in self._classes
            ],
            dtype=np.int64,
        )
        self.used = 0
        self.rows: NDArray[np.int32] = np.full((len(kinds), FIRST_COLUMNS), -1, dtype=np.int32)
        room = (min(FIRST_ROWS, MOST_CELLS // (servers + 1)), servers + 1)
        self.granted: NDArray[np.int32] = np.zeros((*room, 1), dtype=np.int32)
        self.bounds: Floats = np.full((*room, 0), np.inf)

    def add(self, kind: int, behind: int) -> None:
        """Ask the policy for one row."""
        shares = self._shares(kind, behind)
        if shares[-1, 0] > ROUNDING:
            raise PolicyError(
                f"policy {self.policy.name} may refuse a job of class "
                f"{self.kinds.classes[kind].name!r} while all servers are idle and {behind} jobs "
                f"wait, so the job and all behind it would wait for ever; grant it a width there"
            )
        outcomes = int(np.count_nonzero(shares > 0.0, axis=1).max())
        self._make_room(behind, outcomes)
        row, self.used = self.used, self.used + 1
        # Outcomes in ascending order of their widths, none granted being the first.
        order = np.argsort(shares <= 0.0, axis=1, kind="stable")[:, :outcomes]
        likely = np.take_along_axis(shares, order, axis=1)
        widths = np.concatenate(([0], self.kinds.curves[kind].widths))
        self.granted[row, :, :outcomes] = widths[order]
        ends = np.cumsum(likely, axis=1)
        last = np.count_nonzero(likely > 0.0, axis=1) - 1
        # Rounding must not leave a gap after the last outcome.
        ends[np.arange(outcomes) >= last[:, np.newaxis]] = np.inf
        self.bounds[row, :, :outcomes] = ends[:, : self.bounds.shape[2]]
        self.rows[kind, behind] = row

    def _class_to_ask(self, kind: int) -> JobClass:
        own, policy = self.kinds.classes[kind], self.policy
        if isinstance(policy, PolicyByClass):
            holds_widths = bool(policy.entries) and own.name not in policy.entries
        else:
            holds_widths = isinstance(policy, FixedWidth)
        return JobClass(self.kinds.names[kind], 1.0, self._any_width) if holds_widths else own

    def _shares(self, kind: int, behind: int) -> Floats:
        """Return the probabilities of no width and of each allowed one, by idle servers."""
        asked, widths = self._classes[kind], self.kinds.curves[kind].widths
        shares = np.zeros((self.servers + 1, widths.size + 1))
        if asked is not self.kinds.classes[kind]:
            self._add_nearest(shares[:, 1:], asked, widths, behind)
        else:
            if behind == 0:
                table = self.policy.tabulate_class(asked, self.servers)
            else:
                table = self.policy.tabulate_behind(asked, self.servers, behind)
            PolicyTable((asked,), (table,), self.policy.name)  # checks it
            shares[:, 1:] = table[np.minimum(np.arange(self.servers + 1), len(table) - 1)]
        rest = 1.0 - shares.sum(axis=1)
        shares[:, 0] = np.where(rest > ROUNDING, rest, 0.0)
        return shares

    def _add_nearest(self, shares: Floats, asked: JobClass, widths: Ints, behind: int) -> None:
        """Add the probabilities of the allowed widths nearest to those that the policy holds."""
        strict = self.policy.strict
        for idle in range(self.servers + 1):
            where = f"policy {self.policy.name}, class {asked.name!r}, {idle} idle"
            chosen = self.policy.choose(asked, Observation(idle, behind, UNTOLD))
            fits = int(np.searchsorted(widths, idle, side="right"))
            for width, share in checked_shares(where, chosen, least=0).items():
                known = widths if strict else widths[:fits]
                if width == 0 or known.size == 0:
                    continue
                nearest = int(np.argmin(np.abs(known - (width if strict else min(width, idle)))))
                if nearest < fits:
                    shares[idle, nearest] += share

    def _make_room(self, behind: int, outcomes: int) -> None:
        columns = self.rows.shape[1]
        if behind >= columns:
            added = max(columns, behind + 1 - columns)
            self.rows = np.pad(self.rows, ((0, 0), (0, added)), constant_values=-1)
        size, length, most = self.granted.shape
        if self.used < size and outcomes <= most:
            return
        rows, most = (2 * size if self.used == size else size), max(outcomes, most)
        rows = min(rows, MOST_CELLS // (length * (2 * most - 1)))
        if rows <= self.used:
            raise PolicyError(
                f"policy {self.policy.name} needs more than {self.used:,} rows of decisions for "
                f"{self.servers:,} servers, and at most {4e-9 * MOST_CELLS:g} GB are kept; count "
                f"whole nodes instead of cores, or put jobs into fewer classes"
            )
        granted, bounds = self.granted, self.bounds
        self.granted = np.zeros((rows, length, most), dtype=np.int32)
        self.granted[: self.used, :, : granted.shape[2]] = granted[: self.used]
        self.bounds = np.full((rows, length, most - 1), np.inf)
        self.bounds[: self.used, :, : bounds.shape[2]] = bounds[: self.used]
