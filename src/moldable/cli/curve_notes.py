"""Notes about speed-up curves: assumptions made, spread of measurements, probable mistakes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from moldable.cli.output import note
from moldable.errors import shortened

if TYPE_CHECKING:
    from moldable.model.speedup import SpeedUp

FEWEST: Final = 3
"""Least number of values that may be meant for powers of two."""
DOUBLING: Final = 1.5, 2.1
"""Ratios of neighbouring speed-ups when the width doubles, a little more than 2 included."""


def note_curve(speedup: SpeedUp, of: str = "") -> None:
    """Note the assumptions behind a measured curve and the spread of its measurements.

    Args:
        speedup: the curve.
        of: prefix of the notes, if there are several curves.
    """
    if speedup.baseline:
        note(f"{of}{speedup.baseline}")
    if speedup.repeats:
        most = max(speedup.repeats, key=lambda part: part.spread)
        note(
            f"{of}repeated measurements differ by up to {100 * most.spread:.2g} % "
            f"(width {most.width}, {most.count} runs)"
        )


def note_powers_of_two(speedup: SpeedUp, of: str = "") -> None:
    """Note a list of speed-ups that was probably meant for widths 1, 2, 4, 8, ...

    That is likely if it is super-linear for consecutive widths and grows as if widths doubled.
    """
    count, values = len(speedup), speedup.speedups
    if count < FEWEST or speedup.widths[-1] != count or values[-1] <= count:
        return
    low, high = DOUBLING
    ratios = values[1:] / values[:-1]
    if not ((low < ratios) & (ratios <= high)).all():
        return
    powers = [2**k for k in range(count)]
    meant = ",".join(f"{width}={value:g}" for width, value in zip(powers, values, strict=True))
    note(
        f"{of}this means widths {shortened(speedup.widths)}; if widths {shortened(powers)} were "
        f"meant, write {meant}"
    )


def note_left_out(speedup: SpeedUp, servers: int | None) -> None:
    """Note which widths do not fit."""
    from moldable.reporting.words import count

    if servers is not None and speedup.widths[-1] > servers:
        note(f"widths above {servers} are left out: they do not fit on {count(servers)}")
