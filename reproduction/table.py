"""Table 1 of the paper: which numbers agree, and why the others do not."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from reproduction.experiment import Drawing, Experiment, Publication, Results, Row
from reproduction.presentation import BLACK, BLUE, GREY, VERMILION, markdown_table
from reproduction.settings import HALF_A_DIGIT, LAWS, METRICS, REGIMES, SETTINGS, TABLE_RUNS
from reproduction.table_cells import NAMES, SIZES, Compared, Size, cells, compared
from reproduction.verdict import ALLOWED, Verdict, stretched

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def publish(results: Results) -> Publication:
    """Compare every number, and summarise."""
    size, every = SIZES[results.scale], compared(results)
    figure = Drawing(
        "table",
        "The numbers of Table 1 as differences from the unbiased values: as printed, as computed "
        "here by the paper's method, and as predicted from the bias of this method.",
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


_HEADER: Final = (
    *("setting", "sizes", "printed", "by the paper's method"),
    *("predicted", "unbiased", "verdict"),
)

_METHOD: Final = """\
**Printed** is the number in the paper. **By the paper's method** is our number by the same method:
{servers:,} servers, {runs} runs of {arrivals:,} arrivals from an empty cluster, averaging the
execution times of jobs that finished before the last arrival; ± is one standard error.
**Predicted** is the expected result of that method: the unbiased value plus the bias derived below.
**Unbiased** is exact if no error is shown, and otherwise simulated from equilibrium
({replications} replications of {counted:,} arrivals, execution times counted at the arrival).

A printed number *agrees* if it is within its rounding (half a unit of the fourth decimal) and
{allowed:g} combined standard errors of our unbiased value. The paper does not state its errors;
those of {paper_runs} runs are estimated from the spread of ours. Because this spread is estimated
from {runs} runs, {stretched:.2f} times as much is allowed (Student's t distribution), which has the
same probability as {allowed:g} known standard errors."""

_WHY: Final = """\
## Why the paper's method is biased

A run ends at its last arrival, at about T = {horizon:.0f} mean sizes. A job that arrives at
u is counted only if it lasts at most T - u, so the average converges to E[D (1 - D/T)+] / E[(1 -
D/T)+], which is about E[D] - Var(D)/T: no bias for constant sizes, -1/T for exponential sizes on
one server. Pareto sizes with shape 3/2 have no variance, and their bias is of order T^(-1/2).

Blocking is too low because the cluster fills slowly: at time t it has only the load times
G(t) = E[min(D, t)]/E[D]. For Pareto sizes 1 - G(t) decreases like t^(-1/2), so even at the end of a
run more than one per cent of the load is missing. The prediction assumes that the system is in
equilibrium under its current load, with the response to a missing load computed for
exponential sizes. Neither effect is a property of the policy: from an equilibrium start, Pareto
sizes give the same results as the others, within the errors shown."""

_OVERVIEW: Final = """\
Each cell: printed in the paper / computed here by the paper's method / computed here without bias.
Numbers that agree by the paper's method only are in italics, numbers that disagree in bold."""


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
    """Return the table in the layout of the paper, with our numbers next to each printed one."""
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
    """Return the counts of the verdicts, and the numbers that disagree."""
    counts = Counter(each.verdict for each in compared)
    verdicts = ", ".join(f"{counts[v]} {v.replace('agrees', 'agree')}" for v in Verdict)
    worst = max(compared, key=lambda each: each.method_deviation)
    reached = sum(each.method_deviation <= ALLOWED for each in compared)
    exact = [each for each in compared if each.method != "simulate"]
    met = sum(each.simulation_holds for each in exact)
    found = [
        f"Table 1, {len(compared)} numbers: {verdicts}.",
        (
            f"By the paper's method ({size.runs} runs of {size.arrivals:,} arrivals) {reached} "
            f"of {len(compared)} numbers agree. The largest deviation beyond rounding is "
            f"{worst.method_deviation:.1f} standard errors ({worst.words}); {ALLOWED:g} are "
            f"allowed (Student's t distribution)."
        ),
        (
            f"Simulations started in equilibrium agree with the exact value within {ALLOWED:g} "
            f"standard errors for {met} of the {len(exact)} numbers whose exact value is known."
        ),
    ]
    wrong = [
        f"{each.words} is {each.printed} in the paper, {each.by_method} here by the same method, "
        f"{each.right} without bias"
        for each in compared
        if each.verdict is Verdict.DISAGREES
    ]
    if len(wrong) > MOST_NAMED:
        wrong[MOST_NAMED - 2 : -1] = ["..."]
    return [*found, f"Disagreements: {', '.join(wrong)}."] if wrong else found


MOST_NAMED: Final = 12
"""Largest number of disagreements that are listed."""
_TITLES: Final = {
    "mean_execution_time": "mean execution time (mean sizes)",
    "blocking": "blocking probability",
}
_TICKS: Final = (-1e-2, -1e-3, 0.0, 1e-3)
_LINEAR: Final = 4e-4
"""Differences up to this have a linear scale, larger ones a logarithmic one."""


def _draw(figure: Figure, compared: list[Compared]) -> None:
    """Draw every number as its difference from our unbiased value."""
    axes = figure.subplots(1, len(METRICS), sharey=True)
    for ax, metric in zip(axes, METRICS, strict=True):
        rows = [each for each in compared if each.metric == metric]
        _draw_metric(ax, rows)
        ax.set_title(_TITLES[metric], size=9)
    axes[0].set_yticks(range(len(rows)), [f"{e.setting.words}: {e.law}" for e in rows], size=7.5)
    axes[0].invert_yaxis()
    figure.supxlabel("difference from the unbiased value (logarithmic beyond 0.0004)", size=9)
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


EXPERIMENT: Final = Experiment("table", "Table 1: four size laws", cells, publish)
