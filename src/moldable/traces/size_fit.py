"""The size law nearest to recorded sizes, with their mean and coefficient of variation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from moldable.arrays import Floats
from moldable.model.sizes import SizeLaw

CONSTANT: Final = 0.02
"""Coefficient of variation below which sizes are taken to be equal."""
EXPONENTIAL: Final = (0.8, 1.25)
"""Coefficients of variation for which the exponential law, which has 1, is considered."""
SIMPLER: Final = 0.02
"""Difference up to which the exponential law is preferred, since it has exact solutions."""
POINTS: Final = 2000
"""Quantiles at which laws are compared with the recorded sizes."""
SHAPES: Final = (0.05, 200.0)


@final
@dataclass(frozen=True, slots=True)
class SizeFit:
    """A size law for recorded sizes.

    Attributes:
        law: its one-line notation.
        cv: coefficient of variation of the recorded sizes.
        distance: largest difference between the two distribution functions.
    """

    law: str
    cv: float
    distance: float


def fit_size_law(sizes: Floats) -> SizeFit:
    """Choose among the laws with the mean and the coefficient of variation of the sizes.

    Examples:
        >>> fit_size_law(np.array([1.0, 1.0, 1.0])).law
        'deterministic'
    """
    cv = float(sizes.std() / sizes.mean())
    if cv < CONSTANT:
        return SizeFit("deterministic", cv, 0.0)
    levels = (np.arange(POINTS) + 0.5) / POINTS
    points = np.quantile(sizes / sizes.mean(), levels)
    candidates = [f"lognormal:{cv:.3g}", f"weibull:{weibull_shape(cv):.3g}"]
    if cv > 1.0:
        candidates.append(f"hyperexponential:{max(cv, 1.01):.3g}")
    if EXPONENTIAL[0] <= cv <= EXPONENTIAL[1]:
        candidates.append("exponential")
    distances = {
        law: float(np.abs(SizeLaw.parse(law).cdf(points) - levels).max()) for law in candidates
    }
    nearest = min(distances, key=distances.__getitem__)
    if distances.get("exponential", 1.0) <= distances[nearest] + SIMPLER:
        nearest = "exponential"
    return SizeFit(nearest, cv, distances[nearest])


def weibull_shape(cv: float) -> float:
    """Return the shape of the Weibull law with this coefficient of variation, by bisection."""

    def excess(shape: float) -> float:
        moments = math.lgamma(1.0 + 2.0 / shape) - 2.0 * math.lgamma(1.0 + 1.0 / shape)
        return moments - math.log1p(cv * cv)

    low, high = SHAPES
    for _ in range(100):
        middle = math.sqrt(low * high)
        if excess(middle) > 0.0:
            low = middle
        else:
            high = middle
    return math.sqrt(low * high)
