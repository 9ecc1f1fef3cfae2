"""Blocking and mean execution time of greedy(p*) and greedy against n.

The paper's first two figures show one sweep, from which most of the rates of convergence come, too:
a cell for each curve, regime and number of servers, with both policies. Every cell is exact, except
if greedy(p*) uses two widths above 1: its chain then has as many dimensions as widths, and is
solved for up to about a hundred servers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, final

from moldable import Greedy, Policy, Scenario, optimum
from moldable.exact import stationary_law
from moldable.results import Performance
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
from reproduction.settings import CURVES, REGIMES, SETTINGS, Setting

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

GREEDY_P, GREEDY = "greedy(p*)", "greedy"
POLICIES: Final = (GREEDY_P, GREEDY)
LINEAR, SUB_LINEAR = CURVES

# Most n are multiples of the largest width, 5; 33, 72, 333 and 7003 are not, so that narrower jobs
# sometimes use the remaining servers.
_SIZES: Final = (20, 33, 50, 72, 100, 200, 333, 500, 1000, 2000, 4000, 7003, 10_000, 20_000)
SIZES: Final = {Scale.TINY: (20, 33, 200), Scale.QUICK: _SIZES, Scale.FULL: _SIZES}
PRECISION: Final = {Scale.TINY: 0.05, Scale.QUICK: 0.02, Scale.FULL: 0.003}
WHOLE_CHAIN: Final = {Scale.TINY: 33, Scale.QUICK: 50, Scale.FULL: 100}
"""Servers up to which a chain in more than two dimensions is solved."""


def cells(scale: Scale) -> list[Cell]:
    """Return a cell for each setting and size."""
    return [
        Cell(key(setting, servers), partial(_compute, setting, servers, scale))
        for setting in SETTINGS
        for servers in SIZES[scale]
    ]


def key(setting: Setting, servers: int) -> str:
    """Return the key of a cell."""
    return f"sweep/{setting.key}-n={servers}"


def along(results: Results, setting: Setting, policy: str) -> list[Result]:
    """Return the results for a setting and a policy, by growing n."""
    return [results[key(setting, n)][policy] for n in SIZES[results.scale]]


def limit(setting: Setting, policy: str, servers: int) -> tuple[float, float]:
    """Return the limits of (blocking, mean execution time) at the load for this n.

    Greedy fills the cluster with jobs of the largest width if the load exceeds s_d/d.
    """
    load, curve = setting.load(servers), CURVES[setting.curve]
    if policy == GREEDY_P:
        return 0.0, optimum(curve, load).mean_execution_time
    widest = int(curve.widths[-1])
    fastest = curve[widest]
    return max(0.0, 1.0 - fastest / widest / load), 1.0 / fastest


def _compute(setting: Setting, servers: int, scale: Scale, effort: Effort) -> Result:
    scenario = setting.scenario(servers)
    policies: dict[str, Policy] = {GREEDY_P: setting.policy(servers), GREEDY: Greedy()}
    return {
        name: summary(setting, servers, name, *_exact_or_simulated(scenario, policy, scale, effort))
        for name, policy in policies.items()
    }


def _exact_or_simulated(
    scenario: Scenario, policy: Policy, scale: Scale, effort: Effort
) -> tuple[Performance, float | None]:
    """Return a performance, and E||x - y*|| if the stationary distribution is known."""
    curve, servers = scenario.workload.classes[0].speedup, scenario.servers
    solution = optimum(curve, scenario.load, servers=servers)
    mixes = policy.name != GREEDY and len(solution.support) > 1 and solution.i1 > 1
    if mixes and servers > WHOLE_CHAIN[scale]:
        return effort.simulate(scenario, policy, precision=PRECISION[scale]), None
    law = stationary_law(scenario, policy)
    return law.performance(), law.theory.distance


def summary(
    setting: Setting, servers: int, policy: str, found: Performance, distance: float | None
) -> Result:
    """Return a performance as plain JSON, with its limits."""
    blocking_limit, time_limit = limit(setting, policy, servers)
    whole = found.to_dict()
    names = ("blocking", "mean_execution_time")
    return {
        "servers": servers,
        "load": setting.load(servers),
        "policy": policy,
        "method": found.method,
        **{key: whole[key] for name in names for key in (name, f"{name}_interval")},
        "blocking_limit": blocking_limit,
        "mean_execution_time_limit": time_limit,
        "distance": distance,
        "arrivals": whole["arrivals"],
        "seed": whole["seed"],
    }


@final
@dataclass(frozen=True)
class Quantity:
    """A quantity that is shown against n.

    Args:
        name: of the estimate in a result.
        heading: of the table.
        label: of the axis.
        caption: of the figure.
        finding: a sentence on the values at the largest n and their limits, in braces.
    """

    name: str
    heading: str
    label: str
    caption: str
    finding: str

    def publish(self, results: Results, name: str) -> Publication:
        """Make the table, the figure and the page."""
        figure = Drawing(name, self.caption, partial(self._draw, results=results), size=(9.2, 4.9))
        table = _table(results, self.name)
        parts = (_how(results), figure.link, f"## {self.heading}", table, _remainder(results))
        regimes = [s for s in SETTINGS if s.curve == SUB_LINEAR]
        ours, greedy = ([along(results, s, p)[-1] for s in regimes] for p in POLICIES)
        finding = self.finding.format(
            n=ours[0]["servers"],
            ours=_each(ours, self.name),
            ours_limit=_each(ours, f"{self.name}_limit"),
            greedy=_each(greedy, self.name),
            greedy_limit=_each(greedy, f"{self.name}_limit"),
        )
        return Publication(
            tables={name: _rows(results, self.name)},
            page="\n\n".join(parts),
            findings=[finding],
            drawings=[figure],
        )

    def _draw(self, figure: Figure, results: Results) -> None:
        """Draw the linear curve on the left and the sub-linear one on the right."""
        left, right = figure.subplots(1, 2)
        for axes, curve in zip((left, right), CURVES, strict=True):
            for place, regime in enumerate(REGIMES):
                for policy in POLICIES if axes is right else (GREEDY_P,):
                    parts = along(results, Setting(curve, regime), policy)
                    self._series(axes, place, policy, parts)
            axes.set_xscale("log")
            axes.set_xlabel("servers n")
            axes.set_ylabel(self.label)
            if self.name == "blocking":
                axes.set_ylim(bottom=-0.01)
        left.set_title("linear speed-up: greedy is greedy(p*)")
        right.set_title("sub-linear speed-up 1, 1.8, 2.5, 3, 3.4")
        if self.name != "blocking":
            left.set_ylim(0.198, 0.214)  # otherwise rounding errors would fill the panel
        figure.legend(handles=_legend(left), loc="outside lower center", ncols=3)

    def _series(self, axes: Axes, place: int, policy: str, parts: list[Result]) -> None:
        colour, mixed = COLOURS[place], policy == GREEDY_P
        n = [part["servers"] for part in parts]
        axes.plot(n, [part[f"{self.name}_limit"] for part in parts], color=colour, ls=":", lw=1.2)
        draw_intervals(
            axes,
            parts,
            self.name,
            color=colour,
            marker=MARKERS[place],
            ms=5,
            mfc=colour if mixed else "white",
            ls="-" if mixed else "--",
            lw=1.0,
            capsize=2.5,
        )


def _legend(axes: Axes) -> list[Line2D]:
    regimes = legend_entries(
        axes,
        {
            _words(name): {"marker": MARKERS[k], "ls": "", "color": COLOURS[k]}
            for k, name in enumerate(REGIMES)
        },
    )
    black: dict[str, Any] = {"color": "k", "marker": "o"}
    lines = legend_entries(
        axes,
        {
            GREEDY_P: black,
            GREEDY: {**black, "ls": "--", "mfc": "white"},
            "limit at the load of n": {"color": "k", "ls": ":"},
        },
    )
    # The legend fills column by column.
    return [line for pair in zip(regimes, lines, strict=True) for line in pair]


def _words(name: str) -> str:
    regime = REGIMES[name]
    power = {0.0: "", 0.5: " $n^{-1/2}$"}.get(regime.alpha, " $n^{-2/3}$")
    return f"{name}: load 1 - {regime.beta:g}{power}"


def _each(parts: list[Result], name: str) -> str:
    return " / ".join(f"{part[name]:.4f}" for part in parts)


def _rows(results: Results, quantity: str) -> list[Row]:
    """Return all values with intervals and limits."""
    return [
        {
            "curve": setting.curve,
            "regime": setting.regime,
            "alpha": REGIMES[setting.regime].alpha,
            "beta": REGIMES[setting.regime].beta,
            "policy": part["policy"],
            "servers": part["servers"],
            "load": part["load"],
            "method": part["method"],
            quantity: part[quantity],
            "low": part[f"{quantity}_interval"][0],
            "high": part[f"{quantity}_interval"][1],
            "limit": part[f"{quantity}_limit"],
        }
        for setting in SETTINGS
        for policy in POLICIES
        for part in along(results, setting, policy)
    ]


def _how(results: Results) -> str:
    """Describe how the numbers were computed."""
    parts = [part for s in SETTINGS for policy in POLICIES for part in along(results, s, policy)]
    simulated = [part for part in parts if part["method"] == "simulate"]
    sizes = SIZES[results.scale]
    text = (
        f"{len(sizes)} values of n from {sizes[0]:,} to {sizes[-1]:,}, exponential sizes. "
        f"{len(parts) - len(simulated)} of {len(parts)} points are exact."
    )
    if not simulated:
        return text
    arrivals = sum(part["arrivals"] for part in simulated)
    return (
        f"{text} The other {len(simulated)}, greedy(p*) with widths 3 and 4 from "
        f"n = {simulated[0]['servers']} on, come from {arrivals / 1e6:,.0f} million simulated "
        f"arrivals in total; their 95 % intervals are shown."
    )


def _table(results: Results, quantity: str) -> str:
    """Return a few sizes of every setting and policy, with the limit."""
    sizes = SIZES[results.scale]
    shown = sorted({0, len(sizes) // 3, 2 * len(sizes) // 3, len(sizes) - 1})
    header = ["setting", "policy", *(f"n = {sizes[k]:,}" for k in shown), "limit at the last n"]
    body = []
    for setting in SETTINGS:
        for policy in POLICIES:
            parts = along(results, setting, policy)
            values = [estimate(parts[k], quantity) for k in shown]
            last = f"{parts[-1][f'{quantity}_limit']:.6g}"
            body.append([setting.words, policy, *values, last])
    return markdown_table(header, body)


def _remainder(results: Results) -> str:
    """Describe the effect if the largest width does not divide n."""
    widest = int(CURVES[LINEAR].widths[-1])
    odd = [n for n in SIZES[results.scale] if n % widest]
    part = results[key(Setting(LINEAR, "Halfin-Whitt"), odd[0])][GREEDY_P]
    return (
        f"Where {widest} does not divide n ({', '.join(f'{n:,}' for n in odd)}) the remaining "
        f"servers are granted to one narrower job at a time. On the linear curve, Halfin-Whitt, "
        f"n = {odd[0]}, this increases the mean execution time from "
        f"{part['mean_execution_time_limit']:g}, its exact value at every multiple, to "
        f"{estimate(part, 'mean_execution_time')}."
    )


_BARS: Final = "Bars are 95 % intervals, mostly smaller than the markers. Dotted: the limits,"
_BLOCKING: Final = Quantity(
    "blocking",
    "Blocking probability",
    "blocking probability",
    f"Blocking probability against the number of servers. {_BARS} 0 for greedy(p*) and "
    "1 - (s_d/d)/load for greedy on the sub-linear curve.",
    "The blocking probability of greedy(p*) converges to 0, as the paper proves, but slowly. On "
    "the sub-linear curve at n = {n:,} it is {ours} (mean-field, Halfin-Whitt, "
    "super-Halfin-Whitt). That of greedy is {greedy}, close to its limits {greedy_limit}.",
)
_TIME: Final = Quantity(
    "mean_execution_time",
    "Mean execution time, in mean sizes",
    "mean execution time (mean sizes)",
    f"Mean execution time of accepted jobs against the number of servers. {_BARS} D* at the load "
    "of n for greedy(p*) and 1/s_d for greedy.",
    "The mean execution time of greedy(p*) on the sub-linear curve at n = {n:,} is {ours}, and the "
    "optimum D* is {ours_limit}. Greedy is faster, {greedy}, but blocks more jobs.",
)
BLOCKING: Final = Experiment(
    "blocking",
    "Blocking probability against the number of servers",
    cells,
    partial(_BLOCKING.publish, name="blocking"),
)
TIME: Final = Experiment(
    "time",
    "Mean execution time against the number of servers",
    cells,
    partial(_TIME.publish, name="time"),
)
