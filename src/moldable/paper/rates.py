"""How fast does greedy(p*) approach the optimum, and how far are the paper's bounds?

E||x - y*||, the blocking probability and |E[D] - D*| against n, with the slope of a fitted power
law beside the exponent of Theorem 2. With one width the sizes are chosen not to be multiples of it,
or the execution time would have no gap at all. With widths 3 and 4 the distance is exact up to a
few dozen servers; beyond, it is the time average of a path followed event by event.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

import numpy as np

from moldable.allocation.optimum import Optimum, optimum
from moldable.exact.exact import stationary_law
from moldable.model.scenario import Scenario
from moldable.paper import rates_figure, rates_text, sweep
from moldable.paper.convergence import mean_interval
from moldable.paper.experiment import Cell, Drawing, Effort, Experiment, Result, Results, Row, Scale
from moldable.paper.paths import sampled_path
from moldable.paper.rates_points import QUANTITIES, Series, gather
from moldable.paper.settings import CURVES, REGIMES, Setting
from moldable.theory.stein import Bounds, bounds

FAMILY: Final = "rates"
ONE_WIDTH: Final = Setting("linear", "Halfin-Whitt")
FROM_THREE: Final = Setting("sub-linear", "mean-field")
"""Widths 3 and 4; the others use 1 and 2."""
TWO_WIDTHS: Final = (
    Setting("sub-linear", "Halfin-Whitt"),
    Setting("sub-linear", "super-Halfin-Whitt"),
    FROM_THREE,
)

_ODD_SIZES: Final = (22, 52, 102, 202, 502, 1002, 2002, 4002, 10_002, 20_002)
ODD_SIZES: Final = {Scale.TINY: (22, 102, 502), Scale.QUICK: _ODD_SIZES, Scale.FULL: _ODD_SIZES}
"""Multiples of 5 and 2 more, for the one width 5."""
PATH_SIZES: Final = {
    Scale.TINY: (100,),
    Scale.QUICK: (200, 1000, 4000),
    Scale.FULL: (200, 500, 1000, 2000, 4000, 10_000, 20_000),
}
STRETCHES: Final = {Scale.TINY: 4, Scale.QUICK: 10, Scale.FULL: 40}
"""Parts into which a path is cut; they give the interval."""
STRETCH: Final = 10.0
"""Their length in mean sizes: some twenty times what a path remembers."""
SPACING: Final = 0.1
"""Mean sizes between two looks at a path."""


def cells(scale: Scale) -> list[Cell]:
    """Return the sweep's cells, and those of the odd sizes and of the paths."""
    odd = [Cell(_key("odd", n), partial(_odd, n)) for n in ODD_SIZES[scale]]
    paths = [Cell(_key("path", n), partial(_path, n, scale)) for n in PATH_SIZES[scale]]
    shared = [cell for cell in sweep.cells(scale) if cell.key in _shared(scale)]
    return [*odd, *shared, *paths]


def _key(kind: str, servers: int) -> str:
    return f"{FAMILY}/{kind}-n={servers}"


def _shared(scale: Scale) -> set[str]:
    return {sweep.key(setting, n) for setting in TWO_WIDTHS for n in sweep.SIZES[scale]}


def _odd(servers: int, _: Effort) -> Result:
    """Return the exact values with one width that leaves a remainder."""
    workload = ONE_WIDTH.workload(servers)
    law = stationary_law(Scenario(workload, servers), ONE_WIDTH.policy(servers))
    return sweep.summary(ONE_WIDTH, servers, sweep.GREEDY_P, law.performance(), law.theory.distance)


def _path(servers: int, scale: Scale, effort: Effort) -> Result:
    """Return the mean distance along a path from near y*, its first stretch left out."""
    solution = _optimum(FROM_THREE, servers)
    times = np.arange(0.0, (STRETCHES[scale] + 1) * STRETCH, SPACING)
    start = {width: int(servers * solution.scaled_jobs[width - 1]) for width in solution.support}
    generator = np.random.default_rng(effort.next_seed())
    path = sampled_path(solution, start, times, generator) / servers
    apart = np.abs(path - solution.scaled_jobs).sum(axis=1)
    each = apart.reshape(STRETCHES[scale] + 1, -1).mean(axis=1)[1:]
    distance, interval = mean_interval(each)
    return {"servers": servers, "distance": distance, "distance_interval": interval}


def _optimum(setting: Setting, servers: int) -> Optimum:
    return optimum(CURVES[setting.curve], setting.load(servers), servers=servers)


def _with_bounds(setting: Setting, parts: list[Result]) -> list[tuple[Result, Bounds]]:
    curve, regime = CURVES[setting.curve], REGIMES[setting.regime]
    return [
        (part, bounds(curve, setting.load(part["servers"]), part["servers"], alpha=regime.alpha))
        for part in parts
    ]


def series(results: Results) -> list[Series]:
    """Return the points, the bounds and the theorem's exponents of every setting."""
    odd = [results[_key("odd", n)] for n in ODD_SIZES[results.scale]]
    paths = [results[_key("path", n)] for n in PATH_SIZES[results.scale]]
    found: Mapping[Setting, list[Result]] = {
        ONE_WIDTH: odd,
        **{s: sweep.along(results, s, sweep.GREEDY_P) for s in TWO_WIDTHS},
    }
    return [
        gather(
            setting.words,
            _optimum(setting, parts[-1]["servers"]).support,
            _with_bounds(setting, parts),
            _with_bounds(setting, paths if setting == FROM_THREE else []),
        )
        for setting, parts in found.items()
    ]


def tables(results: Results) -> dict[str, list[Row]]:
    """Return all points, and the fitted slopes."""
    every = series(results)
    points: list[Row] = [
        {
            "setting": one.words,
            "quantity": quantity,
            "servers": point.servers,
            "value": point.value,
            "low": point.low,
            "high": point.high,
            "exact": point.exact,
            "bound": point.bound,
        }
        for one in every
        for quantity in QUANTITIES
        for point in one.points[quantity]
    ]
    slopes: list[Row] = [
        {
            "setting": one.words,
            "widths": "-".join(map(str, one.support)),
            "quantity": quantity,
            "slope": one.fit(quantity).slope,
            "theorem": one.theorem[quantity],
            "proof": one.proof,
            "gaps": " ".join(one.gaps),
        }
        for one in every
        for quantity in QUANTITIES
    ]
    return {"rates": points, "rates-slopes": slopes}


def drawings(results: Results) -> list[Drawing]:
    """Return the figure."""
    return [
        Drawing(
            "rates",
            "Distance from the optimum, blocking and the gap in mean execution time against n, "
            "with fitted slopes, the slopes of Theorem 2 and the stated bounds; bounds whose proof "
            "has a gap are marked. Filled: exact; open: simulated, with 95 % intervals.",
            partial(rates_figure.draw, every=series(results)),
            size=(11.0, 8.0),
        )
    ]


def report(results: Results) -> str:
    """Write the page."""
    (figure,) = drawings(results)
    return rates_text.page(series(results), figure)


def findings(results: Results) -> list[str]:
    """Return the sentences for readers in a hurry."""
    return rates_text.sentences(series(results))


EXPERIMENT: Final = Experiment(
    name="rates",
    title="Rates of convergence",
    cells=cells,
    tables=tables,
    drawings=drawings,
    report=report,
    findings=findings,
)
