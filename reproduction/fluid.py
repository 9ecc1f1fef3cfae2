"""Convergence of simulated paths to the fluid equations, and a start from which they do not.

Paths of greedy(p*) on the sub-linear curve at load 0.8 are simulated event by event and compared
with the solution of dx_i/dt = s_i (y_i - x_i). The equations ignore capacity, so they are the limit
only from starts from which the busy fraction stays at or below 1. There are two such starts, and
one from which it does not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from moldable import optimum
from moldable.theory import FluidPath
from reproduction.convergence import Floats, mean_interval, power_law
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
from reproduction.paths import sampled_path
from reproduction.presentation import (
    BLUE,
    COLOURS,
    MARKERS,
    VERMILION,
    draw_intervals,
    estimate,
    markdown_table,
)
from reproduction.settings import CURVES, Setting

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SETTING: Final = Setting("sub-linear", "mean-field")
SIZES: Final = {
    Scale.TINY: (100, 200),
    Scale.QUICK: (100, 1000, 10_000),
    Scale.FULL: (100, 300, 1000, 3000, 10_000),
}
RUNS: Final = {Scale.TINY: 2, Scale.QUICK: 6, Scale.FULL: 40}
HORIZON: Final = 3.0
"""Length of the paths, in mean sizes."""
STEPS: Final = 150


@final
@dataclass(frozen=True)
class Start:
    """The initial state of paths.

    Args:
        name: for keys.
        words: for the text.
        per_server: jobs of each width per server.
    """

    name: str
    words: str
    per_server: Mapping[int, float]

    def key(self, servers: int) -> str:
        """Return the key of a cell."""
        return f"fluid/{self.name}-n={servers}"

    def along(self, results: Results) -> list[Result]:
        """Return the results by growing n."""
        return [results[self.key(n)] for n in SIZES[results.scale]]


WITHIN: Final = (
    Start("empty", "empty at the start", {}),
    Start("width-5", "full of width-5 jobs at the start", {5: 1.0 / 5.0}),
)
"""Starts from which the equations stay within capacity."""
BEYOND: Final = Start("width-1", "full of width-1 jobs at the start", {1: 1.0})
"""The start from which they exceed it at once."""
STARTS: Final = (*WITHIN, BEYOND)


def cells(scale: Scale) -> list[Cell]:
    """Return a cell for each start and size."""
    return [
        Cell(start.key(n), partial(_compute, start, n, RUNS[scale]))
        for start in STARTS
        for n in SIZES[scale]
    ]


def _compute(start: Start, servers: int, runs: int, effort: Effort) -> Result:
    solution = optimum(CURVES[SETTING.curve], SETTING.load(servers), servers=servers)
    times = np.linspace(0.0, HORIZON, STEPS + 1)
    fluid = FluidPath(solution, dict(start.per_server))
    counts = {width: round(share * servers) for width, share in start.per_server.items()}
    paths = [
        sampled_path(solution, counts, times, np.random.default_rng(effort.next_seed())) / servers
        for _ in range(runs)
    ]
    limit = fluid.at(times)
    apart, interval = mean_interval([_farthest(path, limit) for path in paths])
    return {
        "servers": servers,
        "load": solution.load,
        "runs": runs,
        "valid_until": fluid.valid_until if math.isfinite(fluid.valid_until) else None,
        "largest_busy_fraction": float(fluid.busy_fraction(times).max()),
        "farthest": apart,
        "farthest_interval": interval,
        "times": times.tolist(),
        "fluid": limit.tolist(),
        "path": paths[0].tolist(),
    }


def _farthest(path: Floats, limit: Floats) -> float:
    """Return the largest l1 distance over the sampled times."""
    return float(np.abs(path - limit).sum(axis=1).max())


def publish(results: Results) -> Publication:
    """Show the paths, and their distance from the equations."""
    within = {start.words: start.along(results) for start in WITHIN}
    beyond = BEYOND.along(results)
    slopes = {words: _slope(parts) for words, parts in within.items()}
    paths = Drawing(
        "fluid",
        "One simulated path of greedy(p*) (solid) and the fluid equations (dashed) for growing "
        "n, sub-linear curve, load 0.8, from two starts within capacity.",
        partial(_draw_paths, within=within),
        size=(9.2, 5.6),
    )
    distance = Drawing(
        "fluid-distance",
        "greedy(p*), sub-linear curve, load 0.8. Left: largest distance of a path from the fluid "
        "equations within 3 mean sizes, mean and 95 % interval. Right: from a cluster full of "
        "width-1 jobs the solution of the equations (dashed) exceeds the capacity.",
        partial(_draw_distance, parts={**within, BEYOND.words: beyond}),
        size=(9.2, 4.0),
    )
    finding = (
        f"Simulated paths converge to the solution of the fluid equations at the rates "
        f"{' and '.join(f'n^{slope:.2f}' for slope in slopes.values())} if it stays within "
        f"capacity. Started from a cluster full of width-1 jobs, it uses "
        f"{beyond[-1]['largest_busy_fraction']:.2f} times the number of servers, and simulated "
        f"paths are at distance {beyond[-1]['farthest']:.2f} from it at "
        f"n = {beyond[-1]['servers']:,}."
    )
    return Publication(
        tables={"fluid": [_row(s, part) for s in STARTS for part in s.along(results)]},
        page=_page(results, slopes, paths, distance),
        findings=[finding],
        drawings=[paths, distance],
    )


def _row(start: Start, part: Result) -> Row:
    """Return the distance of the paths; the paths are in the JSON."""
    return {
        "start": start.name,
        "servers": part["servers"],
        "runs": part["runs"],
        "valid_until": part["valid_until"],
        "largest_busy_fraction": part["largest_busy_fraction"],
        "farthest": part["farthest"],
        "farthest_low": part["farthest_interval"][0],
        "farthest_high": part["farthest_interval"][1],
    }


def _slope(parts: list[Result]) -> float:
    return power_law([p["servers"] for p in parts], [p["farthest"] for p in parts]).slope


def _page(results: Results, slopes: Mapping[str, float], paths: Drawing, distance: Drawing) -> str:
    header = ["start", *(f"n = {n:,}" for n in SIZES[results.scale])]
    body = [
        [start.words, *(estimate(part, "farthest") for part in start.along(results))]
        for start in STARTS
    ]
    beyond = BEYOND.along(results)[-1]
    return "\n\n".join(
        [
            (
                f"Sub-linear curve, load {beyond['load']:g}, exponential sizes, {beyond['runs']} "
                f"paths for each start and n, simulated for {HORIZON:g} mean sizes."
            ),
            paths.link,
            "## Distance of the paths",
            "The largest l1 distance of the jobs per server from the equations:",
            markdown_table(header, body),
            " ".join(f"If {s}, it decreases as n^{k:.2f}." for s, k in slopes.items()),
            "## Where the equations are not the limit",
            (
                f"From a cluster full of width-1 jobs the busy fraction of the fluid equations "
                f"increases to {beyond['largest_busy_fraction']:.3f}, above the capacity. "
                f"Simulated paths are at distance {beyond['farthest']:.3f} at "
                f"n = {beyond['servers']:,}."
            ),
            distance.link,
        ]
    )


GROUPS: Final = {"width 5": [4], "width 4": [3], "width 3": [2], "widths 1 and 2": [0, 1]}
"""Columns of a path that are drawn as one line each."""
PANELS: Final = 3


def _draw_paths(figure: Figure, within: Mapping[str, list[Result]]) -> None:
    """Draw a row for each start and a column for each of a few n."""
    chosen = {words: _spread(parts) for words, parts in within.items()}
    columns = max(map(len, chosen.values()))
    grid = figure.subplots(len(chosen), columns, sharex=True, sharey=True, squeeze=False)
    for row, (words, parts) in zip(grid, chosen.items(), strict=True):
        row[0].set_ylabel(f"{words}\njobs per server")
        for axes, part in zip(row, parts, strict=True):
            _draw_path(axes, part)
    for axes, part in zip(grid[0], next(iter(chosen.values())), strict=True):
        axes.set_title(f"n = {part['servers']:,}")
    for axes in grid[-1]:
        axes.set_xlabel("time (mean sizes)")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5)


def _spread(parts: list[Result]) -> list[Result]:
    """Return the first, the middle and the last of many."""
    if len(parts) <= PANELS:
        return parts
    return [parts[0], parts[len(parts) // 2], parts[-1]]


def _draw_path(axes: Axes, part: Result) -> None:
    times, path, fluid = (np.array(part[name]) for name in ("times", "path", "fluid"))
    for k, (label, columns) in enumerate(GROUPS.items()):
        axes.step(
            times,
            path[:, columns].sum(axis=1),
            where="post",
            color=COLOURS[k],
            lw=1,
            marker=MARKERS[k],
            ms=4,
            markevery=(5 * k, len(times) // 6),
            label=label,
        )
    for columns in GROUPS.values():
        (line,) = axes.plot(times, fluid[:, columns].sum(axis=1), color="k", ls="--", lw=1)
    line.set_label("fluid equations")


def _draw_distance(figure: Figure, parts: Mapping[str, list[Result]]) -> None:
    """Draw the distances, and the busy fraction where the equations exceed capacity."""
    left, right = figure.subplots(1, 2)
    for k, (words, series) in enumerate(parts.items()):
        _distance(left, k, words, series)
    left.set_xscale("log")
    left.set_yscale("log")
    left.set_xlabel("servers n")
    left.set_ylabel("largest distance\n(jobs per server, all widths)")
    left.legend(loc="lower left", fontsize=7)
    beyond = parts[BEYOND.words][-1]
    times, path, fluid = (np.array(beyond[name]) for name in ("times", "path", "fluid"))
    widths = np.arange(1, path.shape[1] + 1)
    right.step(times, path @ widths, color=BLUE, where="post", lw=1.2, label="simulated")
    right.plot(times, fluid @ widths, "k--", lw=1.2, label="fluid equations")
    right.axhline(1.0, color=VERMILION, ls=":", label="all servers")
    right.set_xlabel("time (mean sizes)")
    right.set_ylabel("busy servers / n")
    right.set_title(f"full of width-1 jobs at the start, n = {beyond['servers']:,}")
    right.legend()


def _distance(axes: Axes, place: int, words: str, series: list[Result]) -> None:
    n = [part["servers"] for part in series]
    line = power_law(n, [part["farthest"] for part in series])
    colour, label = COLOURS[place], f"{words}: slope {line.slope:.2f}"
    style: dict[str, Any] = {"marker": MARKERS[place], "ms": 5, "ls": "", "capsize": 3}
    draw_intervals(axes, series, "farthest", color=colour, label=label, **style)
    axes.plot(n, line.at(n), color=colour, lw=1, ls=("-", "--", ":")[place % 3])


EXPERIMENT: Final = Experiment("fluid", "Fluid paths and simulated ones", cells, publish)
