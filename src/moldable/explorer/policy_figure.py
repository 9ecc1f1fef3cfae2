"""Policies as pictures: idle servers and waiting jobs against the width granted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from moldable.explorer.answers import PoliciesAnswer
from moldable.explorer.figure_style import GRID, framed, hover, legend
from moldable.explorer.policy_tables import PolicyTable
from moldable.planning.actions import ActionRow

Lane = tuple[str, Sequence[ActionRow], int]
"""The label of a row of the picture, the decisions, and the number of waiting jobs."""
Shares = Mapping[int, float]

BEYOND: Final = 1.3
"""The picture ends at this multiple of the idle servers of the last change."""
LEAST_IDLE: Final = 4
LABELLED: Final = 0.035
"""Share of the axis from which a field is wide enough for its label."""
LANE, MARGIN = 34, 64
"""Height of a row of the picture, and around the rows of a class, in pixels."""


def policies_figure(answer: PoliciesAnswer, *, dark: bool = False) -> go.Figure:
    """Draw the widths granted by idle servers, all classes with one scale.

    Where jobs wait, the rows of a class are numbers of waiting jobs under the first policy,
    otherwise policies.
    """
    if not answer.tables:
        return framed(go.Figure(), dark=dark)
    names = [part.job_class for part in answer.tables[0].classes]
    lanes = [_lanes(answer, k) for k in range(len(names))]
    rows = [row for part in lanes for _, listed, _ in part for row in listed]
    idle = max(row.most for row in rows)
    most = min(idle, max(LEAST_IDLE, round(BEYOND * max(row.least for row in rows))))
    widths = sorted({w for row in rows for shares in row.shares.values() for w in shares or ()})
    titles = [legend(name, ()) for name in names] if len(names) > 1 else None
    figure = make_subplots(rows=len(names), cols=1, shared_xaxes=True, subplot_titles=titles)
    for k, part in enumerate(lanes, start=1):
        figure.add_trace(_heatmap(names[k - 1], part, most), row=k, col=1)
    waiting = "jobs waiting" if answer.question.waiting else ""
    figure.update_xaxes(showgrid=False, zeroline=False)
    across = f"idle servers{f' ({most + 1} to {idle}: as at {most})' if most < idle else ''}"
    figure.update_xaxes(title={"text": across, "standoff": 8}, row=len(names), col=1)
    figure.update_yaxes(title=waiting, type="category", showgrid=False, automargin=True)
    height = sum(MARGIN + LANE * len(part) for part in lanes)
    return framed(figure, dark=dark).update_layout(
        height=height,
        coloraxis={
            "colorscale": "Viridis",
            "cmin": widths[0] if widths else 0,
            "cmax": max(widths[-1], widths[0] + 1) if widths else 1,
            "showscale": len(widths) > 1,
            "colorbar": {"title": "servers", "thickness": 10, "outlinecolor": GRID[dark]},
        },
    )


def _lanes(answer: PoliciesAnswer, job_class: int) -> list[Lane]:
    """Return the rows of the picture of a class, from below."""
    if not answer.question.waiting:
        return [
            (_name(table), table.classes[job_class].rows, 0) for table in reversed(answer.tables)
        ]
    rows = answer.tables[0].classes[job_class].rows
    return [(str(waiting), rows, waiting) for waiting in rows[0].shares]


def _name(table: PolicyTable) -> str:
    return f"{table.name} (first guess)" if table.provisional else table.name


def _heatmap(name: str, lanes: Sequence[Lane], most: int) -> go.Heatmap:
    """Return the fields of one class; fields of equal decisions are one."""
    starts = sorted({row.least for _, rows, _ in lanes for row in rows if row.least <= most})
    ends = [*(start - 1 for start in starts[1:]), most]
    fields = [[_granted(rows, waiting, start) for start in starts] for _, rows, waiting in lanes]
    lengths = [end - start + 1 for start, end in zip(starts, ends, strict=True)]
    labelled = [length >= LABELLED * most for length in lengths]
    behind = [
        f", {waiting} waiting" if len(rows[0].shares) > 1 else "" for _, rows, waiting in lanes
    ]
    return go.Heatmap(
        x=[start - 0.5 for start in starts] + [most + 0.5],
        y=[label for label, _, _ in lanes],
        z=[[_widest(shares) for shares in lane] for lane in fields],
        text=[
            [
                "" if _widest(s) is None or not wide else str(_widest(s))
                for s, wide in zip(lane, labelled, strict=True)
            ]
            for lane in fields
        ],
        texttemplate="%{text}",
        hovertext=[
            [
                hover(f"{name}: {_range(start, end)} idle{more}", _words(shares))
                for shares, start, end in zip(lane, starts, ends, strict=True)
            ]
            for lane, more in zip(fields, behind, strict=True)
        ],
        hoverinfo="text",
        coloraxis="coloraxis",
        xgap=1,
        ygap=2,
        hoverongaps=False,
        textfont={"size": 11},
    )


def _granted(rows: Sequence[ActionRow], waiting: int, idle: int) -> Shares | None:
    """Return what is granted; numbers of idle servers that never occur are drawn as the last."""
    row = next((each for each in reversed(rows) if each.least <= idle), None)
    return None if row is None else row.shares.get(waiting)


def _widest(shares: Shares | None) -> int | None:
    """Return the most probable width."""
    return max(shares, key=shares.__getitem__) if shares else None


def _range(start: int, end: int) -> str:
    return str(start) if start == end else f"{start} to {end}"


def _words(shares: Shares | None) -> str:
    if not shares:
        return "no server"
    if len(shares) == 1 and next(iter(shares.values())) > 1.0 - 1e-9:
        return f"{next(iter(shares))} servers" if next(iter(shares)) > 1 else "1 server"
    return ", ".join(f"{width} servers: {100 * share:.3g} %" for width, share in shares.items())
