"""The base class of policies, and the table of decisions that evaluators use.

A policy returns widths with their probabilities, from which one is drawn. What is granted is the
fastest allowed width that fits into min(drawn, idle), the narrowest of equally fast ones; a job is
blocked if none fits. Width 0 refuses a job although it would fit. Under a strict policy a job gets
exactly the width drawn, or is blocked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Self, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.checks import checked_int, number
from moldable.errors import PolicyError, shortened, shown, suggest
from moldable.model.scenario import ScenarioOrFile, checked_scenario
from moldable.model.speedup import SpeedUp
from moldable.model.workload import JobClass, Workload
from moldable.policies.observation import Observation, observed

LARGEST_TABLE: Final = 200_000
"""Rows beyond which a policy must override `reach`."""
MOST_CELLS: Final = 30_000_000
"""Probabilities in the tables of a policy: 240 MB, of which evaluators keep some copies."""
ROUNDING: Final = 1e-9
"""Tolerance of sums of probabilities."""
REFUSING: Final = ("; give refused jobs the width 0", "")
"""End of a message about probabilities, by the least width that they may have."""


class Policy:
    """A rule that gives each arriving job a width.

    A user's own policy needs one method, `decide`. If its decisions no longer change from some
    number of idle servers on, overriding `reach` keeps its table short. A policy that looks at
    waiting or running jobs overrides `choose`; it can be asked by `grant`, but not evaluated.

    Attributes:
        strict: whether a job gets exactly the width drawn or is blocked, rather than what fits.
        ignores_idle: whether `decide` returns the same at every idle count.
        name: what reports call the policy.

    Example:
        >>> class LeaveTwoIdle(Policy):
        ...     def decide(self, job_class, idle):
        ...         return {max(idle - 2, 0): 1.0}
        >>> round(evaluate(Scenario.single([1, 1.8, 2.5], 0.5, 8), LeaveTwoIdle()).blocking, 4)
        0.3299
    """

    strict: bool = False
    ignores_idle: bool = False
    known_classes: Mapping[str, JobClass] = MappingProxyType({})
    """Classes that `grant` takes by name."""

    def decide(self, job_class: JobClass, idle: int) -> Mapping[int, float]:  # noqa: ARG002
        """Return widths and their probabilities for a job that finds `idle` idle servers.

        Width 0 refuses the job.
        """
        raise PolicyError(
            f"policy {self.name} does not decide by idle servers alone, so it cannot be evaluated; "
            f"give it a method decide(job_class, idle) that returns {{width: probability}}"
        )

    def choose(self, job_class: JobClass, observation: Observation) -> Mapping[int, float]:
        """Return widths and their probabilities for a job that finds the cluster like this.

        By default it is `decide` with the idle servers.
        """
        return self.decide(job_class, observation.idle)

    def grant(
        self,
        job_class: JobClass | str,
        observation: Observation | None = None,
        u: float | None = None,
        *,
        idle: int | None = None,
    ) -> int:
        """Return the servers that an arriving job gets; 0: it is blocked.

        Args:
            job_class: its class, or the name of a class that the policy knows, see `with_classes`.
            observation: the cluster as the job finds it.
            u: uniform on [0, 1): draws among random widths; a larger number draws a wider width.
                It is not needed where the decision is not random.
            idle: instead of an observation, the number of idle servers.
        """
        job_class, seen = self._class_of(job_class), observed(observation, idle)
        where = f"policy {self.name}, class {job_class.name!r}, {seen.idle} idle"
        width = _drawn_width(where, checked_shares(where, self.choose(job_class, seen), 0), u)
        if self.strict:
            refuse_unknown_width(self.name, job_class, width)
            return width if width <= seen.idle else 0
        curve = job_class.speedup
        fits = int(np.searchsorted(curve.widths, min(width, seen.idle), side="right"))
        return int(curve.widths[np.argmax(curve.speedups[:fits])]) if fits else 0

    def with_classes(self, scenario: ScenarioOrFile) -> Self:
        """Return a copy that knows the classes of a scenario, so that `grant` takes their names.

        Policies that were computed for a scenario know its classes already.
        """
        classes = checked_scenario(scenario).workload.classes
        known = {job_class.name: job_class for job_class in classes}
        told = copy(self)
        object.__setattr__(told, "known_classes", known)  # own policies may be frozen
        return told

    def _class_of(self, job_class: JobClass | str) -> JobClass:
        if isinstance(job_class, JobClass):
            return job_class
        known = self.known_classes
        if isinstance(job_class, str) and job_class in known:
            return known[job_class]
        hint = suggest(str(job_class), known) if known else "call policy.with_classes(scenario)"
        raise PolicyError(
            f"policy {self.name} does not know the class {shown(job_class)}; pass a JobClass or a "
            f"name that it knows: {hint}"
        )

    def reach(self, job_class: JobClass, servers: int) -> int:
        """Return the idle count from which decisions no longer change; at most the servers."""
        return min(max(self.decide(job_class, 0)), servers) if self.ignores_idle else servers

    def tabulate(self, workload: Workload, pools: tuple[int, ...]) -> PolicyTable:
        """Tabulate the policy for classes whose pools hold this many servers."""
        rows = tuple(map(self.tabulate_class, workload.classes, pools))
        return PolicyTable(workload.classes, rows, self.name)

    def tabulate_class(self, job_class: JobClass, servers: int) -> Floats:
        """Return the table of one class, see `PolicyTable`."""
        reach, speedup = _reach(self, job_class, servers), job_class.speedup
        refuse_large_table(self.name, reach + 1, len(speedup))
        granted = grantable(speedup, reach)
        table = np.zeros((reach + 1, len(speedup)))
        for idle in range(reach + 1):
            for width, probability in self._shares(job_class, idle).items():
                if width == 0:
                    continue
                if self.strict:
                    refuse_unknown_width(self.name, job_class, width)
                    k = int(np.searchsorted(speedup.widths, width)) if width <= idle else -1
                else:
                    k = int(granted[min(width, idle)])
                if k >= 0:
                    table[idle, k] += probability
        return table

    @property
    def name(self) -> str:
        """The name in reports."""
        return type(self).__name__

    def _shares(self, job_class: JobClass, idle: int) -> Mapping[int, float]:
        where = f"policy {self.name}, class {job_class.name!r}, {idle} idle"
        return checked_shares(where, self.decide(job_class, idle), least=0)


@final
@dataclass(frozen=True, eq=False)
class PolicyTable:
    """Probabilities of the granted widths, checked for consistency.

    Attributes:
        classes: the job classes, in the workload's order.
        rows: for each class an array with a row for each idle count (the last one stands for
            all larger counts) and a column for each allowed width; 1 minus the sum of a row is the
            probability of blocking.
        name: what reports call the policy.
    """

    classes: tuple[JobClass, ...]
    rows: tuple[Floats, ...]
    name: str = "without a name"

    def __post_init__(self) -> None:
        rows = tuple(np.asarray(table, dtype=np.float64) for table in self.rows)
        object.__setattr__(self, "rows", rows)
        if len(rows) != len(self.classes):
            raise PolicyError(
                f"policy {self.name} has tables for {len(rows)} classes, but the workload has "
                f"{len(self.classes)}; give one for each"
            )
        for job_class, table in zip(self.classes, rows, strict=True):
            _refuse_bad_table(self.name, job_class, table)


def grantable(speedup: SpeedUp, most: int) -> Ints:
    """Return, for 0..most servers, the position of the width granted out of them; -1: none."""
    fits = np.searchsorted(speedup.widths, np.arange(most + 1), side="right") - 1
    best = np.zeros(len(speedup), dtype=np.int64)
    for k in range(1, len(speedup)):
        best[k] = k if speedup.speedups[k] > speedup.speedups[best[k - 1]] else best[k - 1]
    granted: Ints = np.where(fits >= 0, best[np.maximum(fits, 0)], -1)
    return granted


def refuse_large_table(policy: str, rows: int, columns: int) -> None:
    """Refuse a table that would need too much memory, before it is allocated."""
    if rows * columns > MOST_CELLS:
        raise PolicyError(
            f"policy {policy} needs a table of {rows:,} idle counts x {columns:,} widths, "
            f"{8e-9 * rows * columns:.1f} GB; at most {8e-9 * MOST_CELLS:g} GB are kept: leave out "
            f"widths that no job needs, 1=1,2=1.9,4=3.6 for example"
        )


def refuse_unknown_width(policy: str, job_class: JobClass, width: int) -> None:
    """Refuse a width that the class does not allow; 0 refuses a job and is always allowed."""
    widths = job_class.speedup.widths
    at = int(np.searchsorted(widths, width))
    if width > 0 and (at == widths.size or widths[at] != width):
        raise PolicyError(
            f"{policy}: class {job_class.name!r} has no width {width}; "
            f"choose one of its widths: {shortened(widths.tolist())}"
        )


def checked_shares(where: str, shares: Mapping[int, float], least: int = 1) -> dict[int, float]:
    """Return widths from `least` on and their probabilities; errors begin with `where`."""
    if not isinstance(shares, Mapping):
        raise PolicyError(
            f"{where}: {shown(shares)} is not a choice of widths; write {{width: probability, ...}}"
        )
    checked: dict[int, float] = {}
    for key, probability in shares.items():
        width = checked_int(key, f"{where}: width", PolicyError, least)
        share = number(probability, f"{where}: the probability of width {width}", PolicyError)
        if not 0.0 <= share <= 1.0 + ROUNDING:
            raise PolicyError(f"{where}: probability {probability} must lie in [0, 1]; correct it")
        checked[width] = share
    total = math.fsum(checked.values())
    if abs(total - 1.0) > ROUNDING:
        raise PolicyError(
            f"{where}: probabilities sum to {total:.9g}; they must sum to 1{REFUSING[least]}"
        )
    return checked


def described_widths(choice: int | Mapping[int, float]) -> str:
    """Write a width, or several with their probabilities: "1 (25 %) or 2 (75 %)"."""
    if not isinstance(choice, Mapping):
        return str(choice or "refused")
    return " or ".join(
        f"{width or 'refused'} ({100.0 * share:.3g} %)" for width, share in choice.items()
    )


def _drawn_width(where: str, shares: Mapping[int, float], u: float | None) -> int:
    likely = sorted(width for width, probability in shares.items() if probability > 0.0)
    if u is None and len(likely) > 1:
        raise PolicyError(
            f"{where}: a width is drawn among {shortened(likely)}; pass u, a number drawn "
            f"uniformly from [0, 1), such as u=random.random()"
        )
    u = 0.0 if u is None else number(u, "u", PolicyError)
    if not 0.0 <= u < 1.0:
        raise PolicyError(f"u={u:g} must be at least 0 and below 1; draw it uniformly")
    ends = np.cumsum([shares[width] for width in likely])
    # The sum may differ from 1 by rounding, which must not leave a gap at the end.
    return likely[min(int(np.searchsorted(ends, u, side="right")), len(likely) - 1)]


def _reach(policy: Policy, job_class: JobClass, servers: int) -> int:
    asked = policy.reach(job_class, servers)
    name = f"policy {policy.name}: reach"
    reach = min(checked_int(asked, name, PolicyError, least=0, most=math.inf), servers)
    if reach > LARGEST_TABLE:
        raise PolicyError(
            f"policy {policy.name} would need {reach} rows; override reach(job_class, servers) "
            f"with the idle count from which its decisions no longer change"
        )
    return reach


def _refuse_bad_table(policy: str, job_class: JobClass, table: Floats) -> None:
    widths = job_class.speedup.widths
    if table.ndim != 2 or table.shape[0] == 0 or table.shape[1] != widths.size:  # noqa: PLR2004
        raise PolicyError(
            f"policy {policy}: the table of class {job_class.name!r} has shape {table.shape}; it "
            f"needs a row for each idle count from 0 and {widths.size} columns, one for each width"
        )
    for idle, k in np.argwhere(~(table >= 0.0))[:1]:  # NaN is not at least 0 either
        raise PolicyError(
            f"policy {policy} grants width {widths[k]} to class {job_class.name!r} with {idle} "
            f"idle with probability {table[idle, k]}; probabilities must be at least 0"
        )
    totals = table.sum(axis=1)
    for idle in np.flatnonzero(totals > 1.0 + ROUNDING)[:1]:
        raise PolicyError(
            f"policy {policy}, class {job_class.name!r}, {idle} idle: probabilities sum to "
            f"{totals[idle]:.9g}; they must sum to at most 1, what is missing being blocked"
        )
    tight = table[: widths[-1]]  # with more idle than that, every width fits
    beyond = (tight > 0.0) & (widths > np.arange(len(tight))[:, np.newaxis])
    for idle, k in np.argwhere(beyond)[:1]:
        raise PolicyError(
            f"policy {policy} grants width {widths[k]} to class {job_class.name!r} with {idle} "
            f"idle; a job cannot get more servers than are idle: grant a narrower width or none"
        )
