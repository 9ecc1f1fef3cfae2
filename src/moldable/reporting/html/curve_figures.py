"""Figures of the curves of a plan: speed-ups, and the frontier with the operating point."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from moldable.allocation.frontier import Frontier
from moldable.fitting.noise import speedup_intervals
from moldable.model.units import unit_in_heading
from moldable.model.workload import JobClass
from moldable.planning.curve_noise import measured_noise
from moldable.planning.result import Plan
from moldable.planning.sensitivity import CURVES
from moldable.reporting.figures import BLUE, GREY, VERMILION
from moldable.reporting.html.document import Figure, Panel
from moldable.reporting.html.plan_figures import MOST_LABELS, drawn_classes
from moldable.reporting.html.svg import panel, short
from moldable.system.performance import ClassPerformance

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def curves_figure(answer: Plan) -> Figure:
    """Draw the speed-up curves with the 95 % intervals of repeated measurements.

    Without repeats, draw the range that the sensitivity analysis covers.
    """

    def drawing(job_class: JobClass) -> Panel:
        curve = job_class.speedup.up_to(answer.scenario.servers)
        known = measured_noise(curve)
        low, high = (
            (1.0 + factor * (curve.speedups - 1.0) for factor in CURVES)
            if known is None
            else speedup_intervals(*known)
        )

        def draw(axes: Axes) -> None:
            if known is None:
                axes.fill_between(curve.widths, low, high, color=BLUE, alpha=0.25, lw=0)
            else:
                around = (curve.speedups - low, high - curve.speedups)
                axes.errorbar(
                    curve.widths,
                    curve.speedups,
                    around,
                    fmt="none",
                    ecolor=VERMILION,
                    capsize=4,
                    zorder=3,
                    label="95 % interval",
                )
            axes.plot(curve.widths, curve.speedups, "-o", color=BLUE, label="speed-up")
            top = float(curve.speedups.max())
            line = curve.widths[curve.widths <= max(1.0, top * 1.1)]
            axes.plot(line, line, "--", color=GREY, lw=1, label="linear")
            axes.set(xlabel="width (servers)", ylabel="speed-up")
            axes.locator_params(axis="x", integer=True)
            axes.legend(loc="lower right")

        alt = (
            f"Speed-up of class {job_class.name}: {curve.speedups[-1]:.3g} on "
            f"{curve.widths[-1]} servers"
        )
        alt += "." if known is None else f", 95 % interval {low[-1]:.3g} to {high[-1]:.3g}."
        return panel(short(job_class.name), alt, draw)

    return Figure(
        "curves",
        "Speed-up against width for each class, as assumed by the plan. Bars are 95 % intervals of "
        "repeated measurements. Where there are none, a band shows gains that are 5 % smaller and "
        "larger, two of the cases under Sensitivity. Classes with a single width have no curve.",
        tuple(drawing(job_class) for job_class, _ in _with_choice(answer)),
    )


def frontier_figure(answer: Plan) -> Figure:
    """Draw time against server-time of every width, and where the recommended policy operates."""
    unit = unit_in_heading(answer.time_unit)

    def drawing(job_class: JobClass, found: ClassPerformance) -> Panel:
        curve = job_class.speedup.up_to(answer.scenario.servers)
        size = job_class.mean_size
        times = size / curve.speedups
        at = dict(zip(curve.widths.tolist(), times.tolist(), strict=True))
        time = math.fsum(share * at[w] for w, share in found.width_shares.items())
        used = math.fsum(share * w * at[w] for w, share in found.width_shares.items())

        def draw(axes: Axes) -> None:
            frontier = Frontier.of(curve)
            hull = (size * frontier.server_time, size * frontier.time)
            off = ~np.isin(curve.widths, frontier.widths)
            axes.plot(*hull, "-o", color=BLUE, label="frontier")
            if off.any():
                across = (curve.widths * times)[off]
                axes.plot(across, times[off], "o", mfc="none", color=GREY, label="off the frontier")
            axes.plot([used], [time], "*", color=VERMILION, ms=12, label="recommended policy")
            step = -(-frontier.widths.size // MOST_LABELS)
            for k in range(0, frontier.widths.size, step):
                place = (hull[0][k], hull[1][k])
                label = str(frontier.widths[k])
                axes.annotate(label, place, (4, 4), textcoords="offset points", size=8)
            axes.set(xlabel=f"server-time of a job{unit}", ylabel=f"execution time{unit}")
            axes.margins(0.08)
            axes.legend()

        alt = (
            f"Frontier of class {job_class.name}. Under the recommended policy a mean job runs "
            f"for {time:.3g}{unit} and uses {used:.3g}{unit} of server-time."
        )
        return panel(short(job_class.name), alt, draw)

    return Figure(
        "frontier",
        "Each point is a width, with its mean execution time and the server-time that a job uses. "
        "Labels are widths. On a large cluster only widths on the frontier, the lower "
        "convex hull, are worth using. The star is the average under the recommended policy.",
        tuple(drawing(*pair) for pair in _with_choice(answer)),
    )


def _with_choice(answer: Plan) -> list[tuple[JobClass, ClassPerformance]]:
    """Return the drawn classes that have several widths; all of them if none has."""
    pairs, servers = drawn_classes(answer), answer.scenario.servers
    return [pair for pair in pairs if len(pair[0].speedup.up_to(servers)) > 1] or pairs
