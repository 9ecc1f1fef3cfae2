"""Table 1 of the paper: whether every number agrees, and if not, why.

Each cell of the table is computed twice. By the paper's method: an empty start, 5 million arrivals
a run, and the mean execution time of the jobs that finish before the last arrival. And done right:
exactly where an exact answer is known, by simulation from equilibrium otherwise (and there too, as
a check).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, final

import numpy as np

from moldable import Performance, Workload, evaluate, stationary_law
from reproduction.bias import DEFICITS, Response, predict
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
from reproduction.presentation import BLACK, BLUE, GREY, VERMILION, markdown_table
from reproduction.settings import (
    CURVES,
    HALF_A_DIGIT,
    LAWS,
    METRICS,
    REGIMES,
    SETTINGS,
    TABLE_ARRIVALS,
    TABLE_RUNS,
    TABLE_SERVERS,
    Setting,
    printed,
)
from reproduction.verdict import ALLOWED, Measured, Verdict, deviation, judge, stretched

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@final
@dataclass(frozen=True)
class Size:
    """How much work the table takes.

    Attributes:
        servers: of the cluster.
        runs: by the paper's method, for each cell.
        arrivals: of each such run; the bias depends on it.
        replications: of simulations done right.
        counted: arrivals of each replication.
    """

    servers: int
    runs: int
    arrivals: int
    replications: int
    counted: int

    def right(self, effort: Effort, workload: Workload, setting: Setting) -> Performance:
        """Simulate from equilibrium."""
        return effort.simulate(
            workload,
            self.servers,
            setting.policy(self.servers),
            jobs=self.counted,
            replications=self.replications,
            warmup=WARMUP,
        )

    def horizon(self, setting: Setting) -> float:
        """Return when a run by the paper's method ends, in mean sizes."""
        return self.arrivals / (self.servers * setting.load(self.servers))


SIZES: Final = {
    Scale.TINY: Size(100, 8, 20_000, 8, 10_000),
    Scale.QUICK: Size(TABLE_SERVERS, 8, TABLE_ARRIVALS, 48, 200_000),
    Scale.FULL: Size(TABLE_SERVERS, TABLE_RUNS, TABLE_ARRIVALS, 1000, 250_000),
}
WARMUP: Final = 10.0
"""Mean sizes that simulations done right leave out: their start is equilibrium but for packing."""


def cells(scale: Scale) -> list[Cell]:
    """List the work: both ways for each cell, and each setting's response to a missing load."""
    size = SIZES[scale]
    found = []
    for setting in SETTINGS:
        found.append(Cell(f"response/{setting.key}", partial(_response, size, setting)))
        for law in LAWS:
            name = f"{setting.key}-{law}"
            found.append(Cell(f"method/{name}", partial(_by_method, size, setting, law)))
            found.append(Cell(f"right/{name}", partial(_done_right, size, setting, law)))
    return found


def _by_method(size: Size, setting: Setting, law: str, effort: Effort) -> Result:
    runs = effort.runs(
        size.runs,
        setting.workload(size.servers, LAWS[law]),
        size.servers,
        setting.policy(size.servers),
        jobs=size.arrivals,
        start="empty",
        estimator="completed_only",
        warmup=0.0,
    )
    return {metric: [getattr(run, metric).value for run in runs] for metric in METRICS}


def _done_right(size: Size, setting: Setting, law: str, effort: Effort) -> Result:
    workload, policy = setting.workload(size.servers, LAWS[law]), setting.policy(size.servers)
    simulated, exact = size.right(effort, workload, setting), None
    if has_exact_answer(setting, law):
        exact = _plain(stationary_law(workload, size.servers, policy).performance())
    return {"simulated": _plain(simulated), "exact": exact}


def has_exact_answer(setting: Setting, law: str) -> bool:
    """Tell whether an exact answer can be had at the table's size.

    One width that divides n is an Erlang loss system, whatever the law. Two widths up to 2 are a
    chain of two dimensions; the widths 3 and 4 leave narrower ones over, which makes it four.
    """
    return setting.curve == "linear" or (law == "exponential" and setting.regime != "mean-field")


def _plain(answer: Performance) -> Result:
    measured = {metric: Measured.of_estimate(getattr(answer, metric)) for metric in METRICS}
    return {
        "method": answer.method,
        **{metric: [m.value, m.standard_error] for metric, m in measured.items()},
    }


def _response(size: Size, setting: Setting, effort: Effort) -> Result:
    policy, load = setting.policy(size.servers), setting.load(size.servers)
    points = []
    for deficit in DEFICITS:
        workload = Workload.single(CURVES[setting.curve], load * (1.0 - deficit), size.servers)
        if has_exact_answer(setting, "exponential"):
            answer = evaluate(workload, size.servers, policy)
        else:
            answer = size.right(effort, workload, setting)
        shares = {str(width): share for width, share in answer.width_shares.items()}
        points.append(
            {"deficit": deficit, "blocking": answer.blocking.value, "width_shares": shares}
        )
    return {"points": points}


@final
@dataclass(frozen=True)
class Compared:
    """One number of the table, with everything it is compared to.

    Attributes:
        setting: the row.
        law: the column.
        metric: which half of the table.
        printed: as it stands in the paper.
        by_method: ours by the paper's method.
        printed_error: the standard error that the paper's runs should have.
        right: ours done right.
        method: how: "closed-form", "chain" or "simulate".
        simulated: ours done right, simulated even where an exact answer is known.
        bias: of the paper's method, as predicted.
    """

    setting: Setting
    law: str
    metric: str
    printed: str
    by_method: Measured
    printed_error: float
    right: Measured
    method: str
    simulated: Measured
    bias: float

    @property
    def verdict(self) -> Verdict:
        """Whether the printed number agrees."""
        return judge(
            float(self.printed), self.printed_error, self.by_method, self.right, HALF_A_DIGIT
        )

    @property
    def method_deviation(self) -> float:
        """Standard errors between the printed number and ours by the same method."""
        return deviation(float(self.printed), self.printed_error, self.by_method, HALF_A_DIGIT)

    @property
    def simulation_holds(self) -> bool:
        """Whether the simulation done right meets the exact answer, where one is known."""
        return deviation(self.right.value, 0.0, self.simulated, HALF_A_DIGIT) <= ALLOWED

    @property
    def words(self) -> str:
        """Which number it is."""
        return f"{NAMES[self.metric].lower()} with {self.law} sizes ({self.setting.words})"


def compared(results: Results) -> list[Compared]:
    """Compare every number of the table, in its order."""
    return [each for metric in METRICS for each in _compared(results, metric)]


def _compared(results: Results, metric: str) -> Iterator[Compared]:
    size = SIZES[results.scale]
    for setting in SETTINGS:
        response = Response.read(results[f"response/{setting.key}"])
        for law in LAWS:
            name = f"{setting.key}-{law}"
            by_method = Measured.of_runs(results[f"method/{name}"][metric])
            answers = results[f"right/{name}"]
            best = answers["exact"] or answers["simulated"]
            bias = predict(response, CURVES[setting.curve], LAWS[law], size.horizon(setting))
            yield Compared(
                setting,
                law,
                metric,
                printed(setting, law, metric),
                by_method,
                by_method.rescaled(size.runs, TABLE_RUNS),
                Measured(*best[metric]),
                best["method"],
                Measured(*answers["simulated"][metric]),
                getattr(bias, metric),
            )


def publish(results: Results) -> Publication:
    """Compare every number, and say what that comes to."""
    size, every = SIZES[results.scale], compared(results)
    figure = Drawing(
        "table",
        "The numbers of Table 1 as differences from the values done right: as printed, as we "
        "get them by the paper's method, and as that method's bias predicts them.",
        partial(_draw, compared=every),
        size=(7.2, 6.6),
    )
    method = _METHOD.format(
        **vars(size), allowed=ALLOWED, paper_runs=TABLE_RUNS, stretched=stretched(size.runs)
    )
    parts = [figure.link, method]
    for metric in METRICS:
        lines = [_line(each) for each in every if each.metric == metric]
        parts += [f"## {NAMES[metric]}", markdown_table(_HEADER, lines)]
    parts.append(_WHY.format(horizon=size.horizon(SETTINGS[-1])))
    return Publication(
        tables={"table": [_row(each, size) for each in every]},
        page="\n\n".join(parts),
        findings=_findings(every, size),
        drawings=[figure],
        overview=_overview(every),
    )


def _row(each: Compared, size: Size) -> Row:
    regime = REGIMES[each.setting.regime]
    return {
        "metric": each.metric,
        "curve": each.setting.curve,
        "alpha": regime.alpha,
        "beta": regime.beta,
        "servers": size.servers,
        "size_law": each.law,
        "printed": each.printed,
        "printed_standard_error_estimated": each.printed_error,
        "paper_method": each.by_method.value,
        "paper_method_standard_error": each.by_method.standard_error,
        "paper_method_runs": size.runs,
        "paper_method_arrivals_per_run": size.arrivals,
        "paper_method_bias_predicted": each.bias,
        "paper_method_predicted": each.right.value + each.bias,
        "done_right": each.right.value,
        "done_right_standard_error": each.right.standard_error,
        "done_right_method": each.method,
        "simulated_from_equilibrium": each.simulated.value,
        "simulated_standard_error": each.simulated.standard_error,
        "verdict": each.verdict.value,
    }


NAMES: Final = {"mean_execution_time": "Mean execution time", "blocking": "Blocking probability"}
_HEADER: Final = (
    *("setting", "sizes", "printed", "by the paper's method"),
    *("predicted", "done right", "verdict"),
)

_METHOD: Final = """\
**Printed** is what stands in the paper. **By the paper's method** is ours the way the paper did it:
{servers:,} servers, {runs} runs of {arrivals:,} arrivals from an empty cluster, averaging the
execution times of jobs that finished before the last arrival; ± is one standard error.
**Predicted** is what that method should give: the value done right plus the bias worked out below.
**Done right** is exact where no error is shown, and otherwise simulated from equilibrium
({replications} replications of {counted:,} arrivals, execution times booked when jobs are granted).

A printed number *agrees* if it is within its rounding (half a unit of the fourth decimal) and
{allowed:g} combined standard errors of ours done right. The paper does not state its errors; those
of {paper_runs} runs are estimated from the spread of ours. As that is known from {runs} runs only,
{stretched:.2f} times as much is allowed, which chance exceeds as rarely as {allowed:g} standard
errors that are known (Student's law)."""

_WHY: Final = """\
## Why the paper's method is off

A run ends at its last arrival, at time T = {horizon:.0f} mean sizes or so. A job that arrives at
u is counted only if it lasts at most T - u, so the average converges to E[D (1 - D/T)+] / E[(1 -
D/T)+], which is about E[D] - Var(D)/T: nothing for constant sizes, 1/T for exponential sizes on
one server. Pareto sizes with shape 3/2 have no variance, and lose of the order of T^(-1/2).

Blocking is too low because the cluster fills up: at time t it has its load times
G(t) = E[min(D, t)]/E[D] only. For Pareto sizes 1 - G(t) falls as t^(-1/2), so even at the end of a
run more than one per cent of the load is still missing. The prediction takes the system to be in
equilibrium under the load it has so far, with the response to a missing load computed for
exponential sizes. Neither effect says anything about the scheme: from an equilibrium start, Pareto
sizes give what the others give, within the errors shown."""

_OVERVIEW: Final = """\
Printed / ours by the same method / ours done right; numbers that agree by the paper's method only
are in italics, those that disagree in bold."""


def _line(each: Compared) -> list[str]:
    verdict = str(each.verdict)
    return [
        each.setting.words,
        each.law,
        each.printed,
        str(each.by_method),
        f"{each.right.value + each.bias:.5f}",
        str(each.right),
        verdict if each.verdict is Verdict.AGREES else f"**{verdict}**, bias {each.bias:+.5f}",
    ]


def _overview(compared: list[Compared]) -> str:
    """Return the table in the paper's own shape, with ours below each printed number."""
    parts = [_OVERVIEW]
    for metric in METRICS:
        rows = [
            [s.words, *(_three(e) for e in compared if (e.setting, e.metric) == (s, metric))]
            for s in SETTINGS
        ]
        parts.append(markdown_table([NAMES[metric], *LAWS], rows))
    return "\n\n".join(parts)


def _three(each: Compared) -> str:
    text = f"{each.printed} / {each.by_method.value:.4f} / {each.right.value:.4f}"
    marks = {Verdict.AGREES: "", Verdict.BY_METHOD: "*", Verdict.DISAGREES: "**"}
    mark = marks[each.verdict]
    return f"{mark}{text}{mark}"


def _findings(compared: list[Compared], size: Size) -> list[str]:
    """Count the verdicts, and say which numbers are behind them."""
    counts = Counter(each.verdict for each in compared)
    verdicts = ", ".join(f"{counts[v]} {v.replace('agrees', 'agree')}" for v in Verdict)
    worst = max(compared, key=lambda each: each.method_deviation)
    reached = sum(each.method_deviation <= ALLOWED for each in compared)
    exact = [each for each in compared if each.method != "simulate"]
    met = sum(each.simulation_holds for each in exact)
    found = [
        f"Table 1, {len(compared)} numbers: {verdicts}.",
        (
            f"By the paper's own method ({size.runs} runs of {size.arrivals:,} arrivals) {reached} "
            f"of {len(compared)} agree; the furthest, {worst.words}, takes "
            f"{worst.method_deviation:.1f} of the {ALLOWED:g} standard errors allowed beyond "
            f"rounding (Student's law)."
        ),
        (
            f"Where an exact answer is known, our simulations from equilibrium meet it within "
            f"{ALLOWED:g} standard errors in {met} of {len(exact)} numbers."
        ),
    ]
    wrong = [
        f"{each.words} is printed {each.printed}, ours {each.by_method} by the same method, "
        f"{each.right} done right"
        for each in compared
        if each.verdict is Verdict.DISAGREES
    ]
    if len(wrong) > MOST_NAMED:
        wrong[MOST_NAMED - 2 : -1] = ["..."]
    return [*found, f"Disagreements: {', '.join(wrong)}."] if wrong else found


MOST_NAMED: Final = 12
"""Disagreements that are named one by one."""
_TITLES: Final = {
    "mean_execution_time": "mean execution time (mean sizes)",
    "blocking": "blocking probability",
}
_TICKS: Final = (-1e-2, -1e-3, 0.0, 1e-3)
_LINEAR: Final = 4e-4
"""Differences up to this are drawn to scale, larger ones by their logarithm."""


def _draw(figure: Figure, compared: list[Compared]) -> None:
    """Draw every number as its difference from ours done right."""
    axes = figure.subplots(1, len(METRICS), sharey=True)
    for ax, metric in zip(axes, METRICS, strict=True):
        rows = [each for each in compared if each.metric == metric]
        _draw_metric(ax, rows)
        ax.set_title(_TITLES[metric], size=9)
    axes[0].set_yticks(range(len(rows)), [f"{e.setting.words}: {e.law}" for e in rows], size=7.5)
    axes[0].invert_yaxis()
    figure.supxlabel("difference from the value done right (logarithmic beyond 0.0004)", size=9)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2)


def _draw_metric(axes: Axes, rows: list[Compared]) -> None:
    places = np.arange(len(rows), dtype=float)
    axes.axvspan(-HALF_A_DIGIT, HALF_A_DIGIT, color="0.88", label="rounding of the printed digits")
    axes.plot(
        [float(each.printed) - each.right.value for each in rows],
        places - 0.2,
        "s",
        mfc="none",
        color=VERMILION,
        ms=5,
        label="printed in the paper",
    )
    axes.errorbar(
        [each.by_method.value - each.right.value for each in rows],
        places + 0.15,
        xerr=[2.0 * np.hypot(e.by_method.standard_error, e.right.standard_error) for e in rows],
        fmt="o",
        color=BLUE,
        ms=3.5,
        lw=1,
        label="ours by the paper's method, with two standard errors",
    )
    axes.plot(
        [each.bias for each in rows],
        places + 0.15,
        "|",
        color=BLACK,
        ms=11,
        mew=1.4,
        label="the method's bias as predicted",
    )
    axes.set_xscale("symlog", linthresh=_LINEAR)
    axes.set_xlim(-0.06, 0.004)
    axes.set_xticks(_TICKS, [f"{tick:g}" for tick in _TICKS], size=7.5)
    axes.minorticks_off()
    for k in range(0, len(rows) + 1, 4):
        axes.axhline(k - 0.5, color=GREY, lw=0.5)
    axes.set_ylim(-0.5, len(rows) - 0.5)
    axes.grid(axis="x", color="0.9", lw=0.6)
    axes.set_axisbelow(True)


EXPERIMENT: Final = Experiment("table", "Table 1: four laws of job sizes", cells, publish)
