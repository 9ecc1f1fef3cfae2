"""Numbers and recommendations in sentences."""

from __future__ import annotations

from collections.abc import Iterable

from moldable.allocation.frontier import Mix
from moldable.system.estimate import Estimate
from moldable.system.performance import Performance


def times_are(answer: Performance) -> str:
    """Say which unit the times of an answer are in; once per output is enough."""
    return unit_of_times(answer.time_unit, answer.provenance["mean_sizes"])


def unit_of_times(unit: str | None, mean_sizes: Iterable[float]) -> str:
    """Say which unit times are in, given the mean sizes of all classes."""
    if unit is not None:
        return f"Times are in {unit}."
    if all(size == 1.0 for size in mean_sizes):
        return "Times are in mean job sizes: 1 is the mean time on one server."
    return "Times are in the unit of the mean sizes; time_unit in the workload file names it."


def percent(share: float) -> str:
    """Return a share as a percentage."""
    return f"{100 * share:.4g} %"


def short_figure(figure: Estimate) -> str:
    """Show four digits of an exact figure, and an estimate with its half-width."""
    exact = figure.half_width <= 1e-9 * abs(figure.value)
    return f"{figure.value:.4g}" if exact else str(figure)


def number_range(low: int, high: int) -> str:
    """Write a range of whole numbers."""
    return str(low) if low == high else f"{low} to {high}"


def count(servers: int) -> str:
    """Return a number of servers with its noun."""
    return "1 server" if servers == 1 else f"{servers} servers"


def advice(mix: Mix, jobs: str = "job") -> str:
    """Return the recommendation for arriving jobs."""
    if len(mix.support) == 1:
        return f"give every {jobs} {count(mix.support[0])}"
    (narrow, wide), (share, rest) = mix.support, mix.shares
    return f"give {percent(share)} of the {jobs}s {count(narrow)} and {percent(rest)} {count(wide)}"
