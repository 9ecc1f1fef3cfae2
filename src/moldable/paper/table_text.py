"""What does the comparison with the paper's table come to, in words?"""

from __future__ import annotations

from collections import Counter
from typing import Final

from moldable.errors import shortened
from moldable.paper import markdown
from moldable.paper.settings import LAWS, METRICS, SETTINGS, TABLE_RUNS
from moldable.paper.table_cells import Size
from moldable.paper.table_compared import Compared
from moldable.paper.verdict import ALLOWED, Verdict, stretched

NAMES: Final = {"mean_execution_time": "Mean execution time", "blocking": "Blocking probability"}

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


def report(compared: list[Compared], size: Size, horizon: float) -> str:
    """Write the page, without its figure."""
    method = _METHOD.format(
        servers=size.servers,
        runs=size.runs,
        arrivals=size.arrivals,
        replications=size.replications,
        counted=size.counted,
        allowed=ALLOWED,
        paper_runs=TABLE_RUNS,
        stretched=stretched(size.runs),
    )
    parts = [method]
    for metric in METRICS:
        parts += [f"## {NAMES[metric]}", _table([e for e in compared if e.metric == metric])]
    return "\n\n".join([*parts, _WHY.format(horizon=horizon)])


def _table(rows: list[Compared]) -> str:
    header = ["setting", "sizes", "printed", "by the paper's method"]
    header += ["predicted", "done right", "verdict"]
    return markdown.table(header, [_line(each) for each in rows])


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


def overview(compared: list[Compared]) -> str:
    """Return the table in the paper's own shape, with ours below each printed number."""
    parts = [_OVERVIEW]
    for metric in METRICS:
        rows = [
            [setting.words, *(_three(e) for e in compared if (e.setting, e.metric) == place)]
            for setting in SETTINGS
            for place in [(setting, metric)]
        ]
        parts.append(markdown.table([NAMES[metric], *LAWS], rows))
    return "\n\n".join(parts)


def _three(each: Compared) -> str:
    text = f"{each.printed} / {each.by_method.value:.4f} / {each.right.value:.4f}"
    marks = {Verdict.AGREES: "", Verdict.BY_METHOD: "*", Verdict.DISAGREES: "**"}
    mark = marks[each.verdict]
    return f"{mark}{text}{mark}"


def findings(compared: list[Compared], size: Size) -> list[str]:
    """Count the verdicts, and say which numbers are behind them."""
    counts = Counter(each.verdict for each in compared)
    verdicts = ", ".join(f"{counts[v]} {v.replace('agrees', 'agree')}" for v in Verdict)
    worst = max(compared, key=lambda each: each.method_deviation)
    reached = sum(each.method_deviation <= ALLOWED for each in compared)
    exact = [each for each in compared if each.method != "simulate"]
    met = sum(each.simulation_holds for each in exact)
    furthest = f"{NAMES[worst.metric].lower()} with {worst.law} sizes ({worst.setting.words})"
    by_method = (
        f"By the paper's own method ({size.runs} runs of {size.arrivals:,} arrivals) {reached} of "
        f"{len(compared)} agree; the furthest, {furthest}, takes "
        f"{worst.method_deviation:.1f} of the {ALLOWED:g} standard errors allowed beyond rounding "
        f"(Student's law)."
    )
    check = (
        f"Where an exact answer is known, our simulations from equilibrium meet it within "
        f"{ALLOWED:g} standard errors in {met} of {len(exact)} numbers."
    )
    counted = f"Table 1, {len(compared)} numbers: {verdicts}."
    return [counted, by_method, check, *_disagreements(compared)]


def _disagreements(compared: list[Compared]) -> list[str]:
    found = [
        f"{NAMES[each.metric].lower()} with {each.law} sizes ({each.setting.words}) is printed "
        f"{each.printed}, ours {each.by_method} by the same method, {each.right} done right"
        for each in compared
        if each.verdict is Verdict.DISAGREES
    ]
    return [f"Disagreements: {shortened(found)}."] if found else []
