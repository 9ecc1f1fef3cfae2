"""What the noise of measured curves does to a plan.

A curve whose widths were measured several times has a known noise. Curves are resampled from it,
and on each the decisions are computed anew and compared with those on the measured curves, and the
recommended policy is evaluated although the curves differ. Sizes on one server stay the same.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final, final

import numpy as np

from moldable.allocation.division import reserve
from moldable.arrays import Floats, Ints
from moldable.errors import InfeasibleError, MoldableError
from moldable.fitting.measurements import MOST_WIDTHS, Measurements
from moldable.fitting.noise import Noise, estimated_noise, resampled_times
from moldable.model.scenario import Scenario
from moldable.model.speedup import SpeedUp
from moldable.planning.choice import Choice, Options
from moldable.planning.goal import BLOCKING_COST, Goal
from moldable.policies.policy import Policy
from moldable.policies.queue_value import queue_value_policy
from moldable.policies.value import value_policy
from moldable.simulation.plan import SEARCH, child_seed

RESAMPLES: Final = 400
"""Resampled curves for the optimal widths."""
EVALUATED: Final = 20
"""Resampled curves on which the recommended policy is evaluated."""
TABLES, QUEUE_TABLES = EVALUATED, 8
"""Those for which tables are computed. With waiting places one table takes a second."""
COARSER: Final = 5.0
"""The precision of these evaluations, relative to that of the plan. All use the same random
numbers, and so does one on the measured curves, to which they are related."""

Supports = Mapping[tuple[int, ...], float]


@final
@dataclass(frozen=True)
class UncertainRow:
    """The width granted with this many idle servers, and how often noise changes it.

    Attributes:
        least: lower end of the range of idle servers.
        most: upper end.
        width: on the measured curves; 0: none.
        shares: the share of resamples in which each width is granted.
    """

    least: int
    most: int
    width: int
    shares: Mapping[int, float]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, ready for JSON."""
        shares = {str(width): share for width, share in self.shares.items()}
        return {"idle": [self.least, self.most], "width": self.width, "shares": shares}


@final
@dataclass(frozen=True)
class NoisyClass:
    """The decisions for a class, and how often noise changes them.

    Attributes:
        job_class: name of the class.
        noise: relative standard deviation of a run; None if its curve has no repeats.
        support: the optimal widths on a large cluster; empty if it cannot carry the load.
        supports: the share of resamples in which each support is optimal, most frequent first.
        rows: the value policy's widths by idle servers; empty if it could not be computed.
    """

    job_class: str
    noise: float | None
    support: tuple[int, ...]
    supports: Supports
    rows: tuple[UncertainRow, ...]

    @property
    def kept(self) -> float:
        """The share of resamples with the same support."""
        return self.supports.get(self.support, 0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        return {
            "class": self.job_class,
            "noise": self.noise,
            "support": list(self.support),
            "supports": [
                {"widths": list(widths), "share": share} for widths, share in self.supports.items()
            ],
            "rows": [row.to_dict() for row in self.rows],
        }


@final
@dataclass(frozen=True)
class CurveNoise:
    """What the noise of measured curves does to a plan.

    Attributes:
        classes: all classes; noise in one curve may change the widths of others.
        infeasible: the share of resamples on which the cluster cannot carry the load.
        resamples: number of resampled curves for the supports.
        evaluated: number of those on which the recommended policy was evaluated.
        tables: number of those for which the value policy was computed.
        figures: the limited or minimised figure of the recommended policy on each of them,
            ascending; infinite where its queue grows.
        kept: the share of them on which the limit is kept; None without one.
        losses: by which share of its cost the recommended policy could be improved on each of them
            if the curve were known, ascending; empty where a limit on waiting is kept instead.
    """

    classes: tuple[NoisyClass, ...]
    infeasible: float
    resamples: int
    evaluated: int
    tables: int
    figures: tuple[float, ...]
    kept: float | None
    losses: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        return {
            "classes": [part.to_dict() for part in self.classes],
            "infeasible": self.infeasible,
            "resamples": self.resamples,
            "evaluated": self.evaluated,
            "tables": self.tables,
            "figures": [value if np.isfinite(value) else None for value in self.figures],
            "kept": self.kept,
            "losses": list(self.losses),
        }


def measured_noise(curve: SpeedUp) -> tuple[Measurements, Noise] | None:
    """Return the measurements behind a curve and their noise; None if no width was repeated."""
    if not curve.repeats or not 1 < len(curve) <= MOST_WIDTHS:
        return None
    measured = Measurements.of_curve(curve)
    return measured, estimated_noise(measured)


def curve_noise(
    scenario: Scenario, goal: Goal, choice: Choice, options: Options
) -> CurveNoise | None:
    """Resample the measured curves; None if no curve has repeats."""
    curves = [c.speedup.up_to(scenario.servers) for c in scenario.workload.classes]
    known = [measured_noise(curve) for curve in curves]
    if not any(known):
        return None
    options.report("resampling the measured curves")
    rng = np.random.default_rng(child_seed(options.seed, SEARCH, 1))
    others = list(_resampled(scenario, curves, known, rng))
    present = _supports(scenario) or [()] * len(curves)
    found = [_supports(other) for other in others]
    counts = [Counter(row[k] for row in found if row is not None) for k in range(len(curves))]
    reference = _table(scenario, goal, choice)
    tables: list[Policy] = []
    figures, losses = [], []
    planned = goal.figure(choice.performance).value
    here, _ = _evaluated(scenario, goal, choice, options, None)
    scale = planned / here if 0.0 < here < math.inf else 1.0
    computed = QUEUE_TABLES if scenario.waiting else TABLES
    for k, other in enumerate(others[:EVALUATED]):
        options.report(f"evaluating resampled curves ({k + 1} of {EVALUATED})")
        table = _table(other, goal, choice) if k < computed else None
        tables += [] if table is None else [table]
        figure, loss = _evaluated(other, goal, choice, options, table)
        figures.append(scale * figure)
        losses += [] if loss is None else [loss]
    classes = [
        NoisyClass(
            job_class.name,
            None if own is None else own[1].typical,
            present[k],
            {widths: number / RESAMPLES for widths, number in counts[k].most_common()},
            () if reference is None or not tables else _rows(scenario, k, reference, tables),
        )
        for k, (job_class, own) in enumerate(zip(scenario.workload.classes, known, strict=True))
    ]
    kept = sum(figure <= goal.value for figure in figures) / len(figures)
    return CurveNoise(
        classes=tuple(classes),
        infeasible=sum(row is None for row in found) / RESAMPLES,
        resamples=RESAMPLES,
        evaluated=EVALUATED,
        tables=len(tables),
        figures=tuple(sorted(figures)),
        kept=kept if goal.limited else None,
        losses=tuple(sorted(losses)),
    )


def _resampled(
    scenario: Scenario,
    curves: Sequence[SpeedUp],
    known: Sequence[tuple[Measurements, Noise] | None],
    rng: np.random.Generator,
) -> Iterator[Scenario]:
    """Yield the scenario with resampled curves."""
    times = [None if own is None else resampled_times(*own, RESAMPLES, rng) for own in known]
    for k in range(RESAMPLES):
        classes = tuple(
            job_class
            if drawn is None
            else replace(
                job_class,
                speedup=SpeedUp.from_times(
                    zip(curve.widths.tolist(), drawn[k].tolist(), strict=True)
                ),
            )
            for job_class, curve, drawn in zip(
                scenario.workload.classes, curves, times, strict=True
            )
        )
        yield replace(scenario, workload=replace(scenario.workload, classes=classes))


def _supports(scenario: Scenario) -> list[tuple[int, ...]] | None:
    """Return the optimal widths of each class on a large cluster; None if the load is too high."""
    try:
        return [part.support for part in reserve(scenario).classes]
    except InfeasibleError:
        return None


def _table(scenario: Scenario, goal: Goal, choice: Choice) -> Policy | None:
    """Return the value policy, which needs no search."""
    try:
        if not scenario.waiting:
            return value_policy(scenario, _cost(goal, choice) or BLOCKING_COST)
        costs = goal.queue_target(scenario).costs(0.0)
        return queue_value_policy(scenario, **costs)
    except MoldableError:  # the load is too high on this curve
        return None


def _cost(goal: Goal, choice: Choice) -> float | None:
    return choice.blocking_cost or goal.blocking_cost


def _evaluated(
    scenario: Scenario, goal: Goal, choice: Choice, options: Options, table: Policy | None
) -> tuple[float, float | None]:
    """Return the figure of the recommended policy, and what a policy for this curve would save."""
    rules = {"kept": choice.policy} | ({} if table is None else {"new": table})
    found = options.predict.together(
        {name: (scenario, rule) for name, rule in rules.items()}, precise=COARSER
    )
    ours, new = found["kept"], found.get("new", "")
    if isinstance(ours, str):
        return math.inf, None
    figure = goal.figure(ours.performance).value
    cost = _cost(goal, choice)
    waits = bool(scenario.waiting)
    if isinstance(new, str) or (waits and goal.limited) or (not waits and cost is None):
        return figure, None
    objective = replace(goal, name=None, blocking_cost=cost)
    one, other = (objective.figure(each.performance).value for each in (ours, new))
    return figure, max(one - other, 0.0) / one


def _rows(
    scenario: Scenario, k: int, reference: Policy, tables: Sequence[Policy]
) -> tuple[UncertainRow, ...]:
    """Return the likeliest width by idle servers, and how often the tables grant another one."""
    job_class = scenario.workload.classes[k]
    rows = [
        _likeliest(policy.tabulate_class(job_class, scenario.servers), job_class.speedup.widths)
        for policy in (reference, *tables)
    ]
    size = max(map(len, rows))
    columns = np.array([np.append(row, np.full(size - len(row), row[-1])) for row in rows]).T
    # With no idle server nothing is granted.
    listed = enumerate(columns.tolist()[1:], start=1)
    found = []
    for widths, group in groupby(listed, lambda pair: pair[1]):
        idles = [idle for idle, _ in group]
        most = scenario.servers if idles[-1] == size - 1 else idles[-1]
        counts = Counter(widths[1:])
        shares = {width: number / len(tables) for width, number in counts.most_common()}
        found.append(UncertainRow(idles[0], most, widths[0], shares))
    return tuple(found)


def _likeliest(table: Floats, widths: Ints) -> Ints:
    """Return the likeliest width by idle servers; 0: none."""
    refused = 1.0 - table.sum(axis=1)
    best = np.argmax(table, axis=1)
    likeliest: Ints = np.where(table[np.arange(len(table)), best] >= refused, widths[best], 0)
    return likeliest
