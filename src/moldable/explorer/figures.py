"""Plotly figures of the answers, one function for each view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import plotly.graph_objects as go

from moldable.explorer.answers import (
    ClassFrontier,
    FrontierAnswer,
    LoadCurve,
    LoadCurvesAnswer,
    Measure,
    PerformanceAnswer,
    PolicyRow,
    TradeOffAnswer,
    TradeOffSeries,
    Value,
)
from moldable.explorer.figure_style import (
    GRID,
    INK,
    MAIN,
    bars,
    colours,
    hover,
    legend,
    shown,
    styled,
    symbol,
)
from moldable.explorer.named_policies import EQUI, OPTIMUM, TUNED
from moldable.explorer.policy_figure import policies_figure

__all__ = [
    "frontier_figure",
    "load_curves_figure",
    "performance_figure",
    "policies_figure",
    "trade_off_figure",
]

MOST_LABELS: Final = 16
"""Widths of a class that are written next to their points."""


def frontier_figure(answer: FrontierAnswer, *, dark: bool = False) -> go.Figure:
    """Draw the widths of each class, the frontier and the operating point."""
    figure = go.Figure()
    shades = colours((part.name for part in answer.classes), dark=dark)
    several = len(answer.classes) > 1
    for part in answer.classes:
        _add_class(figure, part, shades[part.name], answer.unit, dark=dark, several=several)
    if not several:
        figure.add_vline(
            x=answer.capacity,
            line={"color": GRID[dark] if answer.problem else INK[dark], "dash": "dash", "width": 1},
            annotation={"text": "capacity", "font": {"color": INK[dark]}},
        )
    across = f"server-time ({answer.unit} x servers)"
    return styled(figure, dark=dark, across=across, up=f"execution time of a job ({answer.unit})")


def _add_class(
    figure: go.Figure, part: ClassFrontier, colour: str, unit: str, *, dark: bool, several: bool
) -> None:
    on = [k for k, kept in enumerate(part.on_frontier) if kept]
    off = [k for k, kept in enumerate(part.on_frontier) if not kept]
    prefix = f"{part.name}: " if several else ""
    step = max(1, -(-len(on) // MOST_LABELS))
    for places, name, mode, mark in (
        (on, "frontier", "lines+markers+text", "circle"),
        (off, "off the frontier", "markers", "circle-open"),
    ):
        if places:
            figure.add_scatter(
                x=[part.server_time[k] for k in places],
                y=[part.time[k] for k in places],
                name=legend(f"{prefix}{name}", ()),
                mode=mode,
                text=[str(part.widths[k]) if j % step == 0 else "" for j, k in enumerate(places)],
                textposition="top right",
                marker={"symbol": mark, "size": 8, "color": colour},
                line={"color": colour},
                hovertext=[_width_text(part, k, unit) for k in places],
                hoverinfo="text",
            )
    if part.operating_point is not None:
        x, y = part.operating_point
        shares = zip(part.support, part.shares, strict=True)
        mix = ", ".join(
            f"width {width} for {100 * share:.4g} % of the jobs" for width, share in shares
        )
        lines = (mix, f"server-time {x:.6g}", f"mean execution time {y:.6g} {unit} (exact)")
        figure.add_scatter(
            x=[x],
            y=[y],
            name=legend(f"{prefix}operating point", ()),
            mode="markers",
            marker={"symbol": "star", "size": 16, "color": MAIN[dark]},
            hovertext=[hover(f"{part.name}: operating point", *lines)],
            hoverinfo="text",
        )


def _width_text(part: ClassFrontier, k: int, unit: str) -> str:
    return hover(
        f"{part.name}: width {part.widths[k]}",
        f"speed-up {part.speedups[k]:.6g}",
        f"server-time {part.server_time[k]:.6g}",
        f"execution time {part.time[k]:.6g} {unit}",
        "on the frontier" if part.on_frontier[k] else "off the frontier",
    )


def performance_figure(answer: PerformanceAnswer, *, dark: bool = False) -> go.Figure:
    """Draw all policies: waits and execution times as bars, or blocking against time."""
    if answer.question.waiting:
        return _stacked(answer, dark=dark)
    across, up = answer.measures
    figure = go.Figure()
    rows = [row for row in answer.rows if row.values]
    shades = colours((row.name for row in rows), dark=dark)
    for row in rows:
        pair = row.values[across.name], row.values[up.name]
        _add_points(figure, [_titled(row)], [pair], (across, up), shades[row.name], _mark(row.name))
    return styled(figure, dark=dark, across=across.heading, up=up.heading)


def _titled(row: PolicyRow) -> str:
    return f"{row.name} (first guess)" if row.provisional else row.name


def _mark(name: str) -> str:
    return {TUNED: "star", OPTIMUM: "diamond", EQUI: "x"}.get(name, "circle")


def _stacked(answer: PerformanceAnswer, *, dark: bool) -> go.Figure:
    """Draw mean waits and mean execution times one after the other, longest response first."""
    named = {each.name: each for each in answer.measures}
    parts = ("mean_wait", "mean_execution_time")
    rows = [row for row in answer.rows if all(part in row.values for part in parts)]
    rows.sort(key=lambda row: -row.values["mean_response_time"].value)
    figure = go.Figure()
    shades = colours(parts, dark=dark)
    names = [_titled(row) for row in rows]
    for part in parts:
        last = part == parts[-1]
        whole = [row.values["mean_response_time"] for row in rows]
        figure.add_bar(
            y=[legend(name, [value]) for name, value in zip(names, whole, strict=True)],
            x=[row.values[part].value for row in rows],
            orientation="h",
            name=named[part].label,
            marker={"color": shades[part]},
            error_x=bars(whole) if last else None,
            hovertext=[
                hover(
                    name,
                    *(
                        shown(row.values[each.name], each)
                        for each in answer.measures
                        if each.name in row.values
                    ),
                )
                for name, row in zip(names, rows, strict=True)
            ],
            hoverinfo="text",
        )
    figure.update_layout(barmode="stack")
    across = f"mean response time ({named['mean_wait'].unit})"
    return styled(figure, dark=dark, across=across, up="")


def load_curves_figure(
    answer: LoadCurvesAnswer, measure: str | None = None, *, dark: bool = False
) -> go.Figure:
    """Draw one measure of all policies against the load; by default the first."""
    chosen = next((each for each in answer.measures if each.name == measure), answer.measures[0])
    figure = go.Figure()
    shades = colours((curve.name for curve in answer.curves), dark=dark)
    for curve in answer.curves:
        _add_curve(figure, curve, chosen, answer.loads, shades[curve.name])
    figure.add_vline(
        x=answer.question.load,
        line={"color": MAIN[dark], "width": 1},
        annotation={"text": f"load {answer.question.load:g}", "font": {"color": INK[dark]}},
    )
    figure.update_yaxes(rangemode="tozero")
    return styled(figure, dark=dark, across="load", up=chosen.heading)


_DASHES: Final = {"policy": "solid", "reference": "dot", "optimum": "dash", "bound": "longdashdot"}


def _add_curve(
    figure: go.Figure, curve: LoadCurve, chosen: Measure, loads: Sequence[float], colour: str
) -> None:
    values = [None if point is None else point.get(chosen.name) for point in curve.points]
    known = [value for value in values if value is not None]
    if not known:
        return
    figure.add_scatter(
        x=list(loads),
        y=[None if value is None else value.value for value in values],
        name=legend(curve.name, known),
        mode="lines" if curve.kind == "bound" else "lines+markers",
        connectgaps=False,
        line={"color": colour, "dash": _DASHES[curve.kind], "width": 2},
        marker={"symbol": symbol(values), "size": 8, "color": colour},
        error_y=bars(values),
        hovertext=[
            "" if value is None else hover(curve.name, f"load {load:g}", shown(value, chosen))
            for load, value in zip(loads, values, strict=True)
        ],
        hoverinfo="text",
    )


def trade_off_figure(
    answer: TradeOffAnswer, tuned: PolicyRow | None = None, *, dark: bool = False
) -> go.Figure:
    """Draw the trade-off; the tuned policy is marked if its row is given."""
    figure = go.Figure()
    axes = answer.across, answer.up
    if answer.edge:
        x, y = zip(*(map(_drawable, point) for point in answer.edge), strict=True)
        name, line = "no policy lies below", {"color": INK[dark], "dash": "dash", "width": 1}
        figure.add_scatter(x=x, y=y, name=name, mode="lines", line=line, hoverinfo="skip")
    shades = colours((series.name for series in answer.series), dark=dark)
    for series in answer.series:
        colour = INK[dark] if series.kind == "optimum" else shades[series.name]
        _add_series(figure, series, axes, colour)
    if tuned is not None and all(each.name in tuned.values for each in axes):
        pair = tuned.values[axes[0].name], tuned.values[axes[1].name]
        _add_points(figure, [_titled(tuned)], [pair], axes, MAIN[dark], "star")
    return styled(figure, dark=dark, across=axes[0].heading, up=axes[1].heading)


def _add_series(
    figure: go.Figure, series: TradeOffSeries, axes: tuple[Measure, Measure], colour: str
) -> None:
    pairs = [(point.values[axes[0].name], point.values[axes[1].name]) for point in series.points]
    labels = [
        series.name if point.label == series.name else f"{series.name}, {point.label}"
        for point in series.points
    ]
    mark = "diamond" if series.kind == "optimum" else _mark(series.name)
    joined = series.kind == "line"
    _add_points(figure, labels, pairs, axes, colour, mark, name=series.name, joined=joined)


def _drawable(value: float) -> float:
    """Round a value: Plotly draws no axis whose ends differ only in the last digit."""
    return float(f"{value:.12g}")


def _add_points(  # noqa: PLR0917 - points, where they are drawn and how
    figure: go.Figure,
    labels: Sequence[str],
    pairs: Sequence[tuple[Value, Value]],
    axes: tuple[Measure, Measure],
    colour: str,
    mark: str,
    *,
    name: str | None = None,
    joined: bool = False,
) -> None:
    across, up = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    figure.add_scatter(
        x=[_drawable(value.value) for value in across],
        y=[_drawable(value.value) for value in up],
        name=legend(name or labels[0], [*across, *up]),
        mode="lines+markers" if joined else "markers",
        line={"color": colour},
        marker={"symbol": symbol(up, mark), "size": 14 if mark == "star" else 9, "color": colour},
        error_x=bars(across),
        error_y=bars(up),
        hovertext=[
            hover(label, shown(x, axes[0]), shown(y, axes[1]))
            for label, (x, y) in zip(labels, pairs, strict=True)
        ],
        hoverinfo="text",
    )
