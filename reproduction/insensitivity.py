"""Does greedy(p*) depend on the size law beyond its mean?

The paper concludes from its table that it does not. If every job gets one width that divides n,
this is a theorem: the system is M/G/c/c and blocking is Erlang's formula for every law. The other
cases are tested here, exactly for phase-type laws on small clusters and by simulation from
equilibrium otherwise: remaining servers that narrower jobs use, and two widths.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, final

from moldable import Scenario, SizeLaw, greedy_p
from moldable.exact import stationary_law
from moldable.sizes import (
    Deterministic,
    Exponential,
    Hyperexponential,
    Lognormal,
    MixedErlang,
    Pareto,
)
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
from reproduction.presentation import COLOURS, GREY, MARKERS, markdown_table
from reproduction.settings import CURVES
from reproduction.verdict import ALLOWED, Measured

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

REFERENCE: Final = "exponential"
LAWS: Final[dict[str, SizeLaw]] = {
    REFERENCE: Exponential(),
    "deterministic": Deterministic(),
    "mixed-erlang": MixedErlang(),
    "hyperexponential": Hyperexponential(2.0),
    "lognormal": Lognormal(2.0),
    "pareto": Pareto(),
}
"""By increasing variability, with the reference first."""


@final
@dataclass(frozen=True)
class System:
    """A curve at a load, on several numbers of servers.

    Args:
        key: a name for files.
        words: a name for the text.
        curve: a name among `CURVES`.
        load: for every number of servers.
        remainder: servers in addition to the round number.
        phases_up_to: servers up to which phase-type sizes are solved exactly.
        chain_up_to: servers up to which exponential sizes are solved exactly.
    """

    key: str
    words: str
    curve: str
    load: float
    remainder: int
    phases_up_to: int
    chain_up_to: int

    def cell(self, servers: int, law: str) -> str:
        """Return the key of a cell."""
        return f"insensitivity/{self.key}-n={servers}-{law}"

    def sizes(self, scale: Scale) -> list[int]:
        """Return the numbers of servers."""
        return [round_number + self.remainder for round_number in SIZES[scale]]

    def scenario(self, servers: int, law: str) -> Scenario:
        """Return a cluster with this many servers."""
        return Scenario.single(CURVES[self.curve], self.load, servers, size=LAWS[law])

    def exact(self, servers: int, law: str) -> bool:
        """Return whether the answer is exact; for laws other than the reference, by the chain."""
        if law == REFERENCE:
            return servers <= self.chain_up_to
        return LAWS[law].phases is not None and servers <= self.phases_up_to


SYSTEMS: Final = (
    System("one-width", "width 5 only, 5 divides n", "linear", 0.8, 0, 400, 400),
    System("left-over", "width 5, three servers left over", "linear", 0.8, 3, 23, 403),
    System("widths-1-2", "widths 1 and 2", "sub-linear", 0.95, 0, 20, 400),
    System("widths-3-4", "widths 3 and 4", "sub-linear", 0.8, 0, 20, 100),
)
SIZES: Final = {
    Scale.TINY: (20, 50),
    Scale.QUICK: (20, 100),
    Scale.FULL: (20, 100, 400),
}
# Heavy tails need many replications rather than long ones.
REPLICATIONS: Final = {Scale.TINY: 8, Scale.QUICK: 64, Scale.FULL: 256}
ARRIVALS: Final = {Scale.TINY: 5_000, Scale.QUICK: 100_000, Scale.FULL: 400_000}
WARMUP: Final = 10.0
"""Warm-up in mean sizes: the start is not exactly in equilibrium with several widths."""


def cells(scale: Scale) -> list[Cell]:
    """List a cell for each system, size and law."""
    return [
        Cell(system.cell(servers, law), partial(_compute, scale, system, servers, law))
        for system in SYSTEMS
        for servers in system.sizes(scale)
        for law in LAWS
    ]


def _compute(scale: Scale, system: System, servers: int, law: str, effort: Effort) -> Result:
    scenario = system.scenario(servers, law)
    policy = greedy_p(scenario)
    if system.exact(servers, law):
        # For other laws a closed form would assume what is to be shown.
        method = "auto" if law == REFERENCE else "chain"
        answer = stationary_law(scenario, policy, method=method).performance()
    else:
        answer = effort.simulate(
            scenario,
            policy,
            jobs=ARRIVALS[scale],
            replications=REPLICATIONS[scale],
            warmup=WARMUP,
        )
    blocking = Measured.of_estimate(answer.blocking)
    mean_time = Measured.of_estimate(answer.mean_execution_time)
    return {
        "method": answer.method,
        "blocking": [blocking.value, blocking.standard_error],
        "mean_execution_time": [mean_time.value, mean_time.standard_error],
    }


EQUAL: Final = 1e-8
"""Relative differences below this are rounding errors of two exact answers."""


@final
@dataclass(frozen=True)
class Difference:
    """The effect of a size law, relative to exponential sizes.

    Attributes:
        system: the system.
        servers: number of servers.
        law: size law.
        method: "chain" or "simulate".
        value: blocking and mean execution time.
        blocking: the relative change of the blocking probability.
        mean_time: the relative change of the mean execution time.
    """

    system: System
    servers: int
    law: str
    method: str
    value: tuple[Measured, Measured]
    blocking: Measured
    mean_time: Measured

    @property
    def none_seen(self) -> bool:
        """Whether the change of blocking is not significant."""
        return abs(self.blocking.value) <= ALLOWED * self.blocking.standard_error + EQUAL


def differences(results: Results, system: System) -> list[Difference]:
    """Compare every law with the exponential one."""
    return [
        _difference(results, system, servers, law)
        for servers in system.sizes(results.scale)
        for law in LAWS
    ]


def _difference(results: Results, system: System, servers: int, law: str) -> Difference:
    cell, base = (results[system.cell(servers, name)] for name in (law, REFERENCE))
    blocking, mean_time = (
        _relative(Measured(*cell[metric]), Measured(*base[metric]), same=law == REFERENCE)
        for metric in ("blocking", "mean_execution_time")
    )
    value = (Measured(*cell["blocking"]), Measured(*cell["mean_execution_time"]))
    return Difference(system, servers, law, cell["method"], value, blocking, mean_time)


def _relative(ours: Measured, base: Measured, *, same: bool) -> Measured:
    """Return the relative difference; for a number and itself, its own relative error."""
    error = ours.standard_error if same else math.hypot(ours.standard_error, base.standard_error)
    return Measured((ours.value - base.value) / base.value, error / base.value)


def publish(results: Results) -> Publication:
    """Show where insensitivity is exact and where it is approximate."""
    found = {system: differences(results, system) for system in SYSTEMS}
    every = [each for rows in found.values() for each in rows]
    places = {s: f"{s.words} ({s.curve} curve, load {s.load:g})" for s in SYSTEMS}
    figure = Drawing(
        "insensitivity",
        "Blocking of greedy(p*) with six size laws, relative to exponential sizes, in "
        f"four systems: {'; '.join(places.values())}. "
        "Bars are two standard errors; points without a bar are exact.",
        partial(_draw, found=found),
        size=(7.2, 5.6),
    )
    most = max(abs(each.blocking.value) for each in every if not each.none_seen)
    parts = [_INTRODUCTION.format(most=100.0 * most), figure.link]
    for system, rows in found.items():
        table = markdown_table(_HEADER, [_line(each) for each in rows])
        parts += [f"## {system.words.capitalize()}", _finding(rows), table]
    return Publication(
        tables={"insensitivity": [_row(each) for each in every]},
        page="\n\n".join(parts),
        findings=[f"Insensitivity, {places[s]}: {_finding(rows)}" for s, rows in found.items()],
        drawings=[figure],
    )


def _row(each: Difference) -> Row:
    return {
        "system": each.system.words,
        "curve": each.system.curve,
        "load": each.system.load,
        "servers": each.servers,
        "size_law": str(LAWS[each.law]),
        "method": each.method,
        "blocking": each.value[0].value,
        "blocking_standard_error": each.value[0].standard_error,
        "mean_execution_time": each.value[1].value,
        "mean_execution_time_standard_error": each.value[1].standard_error,
        "blocking_relative_difference": each.blocking.value,
        "blocking_relative_difference_standard_error": each.blocking.standard_error,
        "mean_time_relative_difference": each.mean_time.value,
        "mean_time_relative_difference_standard_error": each.mean_time.standard_error,
    }


_INTRODUCTION: Final = """\
The paper's table suggests that greedy(p*) depends on the size law only through its mean.
This is exact in one case: if every job gets the same width and it divides n, the system is
M/G/c/c and blocking is Erlang's formula for every law. With servers left over, or with two
widths, jobs are granted what is idle, and there is no product form. Exact answers on small systems
show the effect: blocking changes by up to {most:.1f} % of its value in the systems below. Changes
are relative to exponential sizes; ± is one standard error, and numbers without it are exact."""
_HEADER: Final = ("n", "sizes", "method", "blocking", "change", "mean execution time", "change")


def _line(each: Difference) -> list[str]:
    blocking, mean_time = each.value
    found = "simulation" if each.method == "simulate" else each.method
    return [
        str(each.servers),
        str(LAWS[each.law]),
        found,
        str(blocking),
        each.blocking.percent,
        str(mean_time),
        each.mean_time.percent,
    ]


def _finding(rows: list[Difference]) -> str:
    exact = [each for each in rows if each.blocking.standard_error == 0.0]
    seen = [each for each in rows if not each.none_seen]
    if not seen:
        return (
            f"The size law does not change blocking: {len(exact)} of {len(rows)} answers are exact "
            f"and equal within a relative error of "
            f"{max(abs(e.blocking.value) for e in exact):.0e}, the others within {ALLOWED:g} "
            f"standard errors."
        )
    most = max(seen, key=lambda each: abs(each.blocking.value))
    return (
        f"{len(seen)} of {len(rows)} answers differ significantly from exponential sizes; "
        f"the largest difference is {most.blocking.percent} (n = {most.servers}, {most.law})."
    )


_STEP: Final = 0.22


def _draw(figure: Figure, found: dict[System, list[Difference]]) -> None:
    """Draw a panel for each system: relative difference of blocking by law."""
    axes = figure.subplots(2, 2, sharex=True, sharey=True).ravel()
    for ax, (system, rows) in zip(axes, found.items(), strict=True):
        _draw_system(ax, rows)
        ax.set_title(system.words, size=9)
    for ax in axes[2:]:
        ax.set_xticks(range(len(LAWS)), list(LAWS), rotation=35, ha="right", size=8)
    figure.supylabel("blocking relative to exponential sizes (%)", size=9)


def _draw_system(axes: Axes, differences: list[Difference]) -> None:
    axes.axhline(0.0, color=GREY, lw=0.8)
    sizes = sorted({each.servers for each in differences})
    for k, servers in enumerate(sizes):
        rows = [each for each in differences if each.servers == servers]
        axes.errorbar(
            [list(LAWS).index(each.law) + (k - (len(sizes) - 1) / 2) * _STEP for each in rows],
            [100.0 * each.blocking.value for each in rows],
            yerr=[200.0 * each.blocking.standard_error for each in rows],
            fmt=MARKERS[k],
            color=COLOURS[k],
            ms=4,
            lw=1,
            capsize=2,
            label=f"n = {servers}",
        )
    axes.legend(loc="upper left", ncols=len(sizes), columnspacing=1.0, handletextpad=0.3)
    axes.margins(y=0.2)


EXPERIMENT: Final = Experiment("insensitivity", "Insensitivity to the size law", cells, publish)
