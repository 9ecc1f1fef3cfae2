"""Figures of a plan: performance against servers and load, other policies, sensitivity."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from moldable.model.units import unit_in_heading
from moldable.model.workload import JobClass
from moldable.planning.goal import TIMES
from moldable.planning.result import Plan
from moldable.planning.series import Series
from moldable.reporting.figures import BLUE, GREEN, GREY, VERMILION
from moldable.reporting.html.document import Figure, Panel
from moldable.reporting.html.svg import COLOURS, INK, MARKERS, panel, short
from moldable.system.estimate import Estimate
from moldable.system.performance import ClassPerformance, Performance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Measure = Callable[[Performance], Estimate]
MOST_CLASSES: Final = 6
"""Classes that are drawn, those with the most work."""
MOST_LABELS: Final = 10
FEWEST_BARS: Final = 5
"""Bars for which there is room at least."""
FAR: Final = 4.0
"""Values beyond this multiple of the recommended policy's largest are cut off."""


def measures(answer: Plan) -> tuple[tuple[str, Measure], tuple[str, Measure]]:
    """Return the two figures that are drawn: blocking or wait, then execution or response time."""
    unit = unit_in_heading(answer.time_unit)
    response = (f"mean response time{unit}", _response)
    if not answer.scenario.waiting:
        return ("blocking probability", _blocking), (f"mean execution time{unit}", _execution)
    if math.isfinite(answer.scenario.waiting):
        return ("blocking probability", _blocking), response
    return (f"mean wait{unit}", _wait), response


def _blocking(found: Performance) -> Estimate:
    return found.blocking


def _execution(found: Performance) -> Estimate:
    return found.mean_execution_time


def _response(found: Performance) -> Estimate:
    assert found.queueing is not None  # noqa: S101 - only drawn with waiting places
    return found.queueing.mean_response_time


def _wait(found: Performance) -> Estimate:
    assert found.queueing is not None  # noqa: S101 - only drawn with waiting places
    return found.queueing.mean_wait


def drawn_classes(answer: Plan) -> list[tuple[JobClass, ClassPerformance]]:
    """Return the classes with the most work, in their order."""
    pairs = list(zip(answer.scenario.workload.classes, answer.performance.classes, strict=True))
    most = sorted(pairs, key=lambda pair: -pair[0].offered)[:MOST_CLASSES]
    return [pair for pair in pairs if pair in most]


def series_figure(answer: Plan, series: Series) -> Figure:
    """Draw the two main figures of all policies against servers or load."""
    own = answer.scenario.servers if series.quantity == "servers" else answer.scenario.load

    def drawing(name: str, of: Measure) -> Panel:
        def draw(axes: Axes) -> None:
            first = next(iter(series.policies.values()))
            known = [of(one).value for one in first if one is not None]
            most = max(known, default=math.inf)
            for (policy, answers), colour, mark in zip(
                series.policies.items(), COLOURS, MARKERS, strict=False
            ):
                pairs = [
                    (x, of(one).value)
                    for x, one in zip(series.points, answers, strict=True)
                    if one is not None
                ]
                if pairs:
                    axes.plot(
                        *zip(*pairs, strict=True), f"-{mark}", color=colour, label=short(policy)
                    )
            axes.axvline(own, color=GREY, lw=1, ls=":")
            limit = _limit(answer, of)
            if limit is not None:
                axes.axhline(limit, color=GREY, lw=1, ls="--", label="target")
                most = max(most, limit)
            top = axes.get_ylim()[1]
            if math.isfinite(most) and top > FAR * most > 0.0:
                top = FAR * most
            axes.set_ylim(0.0, max(top, 1.1 * (limit or 0.0)))
            axes.set(xlabel=series.quantity, ylabel=name)
            axes.legend()

        alt = f"{name.capitalize()} of {len(series.policies)} policies against {series.quantity}."
        return panel(name.capitalize(), alt, draw)

    against = "number of servers" if series.quantity == "servers" else "load"
    first = next(iter(series.policies))
    kept = (
        "The recommended policy is kept as it is"
        if first == "recommended"
        else f"The {first} is computed anew for each number of servers"
    )
    return Figure(
        series.quantity,
        f"{_both(answer)} against the {against}. {kept}. The dotted line is the present cluster"
        f"{', the dashed line the target' if answer.goal.limited else ''}. "
        f"Points are missing where a policy cannot carry the load.",
        tuple(drawing(*measure) for measure in measures(answer)),
    )


def _both(answer: Plan) -> str:
    (first, _), (second, _) = measures(answer)
    return f"{first.partition(' (')[0].capitalize()} and {second.partition(' (')[0]}"


def _limit(answer: Plan, of: Measure) -> float | None:
    """Return the target if it limits this figure."""
    figures = {"max_blocking": _blocking, "max_wait": _wait, "max_response": _response}
    goal = answer.goal
    return goal.value if goal.name is not None and figures.get(goal.name) is of else None


def comparison_figure(answer: Plan) -> Figure:
    """Draw the recommended policy and the others, with intervals."""
    rows = [("recommended", answer.performance)]
    rows += [(a.name, a.performance) for a in answer.alternatives if a.performance is not None]
    rows.reverse()

    def drawing(name: str, of: Measure) -> Panel:
        def draw(axes: Axes) -> None:
            for k, (policy, found) in enumerate(rows):
                figure = of(found)
                ends = figure.interval or (figure.value, figure.value)
                colour = VERMILION if policy == "recommended" else BLUE
                axes.barh([k], [figure.value], 0.6, color=colour)
                axes.plot(ends, [k, k], "-", color=INK, lw=1.5)
            axes.set_yticks(range(len(rows)), [short(policy) for policy, _ in rows])
            limit = _limit(answer, of)
            if limit is not None:
                axes.axvline(limit, color=GREY, ls="--", lw=1, label="target")
                axes.legend()
            axes.set(xlabel=name)
            axes.grid(visible=False, axis="y")

        listed = "; ".join(f"{policy} {of(found).value:.3g}" for policy, found in rows[::-1])
        return panel(name.capitalize(), f"{name.capitalize()}: {listed}.", draw, 2.4)

    return Figure(
        "comparison",
        f"{_both(answer)} on the present cluster. Thin lines are 95 % confidence intervals; "
        f"shorter bars are better.",
        tuple(drawing(*measure) for measure in measures(answer)),
    )


def sensitivity_figure(answer: Plan) -> Figure:
    """Draw the figure that matters in every case of the sensitivity analysis."""
    goal, unit = answer.goal, unit_in_heading(answer.time_unit)
    name = goal.words + (unit if goal.name in TIMES or not goal.limited else "")
    cases = answer.sensitivity.cases[::-1]
    base = goal.figure(answer.performance).value

    def draw(axes: Axes) -> None:
        for k, case in enumerate(cases):
            for found, mark, face, label in (
                (case.performance, "o", VERMILION, "this policy"),
                (case.retuned, "o", "none", "re-tuned"),
            ):
                if found is not None:
                    value = goal.figure(found).value
                    axes.plot([value], [k], mark, color=VERMILION, mfc=face, ms=6, label=label)
        axes.axvline(base, color=GREY, ls=":", lw=1, label="as planned")
        if goal.limited:
            axes.axvline(goal.value, color=GREY, ls="--", lw=1, label="target")
        axes.set_yticks(range(len(cases)), [short(case.name) for case in cases])
        axes.set_xlim(left=0.0)
        axes.set(xlabel=name)
        handles, labels = axes.get_legend_handles_labels()
        shown = dict(zip(labels, handles, strict=True))  # each label once
        axes.legend(
            list(shown.values()),
            list(shown),
            loc="upper center",
            ncols=2,
            bbox_to_anchor=(0.4, -0.16),
        )

    alt = f"{name.capitalize()} in {len(cases)} cases; {base:.3g} as planned."
    height = 1.4 + 0.27 * len(cases)
    return Figure(
        "sensitivity",
        f"{goal.words.capitalize()} if the load, the curves, the arrivals or the sizes differ from "
        f"the plan's assumptions, or all widths are one step off. Filled: the recommended policy "
        f"as it is. Hollow: a policy tuned to the changed load. A case without a filled mark has a "
        f"queue that grows without limit.",
        (panel(name.capitalize(), alt, draw, height),),
    )


def widths_figure(answer: Plan) -> Figure:
    """Draw how many jobs get each width under the recommended policy."""

    def drawing(job_class: JobClass, found: ClassPerformance) -> Panel:
        shares = {w: s for w, s in sorted(found.width_shares.items()) if s > 0.0}

        def draw(axes: Axes) -> None:
            axes.bar(range(len(shares)), [100.0 * s for s in shares.values()], color=GREEN)
            names = [str(w) for w in shares]
            step = -(-len(names) // MOST_LABELS)
            axes.set_xticks(range(0, len(names), step), names[::step])
            axes.set_xlim(-0.6, max(len(names), FEWEST_BARS) - 0.4)
            axes.set(xlabel="width (servers)", ylabel="share of started jobs (%)")
            axes.grid(visible=False, axis="x")

        listed = ", ".join(f"{100 * s:.3g} % on {w}" for w, s in shares.items())
        return panel(short(job_class.name), f"Class {job_class.name}: {listed}.", draw, 2.4)

    return Figure(
        "widths",
        "Share of the jobs of each class that run on each number of servers under the recommended "
        "policy.",
        tuple(drawing(*pair) for pair in drawn_classes(answer)),
    )
