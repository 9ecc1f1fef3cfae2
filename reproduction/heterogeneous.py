"""Several classes on reserved servers, and in one pool.

Section 6 of the paper has no experiment; here are two. Classes with different curves get the
reservation b* of problem (Q), rounded to whole servers, and use greedy(p_j*) there. The same
classes with the same shares then share one pool.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final, final

from moldable import JobClass, Scenario, SpeedUp, Workload, reserve, reserve_whole
from moldable.exact import stationary_law
from moldable.results import Performance
from reproduction.convergence import power_law
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
from reproduction.presentation import (
    COLOURS,
    MARKERS,
    draw_intervals,
    estimate,
    legend_entries,
    markdown_table,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

Found = Mapping[str, Mapping[str, list[Result]]]
"""Results by example and kind of sharing, by growing n."""

WAYS: Final = ("reserved", "pool")
RESERVED, POOL = WAYS

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
"""Servers up to which reserved classes are solved exactly; a pool has too many dimensions."""


@final
@dataclass(frozen=True)
class Family:
    """A class of jobs, for any number of servers.

    Args:
        name: of the class.
        words: description of its curve.
        curve: its speed-ups.
        load: its load, as a share of the servers.
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
    """Classes on one cluster."""

    name: str
    families: tuple[Family, ...]

    def scenario(self, servers: int, sharing: str) -> Scenario:
        """Return the classes on a cluster of this size."""
        classes = tuple(
            JobClass(f.name, servers * f.load / f.mean_size, f.curve, f.mean_size)
            for f in self.families
        )
        return Scenario(Workload(classes, sharing), servers)

    def key(self, sharing: str, servers: int) -> str:
        """Return the key of a cell."""
        return f"heterogeneous/{self.name}-{sharing}-n={servers}"

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
    """Return a cell for each example, number of servers and kind of sharing."""
    return [
        Cell(example.key(sharing, n), partial(_compute, example, sharing, n, scale))
        for example in EXAMPLES
        for sharing in WAYS
        for n in SIZES[scale]
    ]


def _compute(example: Example, sharing: str, servers: int, scale: Scale, effort: Effort) -> Result:
    scenario = example.scenario(servers, sharing)
    found = _performance(scenario, scale, effort)
    division, whole = reserve(scenario), reserve_whole(scenario)
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
        **{name: overall[name] for name in _ESTIMATES},
        "classes": classes,
        "arrivals": overall["arrivals"],
        "seed": overall["seed"],
    }


_ESTIMATES: Final = (
    *("blocking", "blocking_interval"),
    *("mean_execution_time", "mean_execution_time_interval"),
)


def _performance(scenario: Scenario, scale: Scale, effort: Effort) -> Performance:
    if scenario.workload.sharing == RESERVED and scenario.servers <= EXACT[scale]:
        return stationary_law(scenario).performance()
    return effort.simulate(scenario, jobs=JOBS[scale], replications=REPLICATIONS[scale])


def publish(results: Results) -> Publication:
    """Show every class at every number of servers, reserved and in a pool."""
    found = {e.name: {way: e.along(results, way) for way in WAYS} for e in EXAMPLES}
    figure = Drawing(
        "heterogeneous",
        "Blocking and mean execution time of every class as the cluster grows, on reserved "
        "servers (solid, filled) and in one pool (dashed, open), with 95 % intervals; dotted: "
        "the optimum for reserved servers, problem (Q). In one pool all classes have the "
        "same blocking, so their curves coincide.",
        partial(_draw, found=found),
        size=(9.2, 7.2),
    )
    rows = [
        _row(example, part, one)
        for example, ways in found.items()
        for parts in ways.values()
        for part in parts
        for one in part["classes"]
    ]
    findings = _sentences(found)
    return Publication(
        tables={"heterogeneous": rows},
        page=_page(found, findings, figure),
        findings=findings,
        drawings=[figure],
    )


def _row(example: str, part: Result, one: Result) -> Row:
    return {
        "example": example,
        "sharing": part["sharing"],
        "servers": part["servers"],
        "method": part["method"],
        "class": one["name"],
        "reserved_fraction": one["reserved_fraction"],
        "whole_servers": one["whole_servers"] if part["sharing"] == RESERVED else None,
        "blocking": one["blocking"],
        "blocking_low": one["blocking_interval"][0],
        "blocking_high": one["blocking_interval"][1],
        "mean_execution_time": one["mean_execution_time"],
        "mean_execution_time_low": one["mean_execution_time_interval"][0],
        "mean_execution_time_high": one["mean_execution_time_interval"][1],
        "limit": one["limit"],
    }


def _page(found: Found, findings: list[str], figure: Drawing) -> str:
    parts = [
        (
            "Exponential sizes, Poisson arrivals of every class at rates proportional to n. The "
            "reserved servers are the integer optimum; the pool uses the shares of (Q)."
        ),
        figure.link,
    ]
    for example in EXAMPLES:
        ways = found[example.name]
        curves = {family.name: family.words for family in example.families}
        parts += [
            f"## {example.name.replace('-', ' ').capitalize()}",
            _reservation(ways[RESERVED][-1], curves),
            _performances(ways),
        ]
    return "\n\n".join([*parts, "## Results", "\n".join(f"- {s}" for s in findings)])


def _reservation(part: Result, curves: Mapping[str, str]) -> str:
    body = [
        [
            one["name"],
            curves[one["name"]],
            f"{one['reserved_fraction']:.4f}",
            f"{one['whole_servers']:,}",
            _shares(one),
            f"{one['limit']:.4f}",
        ]
        for one in part["classes"]
    ]
    whole = f"whole servers at n = {part['servers']:,}"
    return markdown_table(["class", "speed-up", "b*", whole, "widths", "D*"], body)


def _shares(one: Result) -> str:
    pairs = zip(one["support"], one["shares"], strict=True)
    return ", ".join(f"{width} for {100 * share:.3g} %" for width, share in pairs)


def _performances(ways: Mapping[str, list[Result]]) -> str:
    header = ["class", "n", "blocking, reserved", POOL, "mean time, reserved", POOL]
    count = len(ways[RESERVED])
    body = []
    for k, one in enumerate(ways[RESERVED][0]["classes"]):
        for place in sorted({0, count // 2, count - 1}):
            pair = [ways[sharing][place]["classes"][k] for sharing in WAYS]
            body.append(
                [
                    one["name"],
                    f"{ways[RESERVED][place]['servers']:,}",
                    *(estimate(each, "blocking") for each in pair),
                    *(estimate(each, "mean_execution_time") for each in pair),
                ]
            )
    return markdown_table(header, body)


def _sentences(found: Found) -> list[str]:
    """Return the main findings."""
    spread = [max(_blocking(w[POOL][-1])) - min(_blocking(w[POOL][-1])) for w in found.values()]
    same = (
        f"In one pool all classes have the same blocking (within {max(spread):.1g} here, the error "
        f"of the simulation), because one idle server is enough for any job and all classes see "
        f"the same distribution of idle servers. On reserved servers their blocking differs."
    )
    return [*(_sentence(e.replace("-", " "), ways) for e, ways in found.items()), same]


def _blocking(part: Result) -> list[float]:
    return [one["blocking"] for one in part["classes"]]


def _sentence(example: str, ways: Mapping[str, list[Result]]) -> str:
    reserved, pool = ways[RESERVED], ways[POOL]
    n = [part["servers"] for part in reserved]
    slopes = [
        power_law(n, [part["blocking"] for part in parts]).slope for parts in (reserved, pool)
    ]
    worst = max(
        abs(one["mean_execution_time"] / one["limit"] - 1.0) for one in reserved[-1]["classes"]
    )
    return (
        f"{example.capitalize()} at n = {n[-1]:,}: every class on reserved servers is within "
        f"{100 * worst:.2g} % of its D*. The blocking probability is "
        f"{reserved[-1]['blocking']:.4f} on reserved servers and {pool[-1]['blocking']:.4f} in one "
        f"pool; in this order "
        f"blocking decreases as n^{slopes[0]:.2f} and n^{slopes[1]:.2f}."
    )


TICKS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


def _draw(figure: Figure, found: Found) -> None:
    """Draw a row for each example: blocking on the left, mean execution time on the right."""
    grid = figure.subplots(len(found), 2, sharex=True, sharey="col", squeeze=False)
    for (left, right), (example, ways) in zip(grid, found.items(), strict=True):
        for sharing, parts in ways.items():
            for k in range(len(parts[0]["classes"])):
                _series(left, parts, k, "blocking", reserved=sharing == RESERVED)
                _series(right, parts, k, "mean_execution_time", reserved=sharing == RESERVED)
        right.axhline(1.0, color="k", ls=":", lw=1.2)
        left.set_ylabel("blocking probability")
        right.set_ylabel("mean execution time / optimum D*")
        for axes in (left, right):
            axes.set_title(example.replace("-", " "))
    grid[0, 0].set_xscale("log")
    grid[0, 0].set_yscale("log")
    grid[0, 0].minorticks_off()
    grid[0, 0].set_yticks(TICKS, [f"{tick:g}" for tick in TICKS])
    for axes in grid[-1]:
        axes.set_xlabel("servers n")
    most = max((ways[POOL][0]["classes"] for ways in found.values()), key=len)
    names = [one["name"] for one in most]
    figure.legend(handles=_legend(grid[0, 0], names), loc="outside lower center", ncols=3)


def _series(axes: Axes, parts: list[Result], k: int, name: str, *, reserved: bool) -> None:
    ones = [{"servers": part["servers"], **part["classes"][k]} for part in parts]
    draw_intervals(
        axes,
        ones,
        name,
        unit=ones[0]["limit"] if name == "mean_execution_time" else 1.0,
        color=COLOURS[k],
        marker=MARKERS[k],
        mfc=COLOURS[k] if reserved else "white",
        ls="-" if reserved else "--",
        ms=5,
        lw=1.0,
        capsize=2.5,
    )


def _legend(axes: Axes, names: list[str]) -> list[Line2D]:
    classes = legend_entries(
        axes,
        {
            f"class {name}": {"marker": MARKERS[k], "ls": "", "color": COLOURS[k]}
            for k, name in enumerate(names)
        },
    )
    black: dict[str, Any] = {"color": "k", "marker": "o"}
    ways = legend_entries(
        axes,
        {
            "reserved servers, greedy(p*)": black,
            "one pool, greedy(p*)": {**black, "ls": "--", "mfc": "white"},
            "optimum for reserved servers": {"color": "k", "ls": ":"},
        },
    )
    # The legend fills column by column.
    return [line for pair in zip_longest(classes, ways) for line in pair if line is not None]


EXPERIMENT: Final = Experiment(
    "heterogeneous", "Several classes: reserved servers and one pool", cells, publish
)
