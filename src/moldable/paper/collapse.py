"""Where in its state space does greedy(p*) spend its time?

The paper's picture: the state lives in the plane of (x_i1, x_i2), between the line on which all
servers are busy, q_1 = 1, and the one on which jobs leave as fast as they arrive, r = load, close
to their crossing y*. Here the mass is the exact stationary law. With i1 >= 2 the plane is not all:
jobs narrower than i1 are there too, more than the one that the collapse lemma allows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.exact.exact import StationaryLaw, stationary_law
from moldable.model.scenario import Scenario
from moldable.paper import collapse_figure
from moldable.paper.experiment import Cell, Drawing, Effort, Experiment, Result, Results, Row, Scale
from moldable.paper.settings import CURVES, Setting

FAMILY: Final = "collapse"
BINS: Final = 60
"""Steps of the plane along each axis, at most."""
OUTSIDE: Final = 1e-5
"""Mass that may lie beyond each edge of the picture."""


@final
@dataclass(frozen=True)
class Case:
    """A setting and the sizes at which its law is known."""

    setting: Setting
    sizes: Mapping[Scale, tuple[int, ...]]

    def key(self, servers: int) -> str:
        """Return the key of a cell."""
        return f"{FAMILY}/{self.setting.key}-n={servers}"

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
    law = stationary_law(Scenario(setting.workload(servers), servers))
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
    theory, joint = law.theory, law.pools[0].counts_known()
    narrow = law.system.kind_width < theory.optimum.i1
    probabilities = np.bincount(joint.counts[narrow].sum(axis=0), joint.weights)
    return [float(p) for p in probabilities]


def _plane(law: StationaryLaw) -> Result:
    """Return the mass in the plane of the two widths: edges in jobs, and the mass of each box."""
    joint = law.pools[0].counts_known()
    first, second = (
        joint.counts[law.system.kind_width == width].sum(axis=0)
        for width in law.theory.optimum.support
    )
    edges = [_edges(jobs, joint.weights) for jobs in (first, second)]
    mass, _, _ = np.histogram2d(first, second, bins=edges, weights=joint.weights)
    return {"edges": [e.tolist() for e in edges], "mass": mass.tolist()}


def _edges(jobs: Ints, weights: Floats) -> Floats:
    """Return edges between whole numbers of jobs, equally many in each step."""
    law = np.cumsum(np.bincount(jobs, weights))
    low, high = np.searchsorted(law, (OUTSIDE, law[-1] - OUTSIDE))
    step = -(-(high - low + 1) // BINS)
    edges: Floats = np.arange(low, high + 1 + step, step) - 0.5
    return edges


def _several(result: Result) -> float:
    """P(more than one job narrower than i1)."""
    return float(sum(result["narrow_jobs"][2:]))


def _mean_narrow(result: Result) -> float:
    return float(sum(k * p for k, p in enumerate(result["narrow_jobs"])))


def tables(results: Results) -> dict[str, list[Row]]:
    """Return what the laws come to; the masses are in the JSON."""
    rows: list[Row] = [
        {
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
        for case in (FROM_ONE, FROM_THREE)
        for part in case.along(results)
    ]
    return {"collapse": rows}


def drawings(results: Results) -> list[Drawing]:
    """Return the picture of the plane, and the law of the narrow jobs."""
    planes, counts = FROM_ONE.along(results), FROM_THREE.along(results)
    return [
        Drawing(
            "collapse",
            "The stationary law of greedy(p*) in the plane of its two widths, sub-linear curve: "
            "widths 1 and 2 (Halfin-Whitt) above, widths 3 and 4 (load 0.8) below. The axes close "
            "in on the fluid point as n grows.",
            partial(collapse_figure.draw_planes, planes=[planes, counts]),
            size=(9.2, 6.4),
        ),
        Drawing(
            "collapse-narrow",
            "How many jobs narrower than i1 = 3 run at once, sub-linear curve, load 0.8, exact. "
            "The collapse lemma allows none beyond the first.",
            partial(collapse_figure.draw_narrow, counts=counts),
        ),
    ]


def report(results: Results) -> str:
    """Write the page."""
    planes, counts = drawings(results)
    first, last = FROM_ONE.along(results)[0], FROM_ONE.along(results)[-1]
    lines = [
        (
            "Exponential sizes, greedy(p*), the sub-linear curve. The mass shown is the exact "
            "stationary law, not a simulation."
        ),
        planes.link,
        "## What to see",
        (
            f"With widths 1 and 2 the mean distance E||x - y*|| falls from {first['distance']:.4f} "
            f"at n = {first['servers']:,} to {last['distance']:.4f} at n = {last['servers']:,}. "
            f"The law leans against the corner between the two lines rather than lying along "
            f"either: all servers are busy with probability {first['all_busy']:.3f} and "
            f"{last['all_busy']:.3f}, and jobs leave faster than they arrive, r > load, with "
            f"probability {first['rate_above_load']:.3f} and {last['rate_above_load']:.3f}."
        ),
        "## What the lemma leaves out",
        "\n".join(f"- {sentence}" for sentence in _narrow_sentences(results)),
        (
            "A full system loses a width-4 job, a width-3 job arrives, one server is left, and the "
            "next arrival is one more narrow job: nothing stops them from piling up."
        ),
        counts.link,
    ]
    return "\n\n".join(lines) + "\n"


def _narrow_sentences(results: Results) -> list[str]:
    return [
        f"n = {part['servers']}: more than one job narrower than {part['support'][0]} runs with "
        f"probability {_several(part):.3f} (the lemma: 0), {_mean_narrow(part):.2f} on average."
        for part in FROM_THREE.along(results)
    ]


def findings(results: Results) -> list[str]:
    """Return the sentences for readers in a hurry."""
    worst = FROM_THREE.along(results)[-1]
    return [
        (
            f"The state collapses to the plane as the paper draws it for widths 1 and 2; for "
            f"widths 3 and 4 the lemma behind it fails: at n = {worst['servers']} more than one "
            f"narrower job runs with probability {_several(worst):.3f}, which the lemma puts at 0."
        )
    ]


EXPERIMENT: Final = Experiment(
    name="collapse",
    title="The collapse of the state space",
    cells=cells,
    tables=tables,
    drawings=drawings,
    report=report,
    findings=findings,
)
