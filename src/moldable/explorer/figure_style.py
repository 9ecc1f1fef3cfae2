"""Colours, marks and layout that all figures share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, Final

import plotly.graph_objects as go

from moldable.explorer.measures import Measure, Value
from moldable.explorer.named_policies import EQUI, OPTIMUM, TUNED
from moldable.reporting.figures import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION

# The palette of the reports; lighter on a dark ground.
LIGHT: Final = (BLUE, GREEN, ORANGE, PURPLE, SKY, "#8A6D00", GREY)
DARK: Final = (SKY, "#35C79B", "#F0B93A", "#E7A3C8", "#9AD4F5", "#D9C35A", "#A0A0A0")
MAIN: Final = {False: VERMILION, True: "#FF8F52"}
"""The colour of the tuned policy and of the operating point."""
INK: Final = {False: "#1f2328", True: "#e6e6e6"}
GRID: Final = {False: "#e3e3e3", True: "#3a3f44"}
HEIGHT, LEGEND_ROW = 340, 20
"""Pixels of a figure without its legend, and of a row of two entries of the legend."""
ESTIMATED: Final = "estimated"
DIGITS: Final = 6
_OWN: Final = {"greedy-p": 1, "greedy": 2, "value": 6}
"""Places in the palette of the policies that several figures show."""


def colours(names: Iterable[str], *, dark: bool) -> dict[str, str]:
    """Return a colour for each name; a policy has the same colour in all figures."""
    cycle = DARK if dark else LIGHT
    fixed = {TUNED: MAIN[dark], OPTIMUM: INK[dark], EQUI: GREY}
    listed = [name for name in dict.fromkeys(names) if name not in fixed]
    own = {name: place for name in listed if (place := _OWN.get(re.split("[: ]", name)[0]))}
    free = [k for k in range(len(cycle)) if k + 1 not in own.values()]
    others = [name for name in listed if name not in own]
    chosen = {name: cycle[free[k % len(free)]] for k, name in enumerate(others)}
    return {name: cycle[place - 1] for name, place in own.items()} | chosen | fixed


def shown(value: Value, measure: Measure) -> str:
    """Return the text of a value with its unit, and whether it is exact."""
    how = "exact" if value.exact else ESTIMATED
    if not value.exact and value.interval is not None:
        low, high = value.interval
        how = f"{ESTIMATED}, 95 % interval {low:.4g} to {high:.4g}"
    figure = f"{value.value:.{DIGITS}g}" if value.exact else str(value)
    return f"{measure.label} {figure}{f' {measure.unit}' if measure.unit else ''} ({how})"


def hover(name: str, *lines: str) -> str:
    """Return a hover text; names come from files and pages."""
    return "<br>".join((f"<b>{escape(name)}</b>", *map(escape, lines)))


def legend(name: str, values: Sequence[Value]) -> str:
    """Return the name for the legend, which says whether values are estimated."""
    rough = [not value.exact for value in values]
    if not any(rough):
        return escape(name)
    return f"{escape(name)} ({ESTIMATED if all(rough) else f'partly {ESTIMATED}'})"


def bars(values: Sequence[Value | None]) -> dict[str, Any]:
    """Return error bars that show the 95 % intervals."""
    up, down = [], []
    for value in values:
        low, high = (0.0, 0.0)
        if value is not None and not value.exact and value.interval is not None:
            low, high = value.value - value.interval[0], value.interval[1] - value.value
        up.append(high)
        down.append(low)
    return {
        "type": "data",
        "symmetric": False,
        "array": up,
        "arrayminus": down,
        "visible": any(up) or any(down),
        "thickness": 1.2,
        "width": 3,
    }


def symbol(values: Iterable[Value | None], shape: str = "circle") -> list[str]:
    """Return filled marks for exact values and open ones for estimates."""
    return [shape if value is None or value.exact else f"{shape}-open" for value in values]


def styled(figure: go.Figure, *, dark: bool, across: str, up: str) -> go.Figure:
    """Set the layout of a figure with one pair of axes; it fits a column of 375 pixels."""
    axis = {"gridcolor": GRID[dark], "zeroline": False, "automargin": True, "linecolor": GRID[dark]}
    figure.update_xaxes(**axis, title={"text": across, "standoff": 8})
    figure.update_yaxes(**axis, title={"text": up, "standoff": 6})
    return framed(figure, dark=dark)


def framed(figure: go.Figure, *, dark: bool) -> go.Figure:
    """Set colours, margins and the legend, which is below the axes."""
    legend_rows = -(-sum(trace.showlegend is not False for trace in figure.data) // 2)
    return figure.update_layout(
        template="none",
        autosize=True,
        height=HEIGHT + LEGEND_ROW * legend_rows,
        font={"size": 12, "color": INK[dark], "family": "system-ui, sans-serif"},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        margin={"l": 48, "r": 12, "t": 28, "b": 40},
        legend={"orientation": "h", "y": -0.22, "yanchor": "top", "x": 0, "xanchor": "left"},
        hoverlabel={"align": "left"},
        hovermode="closest",
    )
