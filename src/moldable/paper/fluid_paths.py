"""Do clusters follow the fluid equations as they grow, and where can they not?

Paths of greedy(p*) on the sub-linear curve at load 0.8, simulated event by event, beside the
solution of dx_i/dt = s_i (y_i - x_i). The equations know nothing of capacity, so they are the limit
only from starts whose busy fraction stays at or below 1: two such starts are followed, and one that
is not is shown beside them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, final

import numpy as np

from moldable.allocation.optimum import Optimum, optimum
from moldable.arrays import Floats
from moldable.paper import fluid_figure, markdown
from moldable.paper.convergence import mean_interval, power_law
from moldable.paper.experiment import Cell, Drawing, Effort, Experiment, Result, Results, Row, Scale
from moldable.paper.paths import sampled_path
from moldable.paper.settings import CURVES, Setting
from moldable.theory.fluid import FluidPath

FAMILY: Final = "fluid"
SETTING: Final = Setting("sub-linear", "mean-field")
SIZES: Final = {
    Scale.TINY: (100, 200),
    Scale.QUICK: (100, 1000, 10_000),
    Scale.FULL: (100, 300, 1000, 3000, 10_000),
}
RUNS: Final = {Scale.TINY: 2, Scale.QUICK: 6, Scale.FULL: 40}
HORIZON: Final = 3.0
"""Mean sizes for which paths are followed."""
STEPS: Final = 150


@final
@dataclass(frozen=True)
class Start:
    """Where paths begin.

    Args:
        name: for keys.
        words: for people.
        per_server: jobs of each width per server.
    """

    name: str
    words: str
    per_server: Mapping[int, float]

    def key(self, servers: int) -> str:
        """Return the key of a cell."""
        return f"{FAMILY}/{self.name}-n={servers}"

    def along(self, results: Results) -> list[Result]:
        """Return the results by growing n."""
        return [results[self.key(n)] for n in SIZES[results.scale]]


WITHIN: Final = (
    Start("empty", "empty at the start", {}),
    Start("width-5", "full of width-5 jobs at the start", {5: 1.0 / 5.0}),
)
"""From here the equations stay within capacity."""
BEYOND: Final = Start("width-1", "full of width-1 jobs at the start", {1: 1.0})
"""From here they leave it at once."""


def cells(scale: Scale) -> list[Cell]:
    """Return a cell for each start and size."""
    return [
        Cell(start.key(n), partial(_compute, start, n, RUNS[scale]))
        for start in (*WITHIN, BEYOND)
        for n in SIZES[scale]
    ]


def _optimum(servers: int) -> Optimum:
    return optimum(CURVES[SETTING.curve], SETTING.load(servers), servers=servers)


def _compute(start: Start, servers: int, runs: int, effort: Effort) -> Result:
    solution = _optimum(servers)
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
    """Return the largest l1 distance over the times looked at."""
    return float(np.abs(path - limit).sum(axis=1).max())


def tables(results: Results) -> dict[str, list[Row]]:
    """Return how far paths stray; the paths are in the JSON."""
    rows: list[Row] = [
        {
            "start": start.name,
            "servers": part["servers"],
            "runs": part["runs"],
            "valid_until": part["valid_until"],
            "largest_busy_fraction": part["largest_busy_fraction"],
            "farthest": part["farthest"],
            "farthest_low": part["farthest_interval"][0],
            "farthest_high": part["farthest_interval"][1],
        }
        for start in (*WITHIN, BEYOND)
        for part in start.along(results)
    ]
    return {"fluid": rows}


def drawings(results: Results) -> list[Drawing]:
    """Return the paths, and how far they stray."""
    within = {start.words: start.along(results) for start in WITHIN}
    beyond = BEYOND.along(results)
    return [
        Drawing(
            "fluid",
            "One simulated path of greedy(p*) (solid) and the fluid equations (dashed) for growing "
            "n, sub-linear curve, load 0.8, from two starts within capacity.",
            partial(fluid_figure.draw_paths, within=within),
            size=(9.2, 5.6),
        ),
        Drawing(
            "fluid-distance",
            "greedy(p*), sub-linear curve, load 0.8. Left: the farthest that a path strays from "
            "the fluid equations within 3 mean sizes, mean and 95 % interval. Right: from a "
            "cluster full of width-1 jobs the equations (dashed) ask for more servers than there "
            "are; no cluster follows them.",
            partial(
                fluid_figure.draw_distance,
                parts={**within, BEYOND.words: beyond},
                beyond=beyond[-1],
            ),
            size=(9.2, 4.0),
        ),
    ]


def report(results: Results) -> str:
    """Write the page."""
    paths, distance = drawings(results)
    sizes = SIZES[results.scale]
    body = [
        [start.words, *(markdown.estimate(part, "farthest") for part in start.along(results))]
        for start in (*WITHIN, BEYOND)
    ]
    beyond = BEYOND.along(results)[-1]
    return "\n\n".join(
        [
            (
                f"Sub-linear curve, load {beyond['load']:g}, exponential sizes, {beyond['runs']} "
                f"paths for each start and n, followed event by event for {HORIZON:g} mean sizes."
            ),
            paths.link,
            "## How far paths stray",
            "The largest l1 distance of jobs per server from the equations:",
            markdown.table(["start", *(f"n = {n:,}" for n in sizes)], body),
            " ".join(_slope_sentence(results, start) for start in WITHIN),
            "## Where the equations are no limit",
            (
                f"From a cluster full of width-1 jobs the equations take the busy fraction to "
                f"{beyond['largest_busy_fraction']:.3f}: they are the limit of a cluster without "
                f"bounds. Paths are still {beyond['farthest']:.3f} away from them at "
                f"n = {beyond['servers']:,}, because no path can follow them there."
            ),
            distance.link,
        ]
    )


def _slope(results: Results, start: Start) -> float:
    parts = start.along(results)
    return power_law([p["servers"] for p in parts], [p["farthest"] for p in parts]).slope


def _slope_sentence(results: Results, start: Start) -> str:
    return f"When {start.words}, it falls like n to the {_slope(results, start):.2f}."


def findings(results: Results) -> list[str]:
    """Return the sentences for readers in a hurry."""
    beyond = BEYOND.along(results)[-1]
    slopes = " and ".join(f"{_slope(results, start):.2f}" for start in WITHIN)
    return [
        (
            f"Simulated paths close in on the fluid equations like n to the {slopes} from starts "
            f"that stay within capacity; from a cluster full of width-1 jobs the equations ask for "
            f"{beyond['largest_busy_fraction']:.2f} times the servers there are and paths stay "
            f"{beyond['farthest']:.2f} away at n = {beyond['servers']:,}."
        )
    ]


EXPERIMENT: Final = Experiment(
    name="fluid",
    title="Fluid paths and simulated ones",
    cells=cells,
    tables=tables,
    drawings=drawings,
    report=report,
    findings=findings,
)
