"""The bias of the paper's method, in theory.

The paper starts every run with an empty cluster and averages the execution times of those jobs that
finish before the run's last arrival, at time T. This has two errors.

*Long jobs are not counted.* A job that arrives at u counts if D <= T - u. If nothing else changed
with time, the average would be

    E[D (1 - D/T)+] / E[(1 - D/T)+],  about  E[D] - Var(D)/T

if the variance is finite: no bias for constant sizes, a bias of order 1/T for exponential ones, and
one of order T**-1/2 for Pareto sizes with shape 3/2, whose variance is infinite.

*The cluster fills slowly.* With infinitely many servers, the mean number of busy ones at time t is
its final value times G(t) = E[min(D, t)]/E[D], the distribution function of the residual time of a
running job. The system is assumed to be in equilibrium at each time under its current load,
load x G(t) (the modified-offered-load approximation). For Pareto sizes 1 - G decreases only like
T**-1/2, so blocking is too low throughout the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self, final

import numpy as np

from moldable import SizeLaw, SpeedUp
from reproduction.convergence import Floats

DEFICITS: Final = (0.0, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.2, 0.4)
"""Missing shares of the load at which the response of a system is computed."""

_GAUSS: Final = np.polynomial.legendre.leggauss(4)
_STEPS: Final = 8000


@final
@dataclass(frozen=True, eq=False)
class Response:
    """The performance of a system while a share of its load is missing.

    Attributes:
        deficits: the missing shares, from 0 upwards.
        blocking: at each of them.
        shares: of accepted jobs granted each of `widths`, a row for each deficit.
        widths: that occur.
    """

    deficits: Floats
    blocking: Floats
    shares: Floats
    widths: tuple[int, ...]

    @classmethod
    def read(cls, result: Mapping[str, Any]) -> Self:
        """Read the result of a cell: a list of points with deficit, blocking and width shares."""
        points = result["points"]
        widths = sorted({int(width) for point in points for width in point["width_shares"]})
        shares = [[point["width_shares"].get(str(w), 0.0) for w in widths] for point in points]
        # Without load nothing is blocked, and jobs get the widths that are drawn.
        return cls(
            np.array([*(point["deficit"] for point in points), 1.0]),
            np.array([*(point["blocking"] for point in points), 0.0]),
            np.array([*shares, shares[-1]]),
            tuple(widths),
        )

    def at(self, deficit: Floats) -> tuple[Floats, Floats]:
        """Return blocking and the shares of widths (a row each) at these deficits."""
        blocking = np.interp(deficit, self.deficits, self.blocking)
        shares = [np.interp(deficit, self.deficits, column) for column in self.shares.T]
        return blocking, np.array(shares)


@final
@dataclass(frozen=True, slots=True)
class Bias:
    """The expected bias of the paper's method."""

    blocking: float
    mean_execution_time: float


def predict(response: Response, curve: SpeedUp, law: SizeLaw, horizon: float) -> Bias:
    """Return the bias of runs that end at the horizon, in units of the mean size."""
    times = _both_ends_fine(horizon)
    speeds = np.array([curve[width] for width in response.widths])
    tail = _Tail.of(law)
    # The missing load is measured in servers, and wide jobs settle sooner than narrow ones.
    held = response.shares[0] * np.array(response.widths) / speeds
    settled = np.array([tail.integral(speed * times) for speed in speeds])
    blocking, shares = response.at(1.0 - held @ settled / held.sum())
    left = np.multiply.outer(speeds, horizon - times)
    accepted = shares * (1.0 - blocking)
    counted = np.trapezoid((accepted * tail.finished(left)).sum(axis=0), times)
    booked = np.trapezoid(
        (accepted * tail.finished_size(left) / speeds[:, None]).sum(axis=0), times
    )
    return Bias(
        float(np.trapezoid(blocking, times) / horizon - response.blocking[0]),
        float(booked / counted - response.shares[0] @ (1.0 / speeds)),
    )


def _both_ends_fine(horizon: float) -> Floats:
    """Return times up to the horizon, dense near both ends, where the bias arises."""
    near = np.geomspace(1e-5, horizon / 2.0, _STEPS // 2)
    return np.concatenate([[0.0], near, horizon - near[-2::-1], [horizon]])


@final
@dataclass(frozen=True, eq=False)
class _Tail:
    """The integral of 1 - F of a size law, tabulated."""

    law: SizeLaw
    ends: Floats
    integrals: Floats

    @classmethod
    def of(cls, law: SizeLaw) -> Self:
        # 1 is an end of the pieces, because constant sizes have their jump there.
        ends = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, _STEPS // 2)])
        ends = np.concatenate([ends, np.geomspace(1.0, 1e6, _STEPS)[1:]])
        middle, half = (ends[1:] + ends[:-1]) / 2.0, np.diff(ends) / 2.0
        nodes, weights = _GAUSS
        pieces = half * ((1.0 - law.cdf(middle + np.multiply.outer(nodes, half))).T @ weights)
        return cls(law, ends, np.concatenate([[0.0], np.cumsum(pieces)]))

    def integral(self, x: Floats) -> Floats:
        """Return E[min(S, x)], also the distribution function of residual sizes."""
        return np.asarray(np.interp(x, self.ends, self.integrals))

    def finished(self, x: Floats) -> Floats:
        """Return P(S <= x)."""
        return self.law.cdf(x)

    def finished_size(self, x: Floats) -> Floats:
        """Return E[S; S <= x]."""
        return self.integral(x) - x * (1.0 - self.law.cdf(x))
