"""Dips: widths that are slower than a narrower one, beyond the noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from moldable.fitting.measurements import Measurements
from moldable.fitting.noise import LEVEL, Noise, log_errors, t_quantile

TWO_DIGITS: Final = 10.0


@final
@dataclass(frozen=True, slots=True)
class Dip:
    """A width that is slower than a narrower one.

    Attributes:
        width: the width.
        narrower: the fastest narrower width that it is significantly slower than.
        slowdown: time at the width / time at the narrower one, minus 1.

    Examples:
        >>> str(fit({1: 10.0, 2: 6.0, 3: 7.5}).dips[0])
        'width 3 takes 25 % longer than width 2'
    """

    width: int
    narrower: int
    slowdown: float

    def __str__(self) -> str:
        excess = 100.0 * self.slowdown
        shown = f"{excess:.0f}" if excess >= TWO_DIGITS else f"{excess:.2g}"
        return f"width {self.width} takes {shown} % longer than width {self.narrower}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, ready for JSON."""
        return {"width": self.width, "narrower": self.narrower, "slowdown": self.slowdown}


def find_dips(measured: Measurements, noise: Noise) -> tuple[Dip, ...]:
    """Return the widths whose time exceeds that of a narrower one by more than the noise.

    The level of the test is divided among the narrower widths (Bonferroni), because the fastest of
    many may be fast by chance.
    """
    times, dips = measured.mean_times, []
    log_times = np.log(times)
    for k in range(1, times.size):
        error, freedom = log_errors(measured, noise, reference=k)
        level = 1.0 - (1.0 - LEVEL) / 2.0 / k
        beyond = log_times[k] - log_times > t_quantile(level, freedom) * error
        found = np.flatnonzero(beyond[:k])
        if found.size:
            at = int(found[np.argmin(times[found])])
            slowdown = float(times[k] / times[at] - 1.0)
            dips.append(Dip(int(measured.widths[k]), int(measured.widths[at]), slowdown))
    return tuple(dips)
