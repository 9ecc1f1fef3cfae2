"""The stationary distribution of greedy(p*) in its state space.

According to the paper, the state is close to the plane of (x_i1, x_i2), between the line on which
all servers are busy, q_1 = 1, and the line on which the departure rate is the arrival rate,
r = load, near their crossing y*. Here the distribution is exact. With i1 >= 2 the state leaves the
plane: there are more jobs narrower than i1 than the single one that the collapse lemma allows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, final

import numpy as np
import numpy.typing as npt

from moldable.exact import StationaryLaw, stationary_law
from reproduction.convergence import Floats
from reproduction.experiment import (
    Cell,
    Drawing,
    Effort,
    Experiment,
    Publication,
    Result,
    Results,
    Row,
    Scale,
)
from reproduction.presentation import BLACK, COLOURS, VERMILION, YELLOW
from reproduction.settings import CURVES, Setting

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.figure import Figure

BINS: Final = 60
"""Largest number of boxes along each axis of the plane."""
OUTSIDE: Final = 1e-5
"""Probability that may lie beyond each edge of the figure."""
DEPTH: Final = 1e-4
"""Boxes below this share of the largest probability are white."""
VISIBLE: Final = 1e-3
"""Smaller probabilities have no visible bar."""


@final
@dataclass(frozen=True)
class Case:
    """A setting, and the numbers of servers at which its distribution is computed."""

    setting: Setting
    sizes: Mapping[Scale, tuple[int, ...]]

    def key(self, servers: int) -> str:
        """Return the key of a cell."""
        return f"collapse/{self.setting.key}-n={servers}"

    def along(self, results: Results) -> list[Result]:
        """Return the results by growing n."""
        return [results[self.key(n)] for n in self.sizes[results.scale]]


FROM_ONE: Final = Case(
    Setting("sub-linear", "Halfin-Whitt"),
    {Scale.TINY: (100,), Scale.QUICK: (100, 1000, 4000), Scale.FULL: (100, 1000, 4000)},
)
"""Widths 1 and 2: two dimensions, exact at any n."""
FROM_THREE: Final = Case(
    Setting("sub-linear", "mean-field"),
    {Scale.TINY: (20,), Scale.QUICK: (40, 64), Scale.FULL: (40, 64, 100)},
)
"""Widths 3 and 4, and with them 1 and 2: four dimensions."""


def cells(scale: Scale) -> list[Cell]:
    """Return a cell for each case and size."""
    return [
        Cell(case.key(n), partial(_compute, case.setting, n))
        for case in (FROM_ONE, FROM_THREE)
        for n in case.sizes[scale]
    ]


def _compute(setting: Setting, servers: int, _: Effort) -> Result:
    load = setting.load(servers)
    law = stationary_law(setting.scenario(servers))
    theory = law.theory
    solution = theory.optimum
    return {
        "servers": servers,
        "load": load,
        "support": list(solution.support),
        "speedups": [CURVES[setting.curve][width] for width in solution.support],
        "optimum": [float(solution.scaled_jobs[width - 1]) for width in solution.support],
        "states": law.pools[0].states,
        "distance": theory.distance,
        "all_busy": float(law.busy_servers[-1]),
        "rate_above_load": theory.departure_rate_above(load),
        "narrow_jobs": _narrow(law),
        "plane": _plane(law),
    }


def _narrow(law: StationaryLaw) -> list[float]:
    """Return the probabilities of 0, 1, ... jobs narrower than i1."""
    theory = law.theory
    joint, narrow = theory.joint, theory.system.kind_width < theory.optimum.i1
    probabilities = np.bincount(joint.counts[narrow].sum(axis=0), joint.weights)
    return [float(p) for p in probabilities]


def _plane(law: StationaryLaw) -> Result:
    """Return boxes in the plane of the two widths: edges in jobs, and probabilities."""
    theory = law.theory
    joint = theory.joint
    first, second = (
        joint.counts[theory.system.kind_width == width].sum(axis=0)
        for width in theory.optimum.support
    )
    edges = [_edges(jobs, joint.weights) for jobs in (first, second)]
    mass, _, _ = np.histogram2d(first, second, bins=edges, weights=joint.weights)
    return {"edges": [e.tolist() for e in edges], "mass": mass.tolist()}


def _edges(jobs: npt.NDArray[np.integer], weights: Floats) -> Floats:
    """Return edges between integer numbers of jobs, at equal distances."""
    law = np.cumsum(np.bincount(jobs, weights))
    low, high = np.searchsorted(law, (OUTSIDE, law[-1] - OUTSIDE))
    step = -(-(high - low + 1) // BINS)
    edges: Floats = np.arange(low, high + 1 + step, step) - 0.5
    return edges


def _several(result: Result) -> float:
    """Return P(more than one job narrower than i1)."""
    return float(sum(result["narrow_jobs"][2:]))


def _mean_narrow(result: Result) -> float:
    return float(sum(k * p for k, p in enumerate(result["narrow_jobs"])))


def publish(results: Results) -> Publication:
    """Make the table and the figures of the plane and of the narrow jobs."""
    ones, threes = FROM_ONE.along(results), FROM_THREE.along(results)
    planes = Drawing(
        "collapse",
        "The stationary distribution of greedy(p*) in the plane of its two widths, sub-linear "
        "curve: widths 1 and 2 (Halfin-Whitt) above, widths 3 and 4 (load 0.8) below. The axes "
        "zoom in on the fluid point as n grows.",
        partial(_draw_planes, planes=[ones, threes]),
        size=(9.2, 6.4),
    )
    narrow = Drawing(
        "collapse-narrow",
        "Number of running jobs narrower than i1 = 3, sub-linear curve, load 0.8, exact. "
        "The collapse lemma allows at most one.",
        partial(_draw_narrow, counts=threes),
    )
    worst = threes[-1]
    finding = (
        f"For widths 1 and 2 the state collapses to the plane as in the paper. For widths 3 and 4 "
        f"the collapse lemma fails: at n = {worst['servers']} more than one narrower job runs with "
        f"probability {_several(worst):.3f}; the lemma states 0."
    )
    return Publication(
        tables={"collapse": [_row(part) for part in (*ones, *threes)]},
        page=_page(ones, threes, planes, narrow),
        findings=[finding],
        drawings=[planes, narrow],
    )


def _row(part: Result) -> Row:
    """Return the summary of a distribution; the probabilities are in the JSON."""
    return {
        "widths": "-".join(map(str, part["support"])),
        "servers": part["servers"],
        "load": part["load"],
        "states": part["states"],
        "distance": part["distance"],
        "all_busy": part["all_busy"],
        "rate_above_load": part["rate_above_load"],
        "mean_narrow_jobs": _mean_narrow(part),
        "several_narrow_jobs": _several(part),
    }


def _page(ones: list[Result], threes: list[Result], planes: Drawing, narrow: Drawing) -> str:
    first, last = ones[0], ones[-1]
    several = [
        f"- n = {part['servers']}: more than one job narrower than {part['support'][0]} runs with "
        f"probability {_several(part):.3f} (the lemma: 0), {_mean_narrow(part):.2f} on average."
        for part in threes
    ]
    lines = [
        (
            "Exponential sizes, greedy(p*), the sub-linear curve. The stationary distribution is "
            "exact, not simulated."
        ),
        planes.link,
        "## Results",
        (
            f"With widths 1 and 2 the mean distance E||x - y*|| decreases from "
            f"{first['distance']:.4f} at n = {first['servers']:,} to {last['distance']:.4f} at "
            f"n = {last['servers']:,}. The distribution is concentrated in the corner between the "
            f"two lines rather than along either: all servers are busy with probability "
            f"{first['all_busy']:.3f} and {last['all_busy']:.3f}, and jobs leave faster than they "
            f"arrive, r > load, with probability {first['rate_above_load']:.3f} and "
            f"{last['rate_above_load']:.3f}."
        ),
        "## Where the lemma fails",
        "\n".join(several),
        (
            "In a full system a width-4 job ends, a width-3 job arrives, one server is left, and "
            "the next arrival is one more narrow job. This can repeat, so narrow jobs accumulate."
        ),
        narrow.link,
    ]
    return "\n\n".join(lines) + "\n"


def _draw_planes(figure: Figure, planes: list[list[Result]]) -> None:
    """Draw a row of planes for each case, a column for each n."""
    columns = max(map(len, planes))
    grid = figure.subplots(len(planes), columns, squeeze=False)
    for row, parts in zip(grid, planes, strict=True):
        for axes, part in zip(row, parts, strict=False):
            mesh = _draw_plane(axes, part)
        for axes in row[len(parts) :]:
            axes.axis("off")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    bar = figure.colorbar(mesh, ax=grid, shrink=0.6, aspect=30)
    bar.set_label("stationary mass, relative to the largest in the panel")


def _draw_plane(axes: Axes, part: Result) -> QuadMesh:
    n, y = part["servers"], part["optimum"]
    mass = np.array(part["plane"]["mass"])
    x_edges, y_edges = (np.array(edges) / n for edges in part["plane"]["edges"])
    mesh = axes.pcolormesh(
        x_edges,
        y_edges,
        (mass / mass.max()).T,
        norm="log",
        vmin=DEPTH,
        vmax=1.0,
        cmap="Blues",
        rasterized=True,
    )
    narrow, wide = part["support"]
    slow, fast = part["speedups"]
    limits = (*axes.get_xlim(), *axes.get_ylim())
    x = np.array(limits[:2])
    busy, rate = (1.0 - narrow * x) / wide, (part["load"] - slow * x) / fast
    axes.plot(x, busy, color=VERMILION, lw=1.3, label="all servers busy, $q_1 = 1$")
    axes.plot(x, rate, color=BLACK, lw=1.3, ls="--", label="departures = arrivals, $r$ = load")
    axes.plot(*y, "*", color=YELLOW, mec="k", ms=12, ls="", label="fluid point $y^*$")
    axes.set_xlim(*limits[:2])
    axes.set_ylim(*limits[2:])
    axes.locator_params(nbins=5)
    axes.set_xlabel(f"width-{narrow} jobs per server, $x_{narrow}$")
    axes.set_ylabel(f"width-{wide} jobs per server, $x_{wide}$")
    axes.set_title(f"widths {narrow} and {wide}, n = {n}")
    return mesh


def _draw_narrow(figure: Figure, counts: list[Result]) -> None:
    """Draw the distribution of the number of narrow jobs for each n."""
    axes = figure.subplots()
    width = 0.8 / len(counts)
    hatches = ("", "//", "..")
    for k, part in enumerate(counts):
        seen = [p for p in part["narrow_jobs"] if p > VISIBLE]
        axes.bar(
            np.arange(len(seen)) + (k - (len(counts) - 1) / 2) * width,
            seen,
            width,
            color=COLOURS[k],
            edgecolor="white",
            hatch=hatches[k % len(hatches)],
            label=f"n = {part['servers']}",
        )
    axes.axvline(1.5, color="k", ls="--", lw=1)
    axes.annotate(
        "the lemma: no mass from here on",
        (1.62, axes.get_ylim()[1] * 0.97),
        va="top",
    )
    axes.set_xlabel("jobs narrower than width 3 in the system")
    axes.set_ylabel("stationary probability")
    axes.legend(loc="center right")


EXPERIMENT: Final = Experiment("collapse", "The collapse of the state space", cells, publish)
