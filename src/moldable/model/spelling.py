"""Curves, sizes, arrivals and scenarios as text or lists, as the command line takes them.

The readers of files come after the model, so they are imported when text is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from moldable.arrays import Floats
from moldable.model.arrivals import Arrivals
from moldable.model.sizes import SizeLaw
from moldable.model.speedup import SpeedUp

if TYPE_CHECKING:
    from moldable.model.scenario import Scenario

Curve = SpeedUp | Sequence[float] | Floats | Mapping[int, float] | str
"""A curve: its speed-ups, {width: speed-up}, or text such as "1,1.8,2.5" or "amdahl:0.95:64"."""


def as_speedup(curve: Curve) -> SpeedUp:
    """Return a curve from its speed-ups, a mapping from widths, or text."""
    if isinstance(curve, SpeedUp):
        return curve
    if isinstance(curve, str):
        from moldable.files.notation import parse_speedup  # noqa: PLC0415

        return parse_speedup(curve)
    return SpeedUp(curve)


def as_size_law(size: SizeLaw | str) -> SizeLaw:
    """Return a size distribution, read from text such as "lognormal:2"."""
    return SizeLaw.parse(size) if isinstance(size, str) else size


def as_arrivals(arrivals: Arrivals | str) -> Arrivals:
    """Return an arrival process, read from text such as "renewal:2"."""
    if not isinstance(arrivals, str):
        return arrivals
    from moldable.files.notation import parse_arrivals  # noqa: PLC0415

    return parse_arrivals(arrivals)


def load_scenario(path: str | Path, servers: int | None = None) -> Scenario:
    """Read a scenario from a TOML file."""
    from moldable.files.scenario_file import read_scenario  # noqa: PLC0415

    return read_scenario(path, servers)
