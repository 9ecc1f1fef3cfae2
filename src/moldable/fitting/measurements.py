"""Measured run times of one program at several widths; repeats are kept."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.checks import as_pairs, checked_int, choice, positive
from moldable.errors import InputError, SpeedUpError
from moldable.model.speedup import SpeedUp

KINDS: Final = ("time", "speed", "speedup")
"""Run times, throughputs, and speed-ups over one server."""
MOST_WIDTHS: Final = 512
"""Fits take time that grows with the cube of the number of widths."""


@final
@dataclass(frozen=True, init=False, eq=False, repr=False, slots=True)
class Measurements:
    """Repeated measurements of one program.

    Args:
        values: (width, value) pairs, or {width: value} or {width: [value, ...]}.
        kind: what the values are: "time" (any unit), "speed" (a throughput, any unit) or
            "speedup" (over one server). All are kept as times; only their ratios matter.
        source: where they come from, for messages.

    Attributes:
        widths: the measured widths, ascending.
        runs: the measured times at each of them, in the order given.

    Examples:
        >>> Measurements({1: [60.2, 59.8], 2: 35.0}).counts.tolist()
        [2, 1]
    """

    widths: Ints
    runs: tuple[Floats, ...]
    kind: str
    source: str

    def __init__(
        self,
        values: Iterable[tuple[int, float]] | Mapping[int, Any],
        kind: str = "time",
        source: str = "the measurements",
    ) -> None:
        choice(kind, KINDS, "kind", InputError)
        found: defaultdict[int, list[float]] = defaultdict(list)
        for width, value in _pairs(values):
            at = checked_int(width, "width", SpeedUpError)
            number = positive(value, f"the {kind} at width {at}", SpeedUpError)
            found[at].append(number if kind == "time" else 1.0 / number)
        if not found:
            raise SpeedUpError("there is no measurement; give at least two widths")
        if len(found) > MOST_WIDTHS:
            raise SpeedUpError(
                f"{len(found)} widths were measured, but at most {MOST_WIDTHS} can be fitted; "
                f"leave out some"
            )
        widths = np.array(sorted(found), dtype=np.int64)
        object.__setattr__(self, "widths", widths)
        object.__setattr__(self, "runs", tuple(np.array(found[w]) for w in widths.tolist()))
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "source", source)
        for array in (widths, *self.runs):
            array.flags.writeable = False

    @classmethod
    def of_curve(cls, curve: SpeedUp) -> Self:
        """Return the measurements behind a curve of run times, relative to the one on one server.

        Examples:
            >>> curve = SpeedUp.from_times([(1, 10.0), (2, 6.0), (2, 4.0)])
            >>> Measurements.of_curve(curve).runs[1].tolist()
            [0.6, 0.4]
        """
        runs = {part.width: part.runs for part in curve.repeats}
        times = dict(zip(curve.widths.tolist(), (1.0 / curve.speedups).tolist(), strict=True))
        return cls(
            {
                width: [run * time for run in runs.get(width, (1.0,))]
                for width, time in times.items()
            }
        )

    @property
    def counts(self) -> Ints:
        """How often each width was measured."""
        return np.array([run.size for run in self.runs], dtype=np.int64)

    @property
    def mean_times(self) -> Floats:
        """The mean time at each width."""
        return np.array([math.fsum(run) / run.size for run in self.runs])

    @property
    def relative_to_one(self) -> bool:
        """Whether these are speed-ups over one server, although width 1 was not measured."""
        return self.kind == "speedup" and int(self.widths[0]) > 1

    @property
    def speedup(self) -> SpeedUp:
        """The curve of the mean times; no model is involved."""
        if self.relative_to_one:
            return SpeedUp(dict(zip(self.widths.tolist(), 1.0 / self.mean_times, strict=True)))
        return SpeedUp.from_times(
            (width, float(time))
            for width, run in zip(self.widths.tolist(), self.runs, strict=True)
            for time in run
        )

    def joined(self, other: Self) -> Measurements:
        """Return both sets of measurements as one; they must be of one kind."""
        if self.kind != other.kind:
            raise InputError(
                f"{self.source} holds {self.kind} values and {other.source} holds {other.kind} "
                f"values, which cannot be combined; give files of one kind"
            )
        pairs = [*self._values(), *other._values()]
        return Measurements(pairs, self.kind, f"{self.source}, {other.source}")

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        values: dict[str, list[float]] = {}
        for width, value in self._values():
            values.setdefault(str(width), []).append(value)
        return {"kind": self.kind, "source": self.source, "values": values}

    def to_csv(self) -> str:
        """Return the measurements as a CSV file that `read_measurements` reads."""
        rows = (f"{width},{value!r}\n" for width, value in self._values())
        return f"width,{self.kind}\n{''.join(rows)}"

    def _values(self) -> list[tuple[int, float]]:
        return [
            (width, time if self.kind == "time" else 1.0 / time)
            for width, run in zip(self.widths.tolist(), self.runs, strict=True)
            for time in run.tolist()
        ]

    def __repr__(self) -> str:
        runs = int(self.counts.sum())
        return f"Measurements({runs} of {self.kind} at {self.widths.size} widths, {self.source})"


def _pairs(values: Iterable[tuple[int, float]] | Mapping[int, Any]) -> Iterable[tuple[Any, Any]]:
    if not isinstance(values, Mapping):
        return as_pairs(values, "measurements", SpeedUpError, "[(1, 60.0), (2, 33.0)]")
    return (
        (width, value)
        for width, given in values.items()
        for value in (given if isinstance(given, list | tuple | np.ndarray) else (given,))
    )
