"""The effect of noise in measured curves on a plan, as text."""

from __future__ import annotations

import math
from typing import Final

from rich.table import Table

from moldable.model.units import duration
from moldable.planning.curve_noise import CurveNoise, UncertainRow
from moldable.planning.goal import TIMES
from moldable.planning.result import Plan
from moldable.reporting.tables import plain_table

MOST_ROWS: Final = 12
"""Uncertain decisions that are listed, those that change most often; JSON has all."""
MOST_OTHERS: Final = 3
SUPPORTS: Final = (
    "Noise of the measured curves: optimal widths of a large cluster, {} resampled curves"
)
UNCERTAIN: Final = (
    "Widths of the value policy that noise changes, by idle servers if no job waits, {} resampled "
    "curves"
)
UNKNOWN: Final = (
    "Intervals of the speed-up curves are unknown: no class has a curve of run times measured "
    "several times. The cases with other speed-up gains show what an error of 5 % does."
)


def noise_lines(answer: Plan) -> list[str]:
    """Say how the recommended policy does on resampled curves, or that their noise is unknown."""
    noise = answer.curve_noise
    if noise is None:
        return [UNKNOWN]
    low, high = (_figure(answer, noise.figures[k]) for k in (0, -1))
    policy = f"the {answer.goal.words} of the recommended policy"
    lines = [f"On {noise.evaluated} resampled curves {policy} is {low} to {high}."]
    if noise.kept is not None:
        met = round(noise.kept * noise.evaluated)
        lines.append(f"It meets the target on {met} of {noise.evaluated}.")
    if noise.losses:
        lowered = "cost per arrival" if answer.goal.limited else answer.goal.words
        mean = math.fsum(noise.losses) / len(noise.losses)
        lines.append(
            f"If the curves were known exactly, other widths could lower the {lowered} by "
            f"{_percent(mean)} on average, by {_percent(noise.losses[-1])} at most."
        )
    if noise.infeasible:
        lines.append(
            f"On {_percent(noise.infeasible)} of {noise.resamples} the cluster cannot carry the "
            f"load."
        )
    unknown = [part.job_class for part in noise.classes if part.noise is None]
    if unknown:
        lines.append(f"Without repeated measurements, taken as exact: {', '.join(unknown)}.")
    return lines


def supports_table(noise: CurveNoise) -> Table:
    """Return the optimal widths on a large cluster, and how often noise changes them."""
    table = plain_table("class", right=("noise of a run", "optimal widths", "kept", "else"))
    for part in noise.classes:
        others = [
            f"{_widths(widths)} ({_percent(share)})"
            for widths, share in part.supports.items()
            if widths != part.support
        ]
        table.add_row(
            part.job_class,
            "unknown" if part.noise is None else _percent(part.noise),
            _widths(part.support) or "overloaded",
            _percent(part.kept),
            ", ".join(others[:MOST_OTHERS]),
        )
    return table


def uncertain_table(noise: CurveNoise) -> Table:
    """Return the decisions that change most often, by class and idle servers."""
    table = plain_table("class", right=("idle", "servers", "kept", "else"))
    found = [
        (part.job_class, row)
        for part in noise.classes
        for row in part.rows
        if row.shares.get(row.width, 0.0) < 1.0
    ]
    found = sorted(found, key=lambda pair: pair[1].shares.get(pair[1].width, 0.0))[:MOST_ROWS]
    listed = {part.job_class: k for k, part in enumerate(noise.classes)}
    for name, row in sorted(found, key=lambda pair: (listed[pair[0]], pair[1].least)):
        others = [
            f"{width} ({_percent(share)})"
            for width, share in row.shares.items()
            if width != row.width
        ]
        kept = _percent(row.shares.get(row.width, 0.0))
        table.add_row(name, _range(row), str(row.width), kept, ", ".join(others))
    return table


def _range(row: UncertainRow) -> str:
    return str(row.least) if row.least == row.most else f"{row.least}-{row.most}"


def _widths(widths: tuple[int, ...]) -> str:
    return " and ".join(map(str, widths))


def _percent(share: float) -> str:
    return f"{100.0 * share:.2g} %" if share < 0.995 else f"{100.0 * share:.0f} %"  # noqa: PLR2004


def _figure(answer: Plan, value: float) -> str:
    if math.isinf(value):
        return "a growing queue"
    time = answer.goal.name in TIMES or answer.goal.name is None
    return duration(f"{value:.4g}", answer.time_unit) if time else f"{value:.4g}"
