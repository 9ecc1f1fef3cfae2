"""Speed-up curves.

A `SpeedUp` holds the allowed widths of a job and the speed-up at each. Widths may have gaps and
need not include 1, and curves may have any shape, because measured curves dip, jump and run
super-linearly. `violations` lists where a curve violates the paper's assumptions.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.checks import LARGEST, SMALLEST, as_list, checked_int, number, positive, within
from moldable.errors import SpeedUpError
from moldable.model import assumptions
from moldable.model.assumptions import ROUNDING, Violation

WIDEST: Final = 10_000_000
"""Largest width of a model; larger values are almost certainly typing errors."""


@final
@dataclass(frozen=True, slots=True)
class Repeats:
    """Repeated measurements at one width.

    Attributes:
        width: the width.
        count: how often it was measured.
        spread: (longest time - shortest time) / mean time.
    """

    width: int
    count: int
    spread: float


@final
@dataclass(frozen=True, init=False, eq=False, repr=False, slots=True)
class SpeedUp:
    """The allowed widths of a job and their speed-ups relative to one server.

    Args:
        curve: speed-ups of widths 1, 2, ..., d, or a mapping from width to speed-up. If width 1 is
            allowed, its speed-up must be 1.

    Attributes:
        widths: the allowed widths, ascending.
        speedups: the speed-up at each of them.
        baseline: how the time on one server was estimated, if it was not given; otherwise empty.
        repeats: the widths that `from_times` was given several times, and their spread.

    Example:
        >>> SpeedUp([1, 1.8, 2.5])[3]
        2.5
        >>> SpeedUp({1: 1, 4: 3.5}).widths.tolist()
        [1, 4]
    """

    widths: Ints
    speedups: Floats
    baseline: str
    repeats: tuple[Repeats, ...]

    def __init__(self, curve: Sequence[float] | Floats | Mapping[int, float]) -> None:
        if isinstance(curve, Mapping):
            widths = np.array(
                [checked_int(w, "width", SpeedUpError) for w in curve], dtype=np.int64
            )
            values = [number(value, f"s({w})", SpeedUpError) for w, value in curve.items()]
        else:
            given = as_list(curve, "curve", SpeedUpError, "[1, 1.8, 2.5]")
            values = [number(v, f"s({i})", SpeedUpError) for i, v in enumerate(given, start=1)]
            widths = np.arange(1, len(values) + 1, dtype=np.int64)
        self._set(widths, np.array(values, dtype=np.float64), "")

    def _set(
        self,
        widths: Ints,
        speedups: Floats,
        baseline: str,
        repeats: tuple[Repeats, ...] = (),
    ) -> None:
        order = np.argsort(widths, kind="stable")
        widths, speedups = widths[order], speedups[order]
        _refuse_invalid(widths, speedups)
        widths.flags.writeable = speedups.flags.writeable = False
        object.__setattr__(self, "widths", widths)
        object.__setattr__(self, "speedups", speedups)
        object.__setattr__(self, "baseline", baseline)
        object.__setattr__(self, "repeats", repeats)

    @classmethod
    def _from_arrays(
        cls,
        widths: Ints,
        speedups: Floats,
        baseline: str = "",
        repeats: tuple[Repeats, ...] = (),
    ) -> Self:
        self = cls.__new__(cls)
        self._set(widths, speedups, baseline, repeats)
        return self

    @classmethod
    def from_times(cls, times: Iterable[tuple[int, float]] | Mapping[int, float]) -> Self:
        """Build the curve from measured run times, (width, time) pairs; repeats are averaged.

        The time on one server is the baseline. If width 1 was not measured, the narrowest
        measured width w is assumed to run at full efficiency, so that one server would need w
        times its time. `baseline` then says so, and loads depend on the same assumption.
        `repeats` keeps how much repeated measurements differ.
        """
        pairs = times.items() if isinstance(times, Mapping) else times
        runs: defaultdict[int, list[float]] = defaultdict(list)
        for width, time in pairs:
            at = checked_int(width, "width", SpeedUpError)
            runs[at].append(positive(time, f"the time at width {at}", SpeedUpError))
        if not runs:
            raise SpeedUpError("no run time was given; give at least one (width, time) pair")
        means = {width: math.fsum(runs[width]) / len(runs[width]) for width in sorted(runs)}
        narrowest = min(means)
        one_server = narrowest * means[narrowest]
        baseline = (
            f"width 1 was not measured: width {narrowest} is taken to run at full efficiency, "
            f"so one server would need {narrowest} times its time"
        )
        return cls._from_arrays(
            np.array(list(means), dtype=np.int64),
            one_server / np.array(list(means.values()), dtype=np.float64),
            "" if narrowest == 1 else baseline,
            tuple(
                Repeats(width, len(runs[width]), (max(runs[width]) - min(runs[width])) / mean)
                for width, mean in means.items()
                if len(runs[width]) > 1
            ),
        )

    @classmethod
    def linear(cls, d: int) -> Self:
        """Perfect scaling, s_i = i, for widths 1..d."""
        return cls._model(d, lambda i: i)

    @classmethod
    def amdahl(cls, parallel_fraction: float, d: int) -> Self:
        """Amdahl's law: only the given fraction of the work is divided."""
        f = within(parallel_fraction, "parallel_fraction", SpeedUpError, 0.0, 1.0)
        return cls._model(d, lambda i: 1.0 / ((1.0 - f) + f / i))

    @classmethod
    def power_law(cls, exponent: float, d: int) -> Self:
        """Power law, s_i = i**exponent; super-linear for exponents above 1."""
        e = within(exponent, "exponent", SpeedUpError, 0.0, LARGEST)
        return cls._model(d, lambda i: i**e)

    @classmethod
    def usl(cls, contention: float, coherency: float, d: int) -> Self:
        """Gunther's universal scalability law; with coherency > 0 it decreases beyond a peak."""
        a = within(contention, "contention", SpeedUpError, 0.0, LARGEST)
        b = within(coherency, "coherency", SpeedUpError, 0.0, LARGEST)
        return cls._model(d, lambda i: i / (1.0 + a * (i - 1.0) + b * i * (i - 1.0)))

    @classmethod
    def downey(cls, average_parallelism: float, variance: float, d: int) -> Self:
        """Downey's model with average parallelism A and its coefficient of variance sigma.

        A. B. Downey, "A parallel workload model and its implications for processor
        allocation", HPDC 1997: one formula up to sigma = 1, another above; constant at A.
        """
        a = within(average_parallelism, "average_parallelism", SpeedUpError, 1.0, LARGEST)
        sigma = within(variance, "variance", SpeedUpError, 0.0, LARGEST)
        return cls._model(d, lambda i: _downey(i, a, sigma))

    @classmethod
    def _model(cls, d: int, formula: Callable[[Floats], Floats]) -> Self:
        count = checked_int(d, "d", SpeedUpError, most=WIDEST)
        widths = np.arange(1, count + 1, dtype=np.int64)
        with np.errstate(all="ignore"):  # overflow is refused below
            speedups = np.asarray(formula(widths.astype(np.float64)), dtype=np.float64).copy()
        speedups[0] = 1.0  # exact in every model, but for rounding
        return cls._from_arrays(widths, speedups)

    def up_to(self, width: int) -> SpeedUp:
        """Return the curve without the widths above the given one."""
        if self.widths[-1] <= width:
            return self
        fits = self.widths <= width
        if not fits[0]:
            raise SpeedUpError(
                f"the narrowest allowed width is {self.widths[0]}, but there are only {width} "
                f"servers; add servers or allow a narrower width"
            )
        kept = tuple(part for part in self.repeats if part.width <= width)
        return SpeedUp._from_arrays(self.widths[fits], self.speedups[fits], self.baseline, kept)

    def is_increasing(self, tolerance: float = 0.0) -> bool:
        """Return whether every width is faster than the one before it (P1)."""
        return not assumptions.not_increasing(self.widths, self.speedups, tolerance)

    def is_efficiency_non_increasing(self, tolerance: float = ROUNDING) -> bool:
        """Return whether no width is more efficient than a narrower one (P2 as printed)."""
        return not assumptions.efficiency_gains(self.widths, self.speedups, tolerance)

    def is_concave(self, tolerance: float = ROUNDING) -> bool:
        """Return whether the curve, with s_0 = 0, is concave (P2 as intended)."""
        return not assumptions.chord_dips(self.widths, self.speedups, tolerance)

    def is_linear(self, tolerance: float = ROUNDING) -> bool:
        """Return whether s_i = i at every allowed width."""
        return not (np.abs(self.speedups / self.widths - 1.0) > tolerance).any()

    def violations(self, tolerance: float | None = None) -> tuple[Violation, ...]:
        """List the widths that violate an assumption of the paper.

        Without a tolerance each property uses its own default. Repeated measurements of one
        program differ by 1-4 %, so use a tolerance of about 0.05 for measured curves.
        """
        strict = 0.0 if tolerance is None else tolerance
        rounding = ROUNDING if tolerance is None else tolerance
        return (
            *assumptions.not_increasing(self.widths, self.speedups, strict),
            *assumptions.efficiency_gains(self.widths, self.speedups, rounding),
            *assumptions.chord_dips(self.widths, self.speedups, rounding),
        )

    def __getitem__(self, width: int) -> float:
        at = int(np.searchsorted(self.widths, width))
        if at == self.widths.size or self.widths[at] != width:
            raise KeyError(width)
        return float(self.speedups[at])

    def __len__(self) -> int:
        return int(self.widths.size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SpeedUp):
            return NotImplemented
        return np.array_equal(self.widths, other.widths) and np.array_equal(
            self.speedups, other.speedups
        )

    def __hash__(self) -> int:
        return hash((self.widths.tobytes(), self.speedups.tobytes()))

    def __repr__(self) -> str:
        shown = [f"{w}: {s:.6g}" for w, s in zip(self.widths[:8], self.speedups[:8], strict=True)]
        rest = [f"... {self.widths[-1]}: {self.speedups[-1]:.6g}"] if len(self) > len(shown) else []
        return f"SpeedUp({{{', '.join(shown + rest)}}})"


def _downey(i: Floats, a: float, sigma: float) -> Floats:
    if sigma <= 1.0:
        rising = a * i / (a + sigma * (i - 1.0) / 2.0)
        bending = a * i / (sigma * (a - 0.5) + i * (1.0 - sigma / 2.0))
        return np.where(i <= a, rising, np.where(i <= 2.0 * a - 1.0, bending, a))
    rising = i * a * (sigma + 1.0) / (sigma * (i + a - 1.0) + a)
    return np.where(i <= a + a * sigma - sigma, rising, a)


def _refuse_invalid(widths: Ints, speedups: Floats) -> None:
    """Raise unless the sorted widths are distinct and their speed-ups are valid."""
    if widths.size == 0:
        raise SpeedUpError("the curve is empty; give at least one width and its speed-up")
    for width in widths[1:][widths[1:] == widths[:-1]]:
        raise SpeedUpError(
            f"width {width} is given twice; keep one speed-up per width, or pass repeated run "
            f"times to SpeedUp.from_times, which averages them"
        )
    for k in np.flatnonzero(~((speedups >= SMALLEST) & (speedups <= LARGEST))):
        raise SpeedUpError(
            f"s({widths[k]})={speedups[k]} is not a speed-up; speed-ups must be finite and above "
            f"0: correct it or drop width {widths[k]}"
        )
    if widths[0] == 1 and abs(speedups[0] - 1.0) > ROUNDING:
        raise SpeedUpError(
            f"s(1)={speedups[0]:.12g}, but speed-ups are relative to one server, so s(1) must be 1;"
            f" divide the curve by {speedups[0]:.12g}, or drop width 1 if it is not allowed"
        )
