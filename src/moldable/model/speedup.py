"""Speed-up curves.

A `SpeedUp` holds the allowed widths of a job and the speed-up at each. Widths may have gaps and
need not include 1, and curves may have any shape, because measured curves dip, jump and run
super-linearly. `violations` lists where a curve violates the paper's assumptions.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.checks import (
    LARGEST,
    SMALLEST,
    as_list,
    as_pairs,
    checked_int,
    number,
    positive,
    within,
)
from moldable.errors import SpeedUpError
from moldable.model import assumptions
from moldable.model.assumptions import ROUNDING, Violation
from moldable.model.downey import downey_speedup
from moldable.model.phases import harmonic_mean

WIDEST: Final = 10_000_000
"""Largest width of a model; larger values are almost certainly typing errors."""


@final
@dataclass(frozen=True, slots=True)
class Repeats:
    """Repeated measurements at one width.

    Attributes:
        width: the width.
        runs: the time of each run / their mean.
    """

    width: int
    runs: tuple[float, ...]

    @property
    def count(self) -> int:
        """How often the width was measured."""
        return len(self.runs)

    @property
    def spread(self) -> float:
        """(Longest time - shortest time) / mean time."""
        return max(self.runs) - min(self.runs)


@final
@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of a job.

    Attributes:
        share: the share of the job's one-server time that the phase takes.
        speedup: the speed-up of this phase.
    """

    share: float
    speedup: SpeedUp


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
        repeats: the widths that `from_times` was given several times, and their runs.
        phases: the phases that `from_phases` was given; otherwise empty.

    Examples:
        >>> SpeedUp([1, 1.8, 2.5])[3]
        2.5
        >>> SpeedUp({1: 1, 4: 3.5}).widths.tolist()
        [1, 4]
    """

    widths: Ints
    speedups: Floats
    baseline: str
    repeats: tuple[Repeats, ...]
    phases: tuple[Phase, ...]
    _lookup: tuple[frozenset[int], tuple[int, ...]] | None

    def __init__(self, curve: Sequence[float] | Floats | Mapping[int, float]) -> None:
        if isinstance(curve, Mapping):
            widths = np.array(
                [checked_int(w, "width", SpeedUpError) for w in curve], dtype=np.int64
            )
            values = [number(value, f"s({w})", SpeedUpError) for w, value in curve.items()]
        else:
            example = "[1, 1.8, 2.5], or read text with moldable.files.parse_speedup"
            given = as_list(curve, "curve", SpeedUpError, example)
            values = [number(v, f"s({i})", SpeedUpError) for i, v in enumerate(given, start=1)]
            widths = np.arange(1, len(values) + 1, dtype=np.int64)
        self._set(widths, np.array(values, dtype=np.float64), "")

    def _set(
        self,
        widths: Ints,
        speedups: Floats,
        baseline: str,
        repeats: tuple[Repeats, ...] = (),
        phases: tuple[Phase, ...] = (),
    ) -> None:
        order = np.argsort(widths, kind="stable")
        widths, speedups = widths[order], speedups[order]
        _refuse_invalid(widths, speedups)
        widths.flags.writeable = speedups.flags.writeable = False
        object.__setattr__(self, "widths", widths)
        object.__setattr__(self, "speedups", speedups)
        object.__setattr__(self, "baseline", baseline)
        object.__setattr__(self, "repeats", repeats)
        object.__setattr__(self, "phases", phases)
        object.__setattr__(self, "_lookup", None)

    @classmethod
    def _from_arrays(
        cls,
        widths: Ints,
        speedups: Floats,
        baseline: str = "",
        repeats: tuple[Repeats, ...] = (),
        phases: tuple[Phase, ...] = (),
    ) -> Self:
        self = cls.__new__(cls)
        self._set(widths, speedups, baseline, repeats, phases)
        return self

    @classmethod
    def from_times(cls, times: Iterable[tuple[int, float]] | Mapping[int, float]) -> Self:
        """Build the curve from measured run times, (width, time) pairs; repeats are averaged.

        The time on one server is the baseline. If width 1 was not measured, the narrowest
        measured width w is assumed to run at full efficiency, so that one server would need w
        times its time. `baseline` then says so, and loads depend on the same assumption.
        `repeats` keeps how much repeated measurements differ.
        """
        given = times.items() if isinstance(times, Mapping) else times
        pairs = as_pairs(given, "run times", SpeedUpError, "[(1, 60.0), (2, 33.0)]")
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
                Repeats(width, tuple(time / mean for time in runs[width]))
                for width, mean in means.items()
                if len(runs[width]) > 1
            ),
        )

    @classmethod
    def from_phases(cls, phases: Iterable[tuple[float, SpeedUp | Sequence[float]]]) -> Self:
        """Build the curve of a job of several phases that keeps its width.

        Each phase is the share of the one-server time that it takes, and its own curve; the shares
        add up to 1. The result is the weighted harmonic mean at the widths that all phases have.

        Examples:
            >>> SpeedUp.from_phases([(0.5, SpeedUp.linear(4)), (0.5, [1, 1.5, 2])])[2]
            1.7142857142857142
        """
        example = "[(0.7, curve), (0.3, curve)]"
        pairs = as_pairs(phases, "phases", SpeedUpError, example)
        if not pairs:
            raise SpeedUpError(f"phases: the list is empty; pass {example}")
        own = tuple(
            Phase(
                positive(share, f"the share of phase {k}", SpeedUpError),
                curve if isinstance(curve, SpeedUp) else SpeedUp(curve),
            )
            for k, (share, curve) in enumerate(pairs, start=1)
        )
        widths, speedups = harmonic_mean(
            [part.share for part in own],
            [part.speedup.widths for part in own],
            [part.speedup.speedups for part in own],
        )
        baseline = next((part.speedup.baseline for part in own if part.speedup.baseline), "")
        return cls._from_arrays(widths, speedups, baseline, phases=own)

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
        """Downey's model with average parallelism A and its coefficient of variance sigma."""
        a = within(average_parallelism, "average_parallelism", SpeedUpError, 1.0, LARGEST)
        sigma = within(variance, "variance", SpeedUpError, 0.0, LARGEST)
        return cls._model(d, lambda i: downey_speedup(i, a, sigma))

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
        return SpeedUp._from_arrays(
            self.widths[fits], self.speedups[fits], self.baseline, kept, self.phases
        )

    def fastest(self, servers: int) -> int:
        """Return the fastest width that fits on the servers, the narrowest of equally fast ones.

        0 if every width needs more servers.
        """
        fitting = bisect_right(records := self._looked_up()[1], servers)
        return records[fitting - 1] if fitting else 0

    def _looked_up(self) -> tuple[frozenset[int], tuple[int, ...]]:
        """Return the widths, and those faster than all narrower ones.

        They are built when first used: decisions about single jobs are faster without arrays.
        """
        if self._lookup is None:
            before = np.maximum.accumulate(np.append(0.0, self.speedups[:-1]))
            records = self.widths[self.speedups > before]
            found = frozenset(self.widths.tolist()), tuple(records.tolist())
            object.__setattr__(self, "_lookup", found)
            return found
        return self._lookup

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

    def __contains__(self, width: object) -> bool:
        return width in self._looked_up()[0]

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
