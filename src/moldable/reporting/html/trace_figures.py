"""Figures of a job log: arrivals over the week, run times, and replays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from moldable.arrays import Floats
from moldable.reporting.figures import BLUE, GREEN, ORANGE
from moldable.reporting.html.document import Figure
from moldable.reporting.html.svg import COLOURS, panel, short
from moldable.traces.calendar import DAYS
from moldable.traces.replay_result import Replay
from moldable.traces.summary import TraceSummary

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HOUR: Final = 3600.0
FAR: Final = 3.0
"""Mean response times are drawn up to this multiple of the baseline's."""
MOST_CLASSES: Final = 6


def week_figure(answer: TraceSummary, week: Floats) -> Figure:
    """Draw the arrival rate at every hour of the week, and by hour of the day."""

    def draw_week(axes: Axes) -> None:
        most = float(np.nanmax(week)) or 1.0
        for day in range(7):
            for hour in range(24):
                rate = week[day, hour]
                if math.isnan(rate):
                    continue
                # The area shows the rate, so that a busy hour is seen without a colour scale.
                side = 0.94 * math.sqrt(rate / most)
                axes.barh([6 - day], [side], side, left=hour + 0.5 - side / 2, color=BLUE)
        axes.set_yticks(range(7), [name[:3] for name in reversed(DAYS)])
        axes.set_xticks(range(0, 25, 6), [f"{h}:00" for h in range(0, 25, 6)])
        axes.set(xlim=(0, 24), ylim=(-0.6, 6.6), xlabel="hour of the day")
        axes.grid(visible=False)

    def draw_day(axes: Axes) -> None:
        rates = [period.rate for period in answer.by_hour]
        axes.bar(range(24), rates, width=0.92, align="edge", color=BLUE)
        axes.axhline(answer.arrival_rate * HOUR, color=ORANGE, ls="--", lw=1.2, label="mean")
        axes.set_xticks(range(0, 25, 6), [f"{h}:00" for h in range(0, 25, 6)])
        axes.set(xlim=(0, 24), xlabel="hour of the day", ylabel="jobs per hour")
        axes.grid(visible=False, axis="x")
        axes.legend()

    busiest = np.unravel_index(int(np.nanargmax(week)), week.shape)
    alt = (
        f"Arrivals by weekday and hour; the busiest hour is {DAYS[busiest[0]]} "
        f"{busiest[1]}:00 with {week[busiest]:.3g} jobs per hour."
    )
    return Figure(
        "week",
        f"Submitted jobs per hour in local time. First: the area of each rectangle is the rate at "
        f"that hour of the week; the largest is {np.nanmax(week):.3g} jobs per hour. Second: the "
        f"mean over all days.",
        (
            panel("By weekday and hour", alt, draw_week, 2.7),
            panel("By hour of the day", "Jobs per hour by hour of the day.", draw_day, 2.7),
        ),
    )


def run_times_figure(answer: TraceSummary) -> Figure:
    """Draw the distributions of run times and widths of the classes."""
    classes = answer.classes[:MOST_CLASSES]

    def draw_times(axes: Axes) -> None:
        for part, colour in zip(classes, COLOURS, strict=False):
            edges = np.array(part.run_time.edges) / HOUR
            axes.stairs(part.run_time.counts, edges, color=colour, lw=1.5, label=short(part.name))
        axes.set(xscale="log", xlabel="run time (h)", ylabel="jobs")
        axes.xaxis.set_major_formatter(lambda hours, _: f"{hours:g}")
        axes.xaxis.set_minor_formatter(lambda *_: "")
        axes.legend()

    def draw_widths(axes: Axes) -> None:
        every = sorted({width for part in classes for width in part.widths})
        below = np.zeros(len(every))
        for part, colour in zip(classes, COLOURS, strict=False):
            counts = np.array([part.widths.get(width, 0) for width in every], float)
            axes.bar(range(len(every)), counts, bottom=below, color=colour, label=short(part.name))
            below += counts
        step = -(-len(every) // 10)
        axes.set_xticks(range(0, len(every), step), [str(w) for w in every[::step]])
        axes.set(xlabel=f"width ({answer.server_unit})", ylabel="jobs")
        axes.grid(visible=False, axis="x")
        axes.legend()

    return Figure(
        "jobs",
        "Recorded run times (bins of powers of two) and widths of the jobs of each class.",
        (
            panel("Run times", "Histogram of run times by class.", draw_times, 2.7),
            panel("Widths", "Jobs by recorded width and class.", draw_widths, 2.7),
        ),
    )


def replay_figure(answer: Replay) -> Figure:
    """Draw mean waiting and execution times of the judged jobs under each policy."""
    most = FAR * answer[answer.baseline].figures.mean_response
    runs = [run for run in answer.runs[::-1] if run.figures.mean_response <= most]
    left = [run.name for run in answer.runs if run not in runs]

    def draw(axes: Axes) -> None:
        waits = [run.figures.mean_wait.value / HOUR for run in runs]
        whole = [run.figures.mean_response.value / HOUR for run in runs]
        running = [total - wait for total, wait in zip(whole, waits, strict=True)]
        axes.barh(range(len(runs)), waits, 0.6, color=ORANGE, label="waiting")
        axes.barh(range(len(runs)), running, 0.6, left=waits, color=GREEN, label="execution")
        axes.set_yticks(range(len(runs)), [short(run.name) for run in runs])
        axes.set(xlabel="mean time of a job (h)")
        axes.grid(visible=False, axis="y")
        axes.legend(loc="upper center", ncols=2, bbox_to_anchor=(0.4, -0.2))

    listed = "; ".join(f"{r.name} {r.figures.mean_response.value / HOUR:.3g} h" for r in runs[::-1])
    beyond = f" Beyond the scale: {', '.join(left)}." if left else ""
    return Figure(
        "replay",
        f"Mean waiting and execution time of the {answer.jobs:,} judged jobs: as recorded, and "
        f"replayed under each policy.{beyond}",
        (panel("", f"Mean response times: {listed}.", draw, 1.4 + 0.32 * len(runs)),),
    )
