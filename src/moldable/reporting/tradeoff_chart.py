"""The trade-off as a chart in text: mean time against blocking, one mark for each policy."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from rich.console import Console

from moldable.system.performance import Performance
from moldable.tuning.tradeoff import ValueTradeoff

Point = tuple[float, float]

ROWS: Final = 17
"""Odd, so that there is a middle row."""
WIDEST: Final = 76
MARGIN: Final = 10
ROUNDING: Final = 1e-9
ALIKE: Final = 1e-5
"""Relative difference below which times are drawn as equal."""
ACROSS: Final = 2000
"""Points of the curve, more than there are columns."""


class Marked(NamedTuple):
    """The points of a policy family and their mark."""

    mark: str
    name: str
    points: list[Point]


def show_tradeoff_chart(console: Console, answer: ValueTradeoff) -> None:
    """Draw the curves; lower left is better."""
    families = _families(answer)
    for line in _drawn(families, min(console.width, WIDEST) - MARGIN):
        console.print(line.rstrip(), no_wrap=True, overflow="crop")
    console.print("  ".join(f"{part.mark} {part.name}" for part in families))


def _families(answer: ValueTradeoff) -> list[Marked]:
    """Return what is drawn; later marks cover earlier ones."""
    found = []
    if answer.optimum is not None:
        found.append(Marked("·", "true optimum", answer.optimum.edge(ACROSS)))
    return [
        *found,
        Marked("●", "value policy", [_place(part.performance) for part in answer.value_policy]),
        Marked("★", "greedy(p*)", [_place(answer.greedy_p)] if answer.greedy_p else []),
        Marked("▲", "greedy", [_place(answer.greedy)]),
    ]


def _place(answer: Performance) -> Point:
    return answer.blocking.value, answer.mean_execution_time.value


def _drawn(families: list[Marked], columns: int) -> list[str]:
    """Return the lines of the chart with its axes."""
    every = [point for part in families for point in part.points]
    right = _rounded(0.0, max(x for x, _ in every))[1]
    low, high = _rounded(min(y for _, y in every), max(y for _, y in every))
    grid = [[" "] * columns for _ in range(ROWS)]
    for part in families:
        for x, y in part.points:
            row = round((high - y) / (high - low) * (ROWS - 1))
            grid[row][round(x / right * (columns - 1))] = part.mark
    numbers = {0: high, ROWS // 2: 0.5 * (low + high), ROWS - 1: low}
    lines = ["", "mean execution time"]
    for i, cells in enumerate(grid):
        number = f"{numbers[i]:.4g}" if i in numbers else ""
        lines.append(f"{number:>{MARGIN - 2}} {'┤' if i in numbers else '│'}{''.join(cells)}")
    lines.append(f"{'':{MARGIN - 1}}└{'─' * columns}")
    half, last = f"{0.5 * right:.3g}", f"{right:.3g}"
    ends = f"{'0':<{columns // 2}}{half}"
    lines.append(f"{'':{MARGIN}}{ends:<{columns - len(last)}}{last}")
    return [*lines, f"{'':{MARGIN}}{'blocking (lower left is better)':^{columns}}"]


def _rounded(low: float, high: float) -> tuple[float, float]:
    """Widen a range to round numbers."""
    apart = high - low > ALIKE * high
    step = 0.2 * 10.0 ** math.floor(math.log10(high - low)) if apart else high or 1.0
    begin, end = math.floor(low / step + ROUNDING), math.ceil(high / step - ROUNDING)
    return step * begin, step * max(end, begin + 1)
