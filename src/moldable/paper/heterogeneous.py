"""How do several classes share a cluster: each on servers of its own, or all in one pool?

Section 6 of the paper has no experiment; here are two. Classes whose curves bend differently are
given the reservation b* of problem (Q), rounded to whole servers, and run greedy(p_j*) there; the
same classes with the same shares then use one pool together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final, final

from moldable.allocation.reservation import reserve
from moldable.allocation.whole_servers import reserve_whole
from moldable.exact.exact import stationary_law
from moldable.model.scenario import Scenario
from moldable.model.speedup import SpeedUp
from moldable.model.workload import JobClass, Workload
from moldable.paper import heterogeneous_figure, heterogeneous_text
from moldable.paper.experiment import Cell, Drawing, Effort, Experiment, Result, Results, Row, Scale
from moldable.system.performance import Performance

FAMILY: Final = "heterogeneous"
RESERVED, POOL = "reserved", "pool"

_SIZES: Final = (30, 100, 300, 1000, 3000, 10_000)
SIZES: Final = {
    Scale.TINY: (30, 60),
    Scale.QUICK: _SIZES,
    Scale.FULL: (30, 50, 100, 200, 300, 500, 1000, 2000, 3000, 5000, 10_000, 20_000),
}
JOBS: Final = {Scale.TINY: 2_000, Scale.QUICK: 40_000, Scale.FULL: 300_000}
"""Arrivals of each replication."""
REPLICATIONS: Final = {Scale.TINY: 8, Scale.QUICK: 32, Scale.FULL: 64}
EXACT: Final = {Scale.TINY: 30, Scale.QUICK: 30, Scale.FULL: 100}
"""Servers up to which reserved classes are solved exactly; the pool has too many dimensions."""


@final
@dataclass(frozen=True)
class Family:
    """Jobs of one kind, whatever the size of the cluster.

    Args:
        name: of the class.
        words: what its curve is.
        curve: its speed-ups.
        load: what it brings, in busy servers of the cluster on width 1.
        mean_size: of its jobs.
    """

    name: str
    words: str
    curve: SpeedUp
    load: float
    mean_size: float = 1.0


@final
@dataclass(frozen=True)
class Example:
    """Classes that live on one cluster."""

    name: str
    families: tuple[Family, ...]

    def workload(self, servers: int, sharing: str) -> Workload:
        """Return the classes for a cluster of this size."""
        return Workload(
            tuple(
                JobClass(f.name, servers * f.load / f.mean_size, f.curve, f.mean_size)
                for f in self.families
            ),
            sharing,
        )

    def key(self, sharing: str, servers: int) -> str:
        """Return the key of a cell."""
        return f"{FAMILY}/{self.name}-{sharing}-n={servers}"

    def along(self, results: Results, sharing: str) -> list[Result]:
        """Return the results by growing n."""
        return [results[self.key(sharing, n)] for n in SIZES[results.scale]]


_RENDER: Final = SpeedUp.power_law(0.9, 6)
_BUILD: Final = SpeedUp.amdahl(0.8, 6)
_SEARCH: Final = SpeedUp.power_law(0.5, 6)
EXAMPLES: Final = (
    Example(
        "two-classes",
        (
            Family("render", "width^0.9", _RENDER, 0.35),
            Family("build", "Amdahl, 80 % parallel", _BUILD, 0.35),
        ),
    ),
    Example(
        "three-classes",
        (
            Family("render", "width^0.9", _RENDER, 0.3),
            Family("build", "Amdahl, 80 % parallel", _BUILD, 0.2),
            Family("search", "width^0.5", _SEARCH, 0.2, mean_size=2.0),
        ),
    ),
)


def cells(scale: Scale) -> list[Cell]:
    """Return a cell for each example, size and way of sharing."""
    return [
        Cell(example.key(sharing, n), partial(_compute, example, sharing, n, scale))
        for example in EXAMPLES
        for sharing in (RESERVED, POOL)
        for n in SIZES[scale]
    ]


def _compute(example: Example, sharing: str, servers: int, scale: Scale, effort: Effort) -> Result:
    workload = example.workload(servers, sharing)
    found = _performance(workload, servers, scale, effort)
    division, whole = (
        reserve(Scenario(workload, servers)),
        reserve_whole(Scenario(workload, servers)),
    )
    own = [
        {
            "reserved_fraction": division.reserved_fraction(part),
            "whole_servers": int(rounded.servers),
            "support": list(part.support),
            "shares": [float(share) for share in part.mix.shares],
            "limit": part.mean_execution_time,
        }
        for part, rounded in zip(division.classes, whole.classes, strict=True)
    ]
    classes = [{**c.to_dict(), **more} for c, more in zip(found.classes, own, strict=True)]
    overall = found.to_dict()
    return {
        "servers": servers,
        "sharing": sharing,
        "method": found.method,
        "limit": division.mean_execution_time,
        **{name: overall[name] for name in ("blocking", "blocking_interval", *_TIME)},
        "classes": classes,
        "arrivals": overall["arrivals"],
        "seed": overall["seed"],
    }


_TIME: Final = ("mean_execution_time", "mean_execution_time_interval")


def _performance(workload: Workload, servers: int, scale: Scale, effort: Effort) -> Performance:
    if workload.sharing == RESERVED and servers <= EXACT[scale]:
        return stationary_law(Scenario(workload, servers)).performance()
    return effort.simulate(workload, servers, jobs=JOBS[scale], replications=REPLICATIONS[scale])


def tables(results: Results) -> dict[str, list[Row]]:
    """Return every class at every size."""
    rows: list[Row] = [
        {
            "example": example.name,
            "sharing": sharing,
            "servers": part["servers"],
            "method": part["method"],
            "class": one["name"],
            "reserved_fraction": one["reserved_fraction"],
            "whole_servers": one["whole_servers"] if sharing == RESERVED else None,
            "blocking": one["blocking"],
            "blocking_low": one["blocking_interval"][0],
            "blocking_high": one["blocking_interval"][1],
            "mean_execution_time": one["mean_execution_time"],
            "mean_execution_time_low": one["mean_execution_time_interval"][0],
            "mean_execution_time_high": one["mean_execution_time_interval"][1],
            "limit": one["limit"],
        }
        for example in EXAMPLES
        for sharing in (RESERVED, POOL)
        for part in example.along(results, sharing)
        for one in part["classes"]
    ]
    return {"heterogeneous": rows}


def _found(results: Results) -> heterogeneous_text.Found:
    return {
        example.name: {sharing: example.along(results, sharing) for sharing in (RESERVED, POOL)}
        for example in EXAMPLES
    }


def drawings(results: Results) -> list[Drawing]:
    """Return the figure."""
    return [
        Drawing(
            "heterogeneous",
            "Blocking and mean execution time of every class as the cluster grows, on reserved "
            "servers (solid, filled) and in one pool (dashed, open), with 95 % intervals; dotted: "
            "the optimum for reserved servers, problem (Q). In one pool all classes are blocked "
            "alike, so their curves of blocking coincide.",
            partial(heterogeneous_figure.draw, found=_found(results)),
            size=(9.2, 7.2),
        )
    ]


def report(results: Results) -> str:
    """Write the page."""
    (figure,) = drawings(results)
    curves = {e.name: {f.name: f.words for f in e.families} for e in EXAMPLES}
    return heterogeneous_text.page(_found(results), curves, figure)


def findings(results: Results) -> list[str]:
    """Return the sentences for readers in a hurry."""
    return heterogeneous_text.sentences(_found(results))


EXPERIMENT: Final = Experiment(
    name="heterogeneous",
    title="Several classes: reserved servers and one pool",
    cells=cells,
    tables=tables,
    drawings=drawings,
    report=report,
    findings=findings,
)
