"""Models of run times, fitted by least squares of relative errors.

A residual is (fitted time or speed) / (measured one) - 1, with weight 1 / variance of the mean at
that width. Then four of the five models are linear in their parameters, and non-negative least
squares (or linear regression) gives the optimum without a starting point:

- concave: speed = sum_k c_k min(w, k) with c_k >= 0 over the measured widths k, which are all
  increasing concave functions through the origin;
- amdahl: time = a + b/w with a, b >= 0;
- usl (Gunther): time = a/w + b + c (w - 1) with a, b, c >= 0;
- power: log time = a - e log w with e >= 0;
- downey: two parameters on grids that are refined around their best point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, final

import numpy as np

from moldable.arrays import Floats
from moldable.fitting.downey_search import fit_downey
from moldable.model.downey import downey_speedup

UNUSED: Final = 1e-12


@final
@dataclass(frozen=True, eq=False, slots=True)
class ModelFit:
    """A model fitted to measurements.

    Attributes:
        model: "measured", "concave", "amdahl", "usl", "downey" or "power".
        parameters: the parameters by name, as the command line takes them; empty for a curve
            without parameters.
        free: number of fitted numbers, the time on one server included.
        speedups: fitted speed-ups at the measured widths.
        error: root mean square of the relative errors of the fitted times.
        cross_validated_error: the same at widths that the fit has not seen, the narrowest and the
            widest width excepted; None with fewer than three widths.
        p_value: probability of residuals this large if the model holds and only noise disturbs it.

    Examples:
        >>> fit({1: 60.0, 2: 33.0, 4: 19.5}).models[2].model
        'amdahl'
    """

    model: str
    parameters: Mapping[str, float]
    free: int
    speedups: Floats
    error: float
    cross_validated_error: float | None
    p_value: float

    @property
    def tested(self) -> bool:
        """Whether the residuals can tell if the model holds.

        A model with as many parameters as widths always agrees. Concavity is tested by any curve.
        """
        return self.model == "concave" or self.free < self.speedups.size

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        return {
            "model": self.model,
            "parameters": dict(self.parameters),
            "speedups": self.speedups.tolist(),
            "error": self.error,
            "cross_validated_error": self.cross_validated_error,
            "p_value": self.p_value,
        }


class Model(NamedTuple):
    """How a model is fitted, and what it predicts.

    Attributes:
        estimate: (widths, times, weights) -> coefficients; None if the model does not apply.
        times: (coefficients, fitted widths, widths) -> times.
        parameters: coefficients -> parameters by name.
        free: coefficients -> number of fitted numbers.
    """

    estimate: Callable[[Floats, Floats, Floats], Floats | None]
    times: Callable[[Floats, Floats, Floats], Floats]
    parameters: Callable[[Floats], dict[str, float]]
    free: Callable[[Floats], int]


def non_negative(basis: Floats, target: Floats, weights: Floats) -> Floats:
    """Return the coefficients c >= 0 that minimise the weighted squares of basis c / target - 1."""
    from scipy.optimize import nnls

    scaled = np.sqrt(weights / weights.max())
    # Columns of equal length keep the solver well conditioned.
    matrix = scaled[:, None] * basis / target[:, None]
    length = np.linalg.norm(matrix, axis=0)
    found, _ = nnls(matrix / length, scaled, maxiter=50 * max(basis.shape))
    return np.asarray(found / length, dtype=np.float64)


def _fit_concave(widths: Floats, times: Floats, weights: Floats) -> Floats:
    return non_negative(np.minimum.outer(widths, widths), 1.0 / times, weights)


def _concave_times(found: Floats, knots: Floats, widths: Floats) -> Floats:
    return np.asarray(1.0 / (np.minimum.outer(widths, knots) @ found), dtype=np.float64)


def _fit_amdahl(widths: Floats, times: Floats, weights: Floats) -> Floats:
    return non_negative(np.column_stack((np.ones(widths.size), 1.0 / widths)), times, weights)


def _fit_usl(widths: Floats, times: Floats, weights: Floats) -> Floats | None:
    basis = np.column_stack((1.0 / widths, np.ones(widths.size), widths - 1.0))
    if basis[:, 2].max() <= 0.0:
        return None
    found = non_negative(basis, times, weights)
    return found if found[0] + found[1] > 0.0 else None  # no time on one server


def _fit_power(widths: Floats, times: Floats, weights: Floats) -> Floats:
    x, y = np.log(widths), np.log(times)
    centre = np.average(x, weights=weights)
    slope = np.average((x - centre) * y, weights=weights)
    exponent = max(-slope / np.average((x - centre) ** 2, weights=weights), 0.0)
    return np.array([np.average(y, weights=weights) + exponent * centre, exponent])


MODELS: Final[Mapping[str, Model]] = {
    "concave": Model(
        _fit_concave,
        _concave_times,
        lambda _: {},
        lambda found: int(np.count_nonzero(found > UNUSED * found.max())),
    ),
    "amdahl": Model(
        _fit_amdahl,
        lambda found, _, widths: found[0] + found[1] / widths,
        lambda found: {"parallel_fraction": float(found[1] / found.sum())},
        lambda _: 2,
    ),
    "usl": Model(
        _fit_usl,
        lambda found, _, widths: found[0] / widths + found[1] + found[2] * (widths - 1.0),
        lambda found: {
            "contention": float(found[1] / (found[0] + found[1])),
            "coherency": float(found[2] / (found[0] + found[1])),
        },
        lambda _: 3,
    ),
    "downey": Model(
        fit_downey,
        lambda found, _, widths: np.exp(found[0]) / downey_speedup(widths, found[1], found[2]),
        lambda found: {"average_parallelism": float(found[1]), "variance": float(found[2])},
        lambda _: 3,
    ),
    "power": Model(
        _fit_power,
        lambda found, _, widths: np.exp(found[0] - found[1] * np.log(widths)),
        lambda found: {"exponent": float(found[1])},
        lambda _: 2,
    ),
}
"""The models by name."""
MEASURED: Final = Model(
    lambda _widths, times, _weights: times,
    # Between measured widths speeds are interpolated, which cross-validation needs.
    lambda times, knots, widths: 1.0 / np.interp(widths, knots, 1.0 / times),
    lambda _: {},
    lambda times: times.size,
)
"""The mean times themselves."""
ALL: Final[Mapping[str, Model]] = {"measured": MEASURED, **MODELS}


@final
@dataclass(frozen=True, eq=False, slots=True)
class Fitted:
    """Coefficients of a model and the widths they were fitted to."""

    name: str
    coefficients: Floats
    knots: Floats

    @classmethod
    def to(cls, name: str, widths: Floats, times: Floats, weights: Floats) -> Fitted | None:
        """Fit a model; None if it does not apply."""
        found = ALL[name].estimate(widths, times, weights)
        return None if found is None else cls(name, found, widths)

    def times(self, widths: Floats) -> Floats:
        """Return the times that the model predicts."""
        return ALL[self.name].times(self.coefficients, self.knots, widths)

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters by name."""
        return ALL[self.name].parameters(self.coefficients)

    @property
    def free(self) -> int:
        """How many numbers were fitted."""
        return ALL[self.name].free(self.coefficients)
