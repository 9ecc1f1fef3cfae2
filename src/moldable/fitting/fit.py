"""Fits of all models, their errors, and the one that is recommended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, final

import numpy as np

from moldable.allocation.frontier import Frontier
from moldable.arrays import Floats, Ints
from moldable.base_result import Result, Row
from moldable.checks import choice
from moldable.errors import SpeedUpError
from moldable.files.notation import MODELS as NOTATIONS
from moldable.fitting.dips import Dip, find_dips
from moldable.fitting.measurements import Measurements
from moldable.fitting.model_selection import fitted_curve, judged, recommended
from moldable.fitting.models import ALL, Fitted, ModelFit
from moldable.fitting.noise import Noise, estimated_noise, speedup_intervals
from moldable.fitting.read import read_measurements
from moldable.model.speedup import SpeedUp

CHOICES: Final = ("auto", *ALL)


@final
@dataclass(frozen=True, repr=False)
class Fit(Result):
    """Measurements, the models fitted to them, and the curve that is recommended.

    Attributes:
        measurements: what was measured.
        noise: the relative noise of a run.
        low: lower ends of the 95 % intervals of the measured speed-ups.
        high: upper ends.
        dips: widths that are slower than a narrower one, beyond the noise.
        models: the fits, the measured curve first.
        chosen: the model of `curve`.
        reason: why it was chosen.
        fitted: its coefficients.

    Examples:
        >>> answer = fit({1: [60.0, 61.0], 2: [33.0, 32.5], 4: [19.5, 19.2], 8: [12.7, 12.6]})
        >>> answer.chosen, round(answer.curve[8], 2)
        ('amdahl', 4.77)
    """

    measurements: Measurements
    noise: Noise
    low: Floats
    high: Floats
    dips: tuple[Dip, ...]
    models: tuple[ModelFit, ...]
    chosen: str
    reason: str
    fitted: Fitted

    @property
    def widths(self) -> Ints:
        """The measured widths."""
        return self.measurements.widths

    @cached_property
    def measured(self) -> SpeedUp:
        """The curve of the mean times."""
        return self.measurements.speedup

    @cached_property
    def curve(self) -> SpeedUp:
        """The chosen curve at the measured widths."""
        if self.chosen == "measured":
            return self.measured
        return fitted_curve(self.measurements, self.fitted, self.widths)

    @cached_property
    def frontier(self) -> Frontier:
        """The frontier of the chosen curve."""
        return Frontier.of(self.curve)

    def model(self, name: str) -> ModelFit:
        """Return the fit of one model."""
        known = {part.model: part for part in self.models}
        return known[choice(name, known, "model", SpeedUpError)]

    def curve_at_every_width(self) -> SpeedUp:
        """Return the chosen model at every width from the narrowest to the widest measured one.

        Dips between measured widths cannot be seen. The measured curve itself has no other widths.
        """
        if self.chosen == "measured":
            return self.curve
        every = np.arange(self.widths[0], self.widths[-1] + 1)
        return fitted_curve(self.measurements, self.fitted, every)

    @property
    def extrapolated(self) -> float | None:
        """The speed-up of the narrowest width if the chosen model is continued to width 1.

        None if width 1 was measured, or if the curve has no formula.
        """
        first = int(self.widths[0])
        if first == 1 or self.measurements.relative_to_one or not self.fitted.parameters:
            return None
        one, narrowest = self.fitted.times(np.array([1.0, float(first)]))
        return float(one / narrowest)

    @property
    def notation(self) -> str | None:
        """The chosen model for `--speedup`, such as "amdahl:0.95:16"; None if it has no name."""
        if self.chosen not in NOTATIONS or self.widths[0] != 1:
            return None
        values = self.fitted.parameters
        given = [f"{values[name]:.9g}" for name in NOTATIONS[self.chosen].parameters[:-1]]
        return ":".join((self.chosen, *given, str(self.widths[-1])))

    def to_csv(self, *, every_width: bool = False) -> str:
        """Return the chosen curve as a CSV file that `--speedup` reads."""
        curve = self.curve_at_every_width() if every_width else self.curve
        rows = zip(curve.widths.tolist(), curve.speedups.tolist(), strict=True)
        head = f"# {self.chosen} fit to {' '.join(self.measurements.source.split())}\n"
        return f"{head}width,speedup\n{''.join(f'{w},{s!r}' + chr(10) for w, s in rows)}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        return {
            "widths": self.widths.tolist(),
            "runs": self.measurements.counts.tolist(),
            "measured": self.measured.speedups.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "fitted": self.curve.speedups.tolist(),
            "frontier": self.frontier.widths.tolist(),
            "noise": self.noise.to_dict(),
            "dips": [dip.to_dict() for dip in self.dips],
            "models": [part.to_dict() for part in self.models],
            "chosen": self.chosen,
            "reason": self.reason,
            "notation": self.notation,
            "baseline": self.measured.baseline,
            "extrapolated": self.extrapolated,
            "inputs": {
                "measurements": self.measurements.to_dict(),
                "speedup": dict(
                    zip(
                        map(str, self.widths.tolist()), self.measured.speedups.tolist(), strict=True
                    )
                ),
            },
        }

    def table(self) -> list[Row]:
        """Return a row for each measured width."""
        on_frontier = np.isin(self.widths, self.frontier.widths)
        columns = {
            "width": self.widths.tolist(),
            "runs": self.measurements.counts.tolist(),
            "speedup": self.measured.speedups.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "fitted": self.curve.speedups.tolist(),
            "on_frontier": on_frontier.tolist(),
        }
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def __repr__(self) -> str:
        dips = f", dips at {[dip.width for dip in self.dips[:8]]}" if self.dips else ""
        return (
            f"Fit({self.measurements!r}, noise={self.noise.typical:.2g}, "
            f"chosen={self.chosen!r}{dips})"
        )


def fit(
    measurements: Measurements | Mapping[int, Any] | Path | str,
    *,
    model: str = "auto",
    noise: float | None = None,
) -> Fit:
    """Fit speed-up models to measurements, and recommend one.

    Args:
        measurements: `Measurements`, run times as {width: time} or {width: [time, ...]}, or the
            name of a file for `read_measurements`.
        model: "measured", "concave", "amdahl", "usl", "downey" or "power". "auto" chooses among
            the models whose residuals the noise explains: those within 20 % of the least
            cross-validated error, and of these the one with the fewest parameters. If there is
            none, it chooses the measured curve.
        noise: relative standard deviation of a run; by default estimated from repeats, or 0.03 if
            there are none.

    Examples:
        >>> fit({1: [60.0, 61.0], 2: [33.0, 32.5], 4: [40.0, 41.0]}).dips[0].width
        4
    """
    choice(model, CHOICES, "model", SpeedUpError)
    measured = _as_measurements(measurements)
    if measured.widths.size == 1:
        raise SpeedUpError(
            f"{measured.source}: only width {measured.widths[0]} was measured; a curve needs at "
            f"least two widths"
        )
    found = estimated_noise(measured, noise)
    widths, times = measured.widths.astype(np.float64), measured.mean_times
    weights = measured.counts / found.deviation**2
    fits = {name: Fitted.to(name, widths, times, weights) for name in ALL}
    parts = tuple(
        judged(measured, found, weights, each) for each in fits.values() if each is not None
    )
    dips = find_dips(measured, found)
    chosen, reason = recommended(parts, dips, found) if model == "auto" else (model, "requested")
    fitted = fits[chosen]
    if fitted is None:
        raise SpeedUpError(f"model {chosen!r} does not apply here; choose another", "model")
    low, high = speedup_intervals(measured, found)
    return Fit(measured, found, low, high, dips, parts, chosen, reason, fitted)


def _as_measurements(given: Measurements | Mapping[int, Any] | Path | str) -> Measurements:
    if isinstance(given, Measurements):
        return given
    return read_measurements(given) if isinstance(given, str | Path) else Measurements(given)
