"""Drawings of results, for `Result.plot`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from functools import singledispatch
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from moldable.allocation.optimum import Optimum
from moldable.allocation.reservation import Reservation
from moldable.base_result import Result
from moldable.checks import checked_path
from moldable.errors import InputError, shown
from moldable.evaluation.compare import Comparison
from moldable.exact.exact import StationaryLaw
from moldable.fitting.decision import Decision
from moldable.fitting.fit import Fit
from moldable.live.report.live_report import LiveReport
from moldable.optimal.control import OptimalControl
from moldable.optimal.curve import TradeoffCurve
from moldable.optimal.least import LeastTime
from moldable.optimal.queueing import OptimalQueueing
from moldable.planning.result import Plan
from moldable.policies.decisions import decisions
from moldable.policies.observation import Observation
from moldable.reporting.figures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    VERMILION,
    new_axes,
    new_figure,
    rendered,
)
from moldable.reporting.fit_plot import draw_fit
from moldable.reporting.frontier_plot import KINDS, draw_frontier
from moldable.reporting.live_plot import draw_live_report
from moldable.reporting.tradeoff_plot import BLOCKING, TIME, draw_optimum, draw_tradeoff
from moldable.system.performance import Performance
from moldable.text_files import write_whole
from moldable.theory.fluid import FluidPath
from moldable.theory.stein import Bounds
from moldable.traces.replay_result import Replay
from moldable.traces.summary import TraceSummary
from moldable.tuning.tradeoff import ValueTradeoff
from moldable.tuning.tuned import Tuned
from moldable.tuning.tuned_queue import TunedQueue

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_TICKS: Final = 16
WAITING: Final = 5
"""Jobs that wait behind the one that is granted servers, in drawings of tables."""
FAR: Final = 3.0
"""Mean response times of a replay are drawn up to this multiple of the baseline's."""
HOUR: Final = 3600.0
COLOURS = (BLUE, VERMILION, GREEN, ORANGE, GREY)


def draw(result: Result, axes: Axes | Path | str | None) -> Axes:
    """Draw a result on the given axes, in a file of this name, or on new axes."""
    if _draw.dispatch(type(result)) is _draw.dispatch(object):
        raise InputError(
            f"a {type(result).__name__} cannot be plotted; use to_frame() or to_dict()"
        )
    if isinstance(axes, str | Path):
        return _save(result, checked_path(axes))
    own = new_axes() if axes is None else axes
    if not hasattr(own, "plot"):
        raise InputError(
            f"{shown(own)} is neither axes nor a file name; pass axes of matplotlib, or a name "
            f"such as 'picture.svg'",
            "ax",
        )
    _draw(result, own)
    return own


def _save(result: Result, path: Path) -> Axes:
    kind = path.suffix.lstrip(".").lower()
    if kind not in KINDS:
        raise InputError(f"plot {path}: the name must end in .{', .'.join(KINDS)}")
    figure = new_figure((7.0, 4.4))
    axes = figure.add_subplot()
    _draw(result, axes)
    write_whole(path, rendered(figure, kind), "plot")
    return axes


@singledispatch
def _draw(result: Result, axes: Axes) -> None:
    """Draw a result; each kind registers its own function."""


@_draw.register(Optimum)
def _(result: Optimum, axes: Axes) -> None:
    draw_frontier(axes, result)


@_draw.register(Fit)
def _(result: Fit, axes: Axes) -> None:
    draw_fit(axes, result)


@_draw.register(Decision)
def _(result: Decision, axes: Axes) -> None:
    names = [" and ".join(map(str, widths)) for widths in result.supports]
    axes.bar(names[:MOST_TICKS], list(result.supports.values())[:MOST_TICKS], color=BLUE)
    axes.set(xlabel="optimal widths", ylabel="share of resamples")


@_draw.register(ValueTradeoff)
def _(result: ValueTradeoff, axes: Axes) -> None:
    draw_tradeoff(axes, result)


@_draw.register(TradeoffCurve)
def _(result: TradeoffCurve, axes: Axes) -> None:
    draw_optimum(axes, result)
    places = [(control.blocking, control.mean_execution_time) for control in result.controls]
    axes.plot(*zip(*places, strict=True), "o", color=BLUE, label="best policies")
    axes.set(xlabel=BLOCKING, ylabel=TIME)
    axes.legend(frameon=False)


@_draw.register(LeastTime)
def _(result: LeastTime, axes: Axes) -> None:
    places = [(policy.blocking, policy.mean_execution_time) for policy in result.policies]
    axes.plot(*zip(*places, strict=True), "o", color=BLUE, label="policies to draw from")
    reached = (result.blocking, result.mean_execution_time)
    axes.plot(*reached, "*", color=VERMILION, ms=12, label="least time within the limit")
    axes.axvline(result.max_blocking, color=GREY, ls="--", label="limit on blocking")
    axes.set(xlabel=BLOCKING, ylabel=TIME)
    axes.legend(frameon=False)


@_draw.register(TraceSummary)
def _(result: TraceSummary, axes: Axes) -> None:
    if result.by_hour:
        rates = [period.rate for period in result.by_hour]
        axes.bar(range(24), rates, width=1.0, align="edge", color=BLUE)
        axes.set(xlabel="hour of the day", ylabel="jobs per hour", xticks=range(0, 25, 6))
        return
    for part, colour in zip(result.classes, itertools.cycle(COLOURS)):
        edges, counts = part.run_time.edges, part.run_time.counts
        axes.stairs(counts, edges, color=colour, label=part.name)
    axes.set(xlabel="run time in seconds", ylabel="jobs", xscale="log")
    axes.legend(frameon=False)


@_draw.register(Reservation)
def _(result: Reservation, axes: Axes) -> None:
    axes.bar([part.name for part in result.classes], [p.servers for p in result.classes])
    axes.set(xlabel="class", ylabel="servers")


@_draw.register(Performance)
def _(result: Performance, axes: Axes) -> None:
    below: dict[int, float] = {}
    total = result.scenario.workload.arrival_rate
    for part, job_class in zip(result.classes, result.scenario.workload.classes, strict=True):
        weight = job_class.arrival_rate / total
        shares = {w: weight * (1.0 - part.blocking) * s for w, s in part.width_shares.items()}
        shares[0] = weight * part.blocking
        widths = sorted(shares)
        bottom = [below.get(width, 0.0) for width in widths]
        heights = [shares[width] for width in widths]
        axes.bar(widths, heights, bottom=bottom, label=part.name)
        below |= {w: b + h for w, b, h in zip(widths, bottom, heights, strict=True)}
    if len(below) <= MOST_TICKS:
        axes.set_xticks(sorted(below))
    axes.set(xlabel="width granted (0: blocked)", ylabel="share of arriving jobs")
    axes.legend(frameon=False)


@_draw.register(Comparison)
def _(result: Comparison, axes: Axes) -> None:
    waits, unlimited = False, False
    for part in result.policies:
        found = part.performance
        place = found.blocking.value, found.mean_execution_time.value
        if found.queueing is not None:
            waits, unlimited = True, math.isinf(found.scenario.waiting)
            wait, response = found.queueing.mean_wait, found.queueing.mean_response_time
            place = (wait if unlimited else found.blocking).value, response.value
        axes.plot(*place, "o", color=BLUE if part.pareto_optimal else GREY)
        axes.annotate(part.name, place, (5, 4), textcoords="offset points", size=8)
    across, up = "mean wait" if unlimited else BLOCKING, "mean response time" if waits else TIME
    axes.set(xlabel=across, ylabel=up, title="Pareto-optimal policies are blue")


@_draw.register(Tuned)
def _(result: Tuned, axes: Axes) -> None:
    servers = result.performance.scenario.servers
    means: dict[str, list[float]] = {}
    for part in decisions(result.performance.scenario, {"tuned": result.policy}):
        row = means.setdefault(part.job_class, [0.0] * (servers + 1))
        for each in part.rows:
            mean = sum(width * share for width, share in each.shares["tuned"].items())
            row[each.least : each.most + 1] = [mean] * (each.most + 1 - each.least)
    _draw_widths(axes, means)


@_draw.register(TunedQueue)
def _(result: TunedQueue, axes: Axes) -> None:
    servers = result.performance.scenario.servers
    widths: dict[str, list[float]] = {}
    for name, job_class in result.policy.known_classes.items():
        # While jobs wait, no more servers are idle than one job has left.
        freed = int(job_class.speedup.up_to(servers).widths[-1])
        for waiting, most in ((0, servers), (WAITING, freed)):
            label = f"{name}, {waiting} waiting"
            seen = [Observation(idle, waiting) for idle in range(most + 1)]
            shares = (result.policy.granted_shares(name, each) for each in seen)
            widths[label] = [sum(width * p for width, p in each.items()) for each in shares]
    _draw_widths(axes, widths)


@_draw.register(Plan)
def _(result: Plan, axes: Axes) -> None:
    unlimited = math.isinf(result.scenario.waiting)
    for k, (name, answers) in enumerate(result.by_servers.policies.items()):
        known = [
            (n, answer.queueing.mean_response_time.value)
            if unlimited and answer.queueing
            else (n, answer.blocking.value)
            for n, answer in zip(result.by_servers.points, answers, strict=True)
            if answer is not None
        ]
        if known:
            colour = COLOURS[k % len(COLOURS)]
            axes.plot(*zip(*known, strict=True), "o-", color=colour, label=name)
    axes.axvline(result.scenario.servers, color=GREY, lw=1, ls="--")
    if result.goal.name in {"max_blocking", "max_response"}:
        axes.axhline(result.goal.value, color=GREY, lw=1, ls=":", label="target")
    axes.set(xlabel="servers", ylabel="mean response time" if unlimited else BLOCKING)
    axes.legend(frameon=False)


@_draw.register(OptimalControl)
@_draw.register(OptimalQueueing)
def _(result: OptimalControl | OptimalQueueing, axes: Axes) -> None:
    _draw_widths(axes, result.widths_by_idle)


@_draw.register(StationaryLaw)
def _(result: StationaryLaw, axes: Axes) -> None:
    law = result.busy_servers
    axes.plot(np.arange(law.size), law, "-", color=BLUE, drawstyle="steps-mid")
    axes.set(xlabel="busy servers", ylabel="probability")


@_draw.register(Bounds)
def _(result: Bounds, axes: Axes) -> None:
    known = [row for row in result.table() if row["at_most"] is not None]
    names = [str(row["quantity"]).replace("_", " ") for row in known]
    axes.bar(names, [row["at_most"] for row in known], color=BLUE)
    axes.axhline(1.0, color=GREY, ls="--", label="blocking is never above 1")
    axes.set(xlabel="quantity", ylabel="at most", yscale="log")
    axes.legend(frameon=False)


@_draw.register(FluidPath)
def _(result: FluidPath, axes: Axes) -> None:
    rows = result.table()
    times = [row["time"] for row in rows]
    for name in list(rows[0])[2:]:
        axes.plot(times, [row[name] for row in rows], label=name)
    axes.plot(
        times, [row["busy_fraction"] for row in rows], "--", color=GREY, label="busy fraction"
    )
    if result.valid_until < times[-1]:
        axes.axvline(result.valid_until, color=VERMILION, lw=1, label="valid until here")
    axes.set(xlabel="time (mean sizes)", ylabel="jobs per server")
    axes.legend(frameon=False)


@_draw.register(Replay)
def _(result: Replay, axes: Axes) -> None:
    most = FAR * result[result.baseline].figures.mean_response
    runs = [run for run in result.runs[::-1] if run.figures.mean_response <= most]
    names = [run.name for run in runs]
    waits = [run.figures.mean_wait.value / HOUR for run in runs]
    rest = [run.figures.mean_response.value / HOUR for run in runs]
    running = [response - wait for response, wait in zip(rest, waits, strict=True)]
    axes.barh(names, waits, color=ORANGE, label="waiting")
    axes.barh(names, running, left=waits, color=BLUE, label="execution")
    left = [run.name for run in result.runs if run not in runs]
    title = f"beyond the scale: {', '.join(left)}" if left else ""
    axes.set(xlabel="mean time of a job in hours", ylabel="policy", title=title)
    axes.legend(frameon=False)


@_draw.register(LiveReport)
def _(result: LiveReport, axes: Axes) -> None:
    draw_live_report(axes, result)


def _draw_widths(axes: Axes, by_class: Mapping[str, Sequence[float]]) -> None:
    for k, (name, widths) in enumerate(by_class.items()):
        idle, colour = np.arange(len(widths)), COLOURS[k % len(COLOURS)]
        axes.plot(idle, widths, drawstyle="steps-post", color=colour, label=name)
    axes.set(xlabel="idle servers", ylabel="mean width granted")
    axes.legend(frameon=False)
