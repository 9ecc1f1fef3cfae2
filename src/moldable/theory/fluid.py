"""Paths of the fluid limit, and the time until which they are valid.

The fluid limit of greedy(p*) is linear, dx_i/dt = s_i*(y_i - x_i), so its paths are sums of
exponentials. The equations ignore capacity: they are the limit of the cluster only until the busy
fraction exceeds 1. That time is bracketed by rigorous bounds, not searched on a grid.
Time is in mean sizes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, final

import numpy as np

from moldable.allocation.optimum import Optimum
from moldable.arrays import Floats
from moldable.base_result import Result, Row
from moldable.checks import check_type
from moldable.errors import LimitError
from moldable.model.assumptions import ROUNDING

POINTS, LASTING = 101, 8.0
"""Times in a table, and its length in execution times of the slowest width."""
RESOLUTION: Final = 1e-13
"""Length of the smallest intervals that are searched, relative to the horizon."""


@final
@dataclass(frozen=True, repr=False, eq=False)
class FluidPath(Result):
    """The fluid path from a start, x_i(t) = y_i + (x_i(0) - y_i)*exp(-s_i*t).

    Args:
        optimum: the allocation in force, which fixes y and the rates.
        start: jobs per server at each allowed width at time 0, as a vector over
            `optimum.widths` or a mapping width -> jobs per server.

    Examples:
        >>> path = FluidPath(optimum([1, 1.8, 2.5], 0.8), start=[0, 0, 0])
        >>> path.busy_fraction([0.0, 1.0]).round(4).tolist(), path.valid_until
        ([0.0, 0.8812], inf)
    """

    optimum: Optimum
    start: Sequence[float] | Floats | Mapping[int, float]

    def __post_init__(self) -> None:
        check_type(self.optimum, Optimum, "optimum", LimitError, "optimum([1, 1.8], 0.8)")
        object.__setattr__(self, "start", _start(self.optimum, self.start))

    def at(self, times: float | Sequence[float] | Floats) -> Floats:
        """Return x(t): a row for each time, a column for each allowed width."""
        t = np.atleast_1d(_floats(times, "times"))
        if not np.all(t >= 0.0):
            raise LimitError("times must be at least 0: the path starts at time 0")
        y, x0 = self.optimum.scaled_jobs, np.asarray(self.start)
        return y + (x0 - y) * np.exp(-np.outer(t, self.optimum.frontier.speedup.speedups))

    def busy_fraction(self, times: float | Sequence[float] | Floats) -> Floats:
        """Return the fraction of busy servers, above 1 where the path is not valid."""
        return self.at(times) @ self.optimum.widths

    @cached_property
    def valid_until(self) -> float:
        """The first time at which the busy fraction exceeds 1; infinite if it never does."""
        return _first_positive(*self._excess())

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON; `valid_until` is null if infinite."""
        until = self.valid_until
        return {
            "path": self.table(),
            "valid_until": until if math.isfinite(until) else None,
            "inputs": {**self.optimum.inputs(), "start": np.asarray(self.start).tolist()},
        }

    def table(self) -> list[Row]:
        """Return jobs per server at each width, and the busy fraction, at a hundred times."""
        speedups = self.optimum.frontier.speedup.speedups
        times = np.linspace(0.0, LASTING / float(speedups.min()), POINTS)
        names = [f"width {width}" for width in self.optimum.widths.tolist()]
        columns = zip(
            times.tolist(), self.busy_fraction(times).tolist(), self.at(times), strict=True
        )
        return [
            {"time": time, "busy_fraction": busy, **dict(zip(names, row.tolist(), strict=True))}
            for time, busy, row in columns
        ]

    def __repr__(self) -> str:
        return f"FluidPath(valid_until={self.valid_until:.6g}, towards {self.optimum!r})"

    def _excess(self) -> tuple[Floats, Floats]:
        """Return (coefficients, rates) of the busy fraction minus 1 as a sum of exponentials."""
        y, x0 = self.optimum.scaled_jobs, np.asarray(self.start)
        speedups = self.optimum.frontier.speedup.speedups
        final_excess = float(self.optimum.widths @ y) - 1.0
        if abs(final_excess) <= ROUNDING:
            final_excess = 0.0
        coefficients = np.concatenate(([final_excess], self.optimum.widths * (x0 - y)))
        rates, where = np.unique(np.concatenate(([0.0], speedups)), return_inverse=True)
        merged = np.zeros(rates.size)
        np.add.at(merged, where, coefficients)
        present = np.abs(merged) > ROUNDING * np.abs(merged).max(initial=0.0)
        return merged[present], rates[present]


def _start(optimum: Optimum, start: Sequence[float] | Floats | Mapping[int, float]) -> Floats:
    widths = optimum.widths
    if isinstance(start, Mapping):
        unknown = [width for width in start if width not in widths.tolist()]
        if unknown:
            raise LimitError(f"the start has jobs of width {unknown[0]}, which is not allowed")
        start = [start.get(int(width), 0.0) for width in widths]
    x0 = _floats(start, "the start")
    if x0.shape != widths.shape:
        raise LimitError(f"the start has {x0.size} entries for {widths.size} allowed widths")
    if not np.all(np.isfinite(x0) & (x0 >= 0.0)):
        raise LimitError("the start must be finite and at least 0 at every width")
    busy = float(widths @ x0)
    if busy > 1.0 + ROUNDING:
        raise LimitError(
            f"the start keeps {busy:.6g} of the servers busy; no cluster can hold more than 1: "
            f"lower the counts"
        )
    x0.flags.writeable = False
    return x0


def _floats(values: object, name: str) -> Floats:
    """Return a new array of numbers, or raise an error."""
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise LimitError(f"{name} must be numbers, such as [0, 0.5]; correct them") from None


def _first_positive(coefficients: Floats, rates: Floats) -> float:
    """Return the first t >= 0 at which sum c*exp(-r*t) becomes positive, or infinity.

    Dividing by the slowest exponential changes no sign and leaves a function with a limit. Beyond
    some horizon it has the sign of that limit. Before it, intervals are halved until bounds on the
    function or on its derivative decide.
    """
    if coefficients.size == 0:
        return math.inf
    rates = rates - rates[0]
    noise = ROUNDING * float(np.abs(coefficients).sum())
    if coefficients.sum() >= -noise and -float(coefficients @ rates) > noise:
        return 0.0
    limit = float(coefficients[0])
    others = float(np.abs(coefficients[1:]).sum())
    horizon = math.log(others / abs(limit)) / float(rates[1]) if others > abs(limit) else 0.0
    return _search(coefficients, rates, horizon, otherwise=horizon if limit > 0.0 else math.inf)


def _search(coefficients: Floats, rates: Floats, horizon: float, *, otherwise: float) -> float:
    """Search [0, horizon] from the left; the function is not positive at 0."""

    def value(c: Floats, t: float) -> float:
        return float(c @ np.exp(-rates * t))

    def bounds(c: Floats, a: float, b: float) -> tuple[float, float]:
        up, down = np.maximum(c, 0.0), np.minimum(c, 0.0)
        return value(up, b) + value(down, a), value(up, a) + value(down, b)

    pending = [(0.0, horizon)]
    while pending:
        a, b = pending.pop()
        falling_fastest, rising_fastest = bounds(-coefficients * rates, a, b)
        if bounds(coefficients, a, b)[1] <= 0.0 or rising_fastest <= 0.0:
            continue
        if falling_fastest >= 0.0 or b - a <= RESOLUTION * horizon:
            if value(coefficients, b) > 0.0:
                while a < (middle := 0.5 * (a + b)) < b:
                    a, b = (a, middle) if value(coefficients, middle) > 0.0 else (middle, b)
                return b
            continue
        middle = 0.5 * (a + b)
        pending += [(middle, b), (a, middle)]
    return otherwise
