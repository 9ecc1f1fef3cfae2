"""The table of a policy's decisions that evaluators use, and checks of widths and shares."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.checks import checked_int, number
from moldable.errors import PolicyError, shortened, shown
from moldable.model.speedup import SpeedUp
from moldable.model.workload import JobClass

MOST_CELLS: Final = 30_000_000
"""Probabilities in the tables of a policy: 240 MB, of which evaluators keep some copies."""
ROUNDING: Final = 1e-9
"""Tolerance of sums of probabilities."""
REFUSING: Final = ("; give refused jobs the width 0", "")
"""End of a message about probabilities, by the least width that they may have."""


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
    granted: Ints = np.where(fits >= 0, fastest(speedup)[np.maximum(fits, 0)], -1)
    return granted


def fastest(speedup: SpeedUp) -> Ints:
    """Return, for each position of a width, that of the fastest width up to it."""
    best = np.zeros(len(speedup), dtype=np.int64)
    for k in range(1, len(speedup)):
        best[k] = k if speedup.speedups[k] > speedup.speedups[best[k - 1]] else best[k - 1]
    return best


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
    if width > 0 and width not in job_class.speedup:
        raise PolicyError(
            f"{policy}: class {job_class.name!r} has no width {width}; "
            f"choose one of its widths: {shortened(job_class.speedup.widths.tolist())}"
        )


def checked_shares(where: str, shares: Mapping[int, float], least: int = 1) -> dict[int, float]:
    """Return widths from `least` on and their probabilities; errors begin with `where`."""
    if type(shares) is not dict and not isinstance(shares, Mapping):
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
            f"{totals[idle]:.9g}; they must sum to at most 1, the remainder is blocked"
        )
    tight = table[: widths[-1]]  # with more idle than that, every width fits
    beyond = (tight > 0.0) & (widths > np.arange(len(tight))[:, np.newaxis])
    for idle, k in np.argwhere(beyond)[:1]:
        raise PolicyError(
            f"policy {policy} grants width {widths[k]} to class {job_class.name!r} with {idle} "
            f"idle; a job cannot get more servers than are idle: grant a narrower width or none"
        )
