"""Errors of fitted models, and the choice among them."""

from __future__ import annotations

from typing import Final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.fitting.dips import Dip
from moldable.fitting.measurements import Measurements
from moldable.fitting.models import MODELS, Fitted, ModelFit
from moldable.fitting.noise import Noise
from moldable.model.speedup import SpeedUp

ACCEPTED: Final = 0.01
"""Residuals less likely than this under noise alone show that a model does not hold."""
SIMILAR: Final = 1.2
"""Cross-validated errors up to this factor above the least are no reason for more parameters."""
MOST_FOLDS: Final = 16


def fitted_curve(measured: Measurements, fitted: Fitted, widths: Ints) -> SpeedUp:
    """Return the speed-ups that a model predicts, relative to its own time on one server.

    If width 1 was not measured, the narrowest width has full efficiency, as in
    `SpeedUp.from_times`.
    """
    times = fitted.times(widths.astype(np.float64))
    first = int(measured.widths[0])
    one = (
        1.0 if measured.relative_to_one else first * float(fitted.times(np.array([first * 1.0]))[0])
    )
    curve = dict(zip(widths.tolist(), (one / times).tolist(), strict=True))
    if 1 in curve:
        curve[1] = 1.0  # exact, but for rounding
    return SpeedUp(curve)


def judged(measured: Measurements, noise: Noise, weights: Floats, fitted: Fitted) -> ModelFit:
    """Return a fit with its errors and the test whether noise explains its residuals."""
    widths, times = measured.widths.astype(np.float64), measured.mean_times
    residuals = np.log(fitted.times(widths) / times)
    return ModelFit(
        fitted.name,
        fitted.parameters,
        fitted.free,
        fitted_curve(measured, fitted, measured.widths).speedups,
        float(np.sqrt(np.mean(residuals**2))),
        _cross_validated(fitted.name, widths, times, weights),
        _p_value(float(np.sum(weights * residuals**2)), widths.size - fitted.free, noise),
    )


def _p_value(statistic: float, freedom: int, noise: Noise) -> float:
    """Return the probability of residuals this large if they are noise (F or chi-squared test)."""
    from scipy.special import chdtrc, fdtrc

    if freedom <= 0:
        return 1.0
    behind = float(np.sum(noise.freedom) if not noise.common else noise.freedom[0])
    if np.isinf(behind):
        return float(chdtrc(freedom, statistic))
    return float(fdtrc(freedom, behind, statistic / freedom))


def _cross_validated(name: str, widths: Floats, times: Floats, weights: Floats) -> float | None:
    """Return the root mean square error at inner widths that were left out of the fit in turn."""
    inner = np.arange(1, widths.size - 1)
    if not inner.size:
        return None
    squares = []
    for first in range(min(inner.size, MOST_FOLDS)):
        left_out = inner[first::MOST_FOLDS]
        kept = np.setdiff1d(np.arange(widths.size), left_out)
        found = Fitted.to(name, widths[kept], times[kept], weights[kept])
        if found is None:
            return None
        squares.append(np.log(found.times(widths[left_out]) / times[left_out]) ** 2)
    return float(np.sqrt(np.mean(np.concatenate(squares))))


def recommended(
    parts: tuple[ModelFit, ...], dips: tuple[Dip, ...], noise: Noise
) -> tuple[str, str]:
    """Return the recommended model and the reason."""
    spread = f"{'assumed ' if noise.assumed else ''}noise of {100.0 * noise.typical:.2g} %"
    models = [part for part in parts if part.model in MODELS]
    holding = [part for part in models if part.tested and part.p_value >= ACCEPTED]
    if not holding:
        why = f"no model agrees with the measurements within the {spread}"
        return "measured", f"{why} ({dips[0]})" if dips else why
    known = [part for part in holding if part.cross_validated_error is not None]
    if not known:
        return holding[0].model, "two widths are too few to compare models"
    least = min(part.cross_validated_error or 0.0 for part in known)
    close = [part for part in known if (part.cross_validated_error or 0.0) <= SIMILAR * least]
    best = min(close, key=lambda part: (part.free, part.cross_validated_error))
    error = f"{100.0 * (best.cross_validated_error or 0.0):.2g} %"
    if len(close) == 1:
        return best.model, (
            f"its cross-validated error ({error}) is the least of the models that agree with the "
            f"measurements within the {spread}"
        )
    return best.model, (
        f"it is the simplest model that agrees with the measurements within the {spread} and has "
        f"nearly the least cross-validated error ({error})"
    )
