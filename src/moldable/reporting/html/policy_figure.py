"""The policy table as a picture: idle servers and waiting jobs against the width granted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self, final

from moldable.planning.actions import ActionRow, Actions, Shares
from moldable.planning.result import Plan
from moldable.reporting.html.document import Figure, Panel
from moldable.reporting.html.plan_figures import drawn_classes
from moldable.reporting.html.svg import panel, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Lane = list[tuple[ActionRow, Shares | None]]
BEYOND: Final = 1.3
"""The picture ends at this multiple of the idle servers of the last change."""
LABELLED: Final = 0.035
"""Share of the axis from which a field is wide enough for its label."""
SHADES: Final = (*("#440154", "#443983", "#31688e", "#21918c", "#35b779", "#90d743", "#fde725"),)
"""Viridis, from narrow to wide."""
DARK: Final = 4
"""Shades before this one have white labels."""


def policy_figure(answer: Plan) -> Figure:
    """Draw what a job of each class gets, all classes with one scale."""
    names = {job_class.name for job_class, _ in drawn_classes(answer)}
    drawn = [part for part in answer.actions if part.job_class in names]
    waiting = bool(answer.scenario.waiting)
    scale = _Scale.of(drawn)
    rows = "rows: jobs that wait behind" if waiting else "one row for each class"
    return Figure(
        "policy",
        f"Servers given to a job that can start, by idle servers ({rows}). Numbers and colours are "
        f"widths, from dark (narrow) to light (wide); of a random choice the most probable width. "
        f"Empty fields: the job {'waits' if waiting else 'is blocked'}, or the situation does not "
        f"occur.",
        tuple(_queue_panel(part, scale) for part in drawn)
        if waiting
        else (_loss_panel(drawn, scale),),
    )


@final
@dataclass(frozen=True)
class _Scale:
    """The axis and the colours of all classes.

    Attributes:
        most: idle servers at the end of the axis.
        widths: all that are granted.
    """

    most: int
    widths: tuple[int, ...]

    @classmethod
    def of(cls, parts: list[Actions]) -> Self:
        rows = [row for part in parts for row in part.rows]
        changes, end = max(row.least for row in rows), max(row.most for row in rows)
        widths = {w for row in rows for shares in row.shares.values() for w in shares or ()}
        return cls(min(end, max(4, round(BEYOND * changes))), tuple(sorted(widths)))

    def shade(self, width: int) -> int:
        """Return the place of a width's colour in SHADES."""
        if len(self.widths) == 1:
            return len(SHADES) // 2
        return round(self.widths.index(width) * (len(SHADES) - 1) / (len(self.widths) - 1))


def _queue_panel(part: Actions, scale: _Scale) -> Panel:
    columns = list(part.rows[0].shares)
    lanes = [(f"{k}", [(row, row.shares[k]) for row in part.rows]) for k in columns]

    def draw(axes: Axes) -> None:
        _draw_lanes(axes, lanes, scale)
        axes.set(ylabel="jobs waiting behind")

    alt = f"Widths for class {part.job_class} by idle servers and waiting jobs."
    return panel(short(part.job_class), alt, draw, 2.6)


def _loss_panel(parts: list[Actions], scale: _Scale) -> Panel:
    lanes = [
        (short(part.job_class), [(row, row.shares[0]) for row in part.rows])
        for part in reversed(parts)
    ]
    alt = "Widths by idle servers, one row for each class."
    height = 1.1 + 0.45 * len(lanes)
    return panel("", alt, lambda axes: _draw_lanes(axes, lanes, scale), height)


def _draw_lanes(axes: Axes, lanes: list[tuple[str, Lane]], scale: _Scale) -> None:
    """Draw one row of fields for each lane; equal neighbours are joined."""
    for k, (_, fields) in enumerate(lanes):
        for first, last, width in _joined(fields, scale.most):
            shade = scale.shade(width)
            axes.barh([k], [last - first + 1], 0.86, left=first - 0.5, color=SHADES[shade])
            if last - first + 1 >= LABELLED * scale.most:
                white = shade < DARK
                axes.text(
                    (first + last) / 2.0,
                    k,
                    str(width),
                    ha="center",
                    va="center",
                    size=8,
                    color="#ffffff" if white else "#000000",
                )
    axes.set_yticks(range(len(lanes)), [name for name, _ in lanes])
    axes.set_xlim(0.5, scale.most + 0.5)
    axes.set(xlabel="idle servers")
    axes.grid(visible=False)
    axes.tick_params(axis="y", length=0)


def _joined(fields: Lane, most: int) -> list[tuple[int, int, int]]:
    """Return ranges of idle servers with the most probable width, without fields that are empty.

    Numbers between two rows never occur; they are drawn with the row before them.
    """
    found: list[tuple[int, int, int]] = []
    ends = [row.least - 1 for row, _ in fields[1:]] + [fields[-1][0].most]
    for (row, shares), end in zip(fields, ends, strict=True):
        if not shares or row.least > most:
            continue
        width, last = max(shares, key=shares.__getitem__), min(end, most)
        if found and found[-1][1] == row.least - 1 and found[-1][2] == width:
            found[-1] = (found[-1][0], last, width)
        else:
            found.append((row.least, last, width))
    return found
