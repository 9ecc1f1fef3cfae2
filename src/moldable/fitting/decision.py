"""The effect of measurement noise in a curve on the optimal widths.

The measurements are resampled from their noise, the chosen model is fitted to each resample, and
the optimum is computed for each curve.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from moldable.allocation.frontier import Frontier
from moldable.allocation.optimum import Optimum, optimum
from moldable.arrays import Floats
from moldable.base_result import Result, Row
from moldable.checks import check_type, checked_int
from moldable.errors import InfeasibleError, SpeedUpError
from moldable.fitting.fit import Fit
from moldable.fitting.model_selection import fitted_curve
from moldable.fitting.models import Fitted
from moldable.fitting.noise import resampled_times

RESAMPLES: Final = 400
MOST_RESAMPLES: Final = 100_000


@final
@dataclass(frozen=True, slots=True)
class Step:
    """The widths of the optimum, all one step narrower or wider on the frontier.

    Attributes:
        name: "optimum", "one step narrower" or "one step wider".
        widths: the share of jobs given each width.
        mean_execution_time: in mean sizes.
        busy_fraction: servers needed / servers there are; above 1 jobs are blocked or wait forever.

    Examples:
        >>> answer = fit({1: 10.0, 2: 6.0, 4: 4.0})
        >>> [step.name for step in decision_under_uncertainty(answer, 0.7).steps]
        ['optimum', 'one step narrower']
    """

    name: str
    widths: dict[int, float]
    mean_execution_time: float
    busy_fraction: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, ready for JSON."""
        return {
            "name": self.name,
            "widths": {str(width): share for width, share in self.widths.items()},
            "mean_execution_time": self.mean_execution_time,
            "busy_fraction": self.busy_fraction,
        }


@final
@dataclass(frozen=True, repr=False)
class Decision(Result):
    """The optimum of a fitted curve, and how far the noise moves it.

    Attributes:
        fit: the fit.
        optimum: the optimum of its curve.
        supports: the share of resamples in which each support is optimal, most frequent first.
        infeasible: the share of resamples whose curve cannot carry the load.
        time_interval: 95 % interval of the mean time of the optimum's shares, if the true curve is
            one of the resamples.
        busy_interval: the same for the servers needed / servers there are.
        steps: the optimum, and what widths one step narrower or wider would give.
        resamples: number of resamples.
        seed: random seed.

    Examples:
        >>> answer = fit({1: [10.0, 10.2], 2: [5.5, 5.4], 4: [3.2, 3.3], 8: [2.2, 2.1]})
        >>> decision_under_uncertainty(answer, 0.7, resamples=50).optimum.support
        (4, 8)
    """

    fit: Fit
    optimum: Optimum
    supports: dict[tuple[int, ...], float]
    infeasible: float
    time_interval: tuple[float, float]
    busy_interval: tuple[float, float]
    steps: tuple[Step, ...]
    resamples: int
    seed: int

    @property
    def kept(self) -> float:
        """The share of resamples with the support of the optimum."""
        return self.supports.get(self.optimum.support, 0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        return {
            "support": list(self.optimum.support),
            "mean_execution_time": self.optimum.mean_execution_time,
            "supports": [
                {"widths": list(widths), "share": share} for widths, share in self.supports.items()
            ],
            "infeasible": self.infeasible,
            "mean_execution_time_interval": list(self.time_interval),
            "busy_fraction_interval": list(self.busy_interval),
            "steps": [step.to_dict() for step in self.steps],
            "resamples": self.resamples,
            "seed": self.seed,
            "inputs": {"fit": self.fit.to_dict(), **self.optimum.inputs()},
        }

    def table(self) -> list[Row]:
        """Return a row for each support."""
        return [{"widths": list(widths), "share": share} for widths, share in self.supports.items()]

    def __repr__(self) -> str:
        return (
            f"Decision(widths {list(self.optimum.support)}, optimal in {100.0 * self.kept:.3g} % "
            f"of {self.resamples} resamples)"
        )


def decision_under_uncertainty(
    fit: Fit,
    load: float,
    *,
    servers: int | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    progress: Callable[[float, int], None] | None = None,
) -> Decision:
    """Compute the optimum of a fitted curve, and how often noise changes its widths.

    Args:
        fit: a fit.
        load: arrival rate x mean size / servers, taken as known.
        servers: number of servers; wider widths are left out.
        resamples: number of resampled curves.
        seed: random seed.
        progress: called with the number of resamples done and planned.

    Examples:
        >>> answer = fit({1: [10.0, 10.2], 2: [5.5, 5.4], 4: [3.2, 3.3], 8: [2.2, 2.1]})
        >>> decision_under_uncertainty(answer, 0.9, resamples=50).infeasible
        0.0
    """
    check_type(fit, Fit, "fit", SpeedUpError, "fit({1: 60.0, 2: 33.0})")
    count = checked_int(resamples, "resamples", SpeedUpError, most=MOST_RESAMPLES)
    best = optimum(fit.frontier, load, servers=servers)
    used = dict(zip(best.support, best.mix.shares, strict=True))
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    times = resampled_times(fit.measurements, fit.noise, count, rng)
    supports: Counter[tuple[int, ...]] = Counter()
    reached = np.empty((count, 2))
    for k, row in enumerate(times):
        curve = _resampled(fit, row)
        slower = np.array([1.0 / curve.speedup[width] for width in used])
        shares, widths = np.array(list(used.values())), np.array(list(used))
        reached[k] = shares @ slower, load * (shares @ (widths * slower))
        with suppress(InfeasibleError):
            supports[optimum(curve, load, servers=servers).support] += 1
        if progress is not None:
            progress(k + 1, count)
    return Decision(
        fit,
        best,
        {widths: number / count for widths, number in supports.most_common()},
        1.0 - supports.total() / count,
        _interval(reached[:, 0]),
        _interval(reached[:, 1]),
        _steps(best),
        count,
        seed,
    )


def _resampled(fit: Fit, times: Floats) -> Frontier:
    """Return the frontier of the chosen model, fitted to resampled times."""
    widths = fit.widths.astype(np.float64)
    weights = fit.measurements.counts / fit.noise.deviation**2
    found = Fitted.to(fit.chosen, widths, times, weights) or fit.fitted
    return Frontier.of(fitted_curve(fit.measurements, found, fit.widths))


def _interval(values: Floats) -> tuple[float, float]:
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def _steps(best: Optimum) -> tuple[Step, ...]:
    """Return the optimum and its neighbours on the frontier, if they exist."""
    frontier, shares = best.frontier, np.array(best.mix.shares)
    steps = []
    for name, shift in (("optimum", 0), ("one step narrower", -1), ("one step wider", 1)):
        at = best.mix.position + shift + np.arange(shares.size)
        if at[0] >= 0 and at[-1] < frontier.widths.size:
            given = dict(zip(frontier.widths[at].tolist(), shares.tolist(), strict=True))
            busy = best.load * float(shares @ frontier.server_time[at])
            steps.append(Step(name, given, float(shares @ frontier.time[at]), busy))
    return tuple(steps)
