"""Sensitivity of a decision to the load, the curves, the arrivals and the sizes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, final

import numpy as np

from moldable.errors import MoldableError, UnstableError
from moldable.model.arrivals import Poisson, Renewal
from moldable.model.scenario import Scenario
from moldable.model.sizes import Deterministic, Exponential, Lognormal, SizeLaw
from moldable.model.speedup import SpeedUp
from moldable.planning.choice import Choice, Options, choose
from moldable.planning.goal import Goal
from moldable.planning.predictor import Predictor
from moldable.planning.sizing import quick_policy
from moldable.planning.steps import STEPS, OneStep
from moldable.policies.policy import Policy
from moldable.system.performance import Performance
from moldable.tuning.robustness import BURSTINESS

LOADS: Final = (0.8, 0.9, 1.1, 1.2)
"""Loads relative to the planned one."""
CURVES: Final = (0.95, 1.05)
"""Factors of the gain of each width, its speed-up above 1."""
SIZES: Final[tuple[SizeLaw, ...]] = (Deterministic(), Exponential(), Lognormal(2.0))
COARSER, ROUGH = 1.5, 4.0
"""The precision of the cases, and of the search of policies and loads, relative to that of the
plan."""
HIGHEST, HALVINGS = 2.0, 6
"""Largest load, relative to the planned one, at which a limit is tried, and bisections."""


@final
@dataclass(frozen=True, eq=False)
class Case:
    """A case that differs from the assumptions or the policy.

    Attributes:
        kind: "load", "curves", "arrivals" or "sizes" if the assumptions differ, "widths" if the
            policy grants one step less or more.
        name: what differs, in words.
        factor: of the load or of the gains; None for other kinds.
        performance: of the decided policy there; None if there is a problem.
        kept: whether the limit, if any, is still kept there (by the estimate); None without one.
        retuned: of a policy chosen for this case; None where that was not tried, or if there is a
            problem.
        problem: "queue grows" or "nearly saturated" where the decided policy has no figures: its
            queue grows without limit, or changes too slowly to be simulated; else empty.
        retuned_problem: the same of every policy in this case.
    """

    kind: str
    name: str
    factor: float | None
    performance: Performance | None
    kept: bool | None
    retuned: Performance | None = None
    problem: str = ""
    retuned_problem: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, ready for JSON."""
        return {
            "kind": self.kind,
            "name": self.name,
            "factor": self.factor,
            "performance": self.performance and self.performance.figures(),
            "kept": self.kept,
            "retuned": self.retuned and self.retuned.figures(),
            "problem": self.problem,
            "retuned_problem": self.retuned_problem,
        }


@final
@dataclass(frozen=True, eq=False)
class Sensitivity:
    """The recommended policy in other cases.

    Attributes:
        cases: the cases.
        policy_holds_to: largest load relative to the planned one at which the decided policy keeps
            the limit; None without a limit or if it does not keep it at the planned load.
        cluster_holds_to: the same with a policy that is chosen anew for each load.
    """

    cases: tuple[Case, ...]
    policy_holds_to: float | None
    cluster_holds_to: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, ready for JSON."""
        return {
            "cases": [case.to_dict() for case in self.cases],
            "policy_holds_to": self.policy_holds_to,
            "cluster_holds_to": self.cluster_holds_to,
        }


def sensitivity(
    scenario: Scenario,
    goal: Goal,
    choice: Choice,
    options: Options,
    burstiness: float | None = None,
) -> Sensitivity:
    """Evaluate the recommended policy in other cases, and re-tune it for other loads.

    `burstiness` is the coefficient of variation of interarrival times in the log; 3 by default.
    """
    found = []
    cases = [(*case, choice.policy) for case in _cases(scenario, burstiness or BURSTINESS)]
    cases += [("widths", *case) for case in _one_step(scenario, choice.policy)]
    for kind, name, factor, other, policy in cases:
        options.report(f"sensitivity: {name}")
        answer = options.predict(other, policy, precise=COARSER)
        performance, problem = _or_problem(answer)
        kept = performance is not None and goal.met(performance) if goal.limited else None
        own = options.during(f"sensitivity: {name}")
        again, why = _or_problem(_retuned(other, goal, own)) if kind == "load" else (None, "")
        found.append(Case(kind, name, factor, performance, kept, again, problem, why))
    options.report("sensitivity: largest load")

    def fixed(other: Scenario) -> Policy:  # noqa: ARG001 - the decided policy whatever the load
        return choice.policy

    limits = [
        _largest_load(scenario, goal, options.predict, policy)
        for policy in (fixed, lambda other: quick_policy(other, goal))
    ]
    if limits[0] is not None:
        limits[1] = max(limits[0], limits[1] or 0.0)
    return Sensitivity(tuple(found), *limits)


def _cases(scenario: Scenario, burstiness: float) -> list[tuple[str, str, float | None, Scenario]]:
    """Return the kind, the name, the factor and the scenario of every case."""
    found: list[tuple[str, str, float | None, Scenario]] = []
    for factor in LOADS:
        name = f"load {100.0 * factor:.0f} %"
        found.append(("load", name, factor, scenario.at_load(factor * scenario.load)))
    for factor in CURVES:
        name = f"speed-up gains {100.0 * (factor - 1.0):+.0f} %"
        found.append(("curves", name, factor, _with_gains(scenario, factor)))
    bursty = Renewal(Lognormal(burstiness))
    if str(bursty) != str(scenario.arrivals):
        name = f"interarrival CV {burstiness:.3g}"
        found.append(("arrivals", name, None, replace(scenario, arrivals=bursty)))
    if not isinstance(scenario.arrivals, Poisson):
        found.append(("arrivals", "Poisson arrivals", None, replace(scenario, arrivals=Poisson())))
    own = {str(job_class.size) for job_class in scenario.workload.classes}
    found += [
        ("sizes", f"{law} sizes", None, _with_sizes(scenario, law))
        for law in SIZES
        if own != {str(law)}
    ]
    return found


def _one_step(
    scenario: Scenario, policy: Policy
) -> list[tuple[str, float | None, Scenario, Policy]]:
    """Return the policies with all widths one step narrower and wider, if there are any others."""
    if all(len(c.speedup.up_to(scenario.servers)) == 1 for c in scenario.workload.classes):
        return []
    return [
        (f"widths {name}", None, scenario, OneStep(policy, step)) for name, step in STEPS.items()
    ]


def _with_gains(scenario: Scenario, factor: float) -> Scenario:
    """Multiply the speed-up above 1 of every width."""
    classes = []
    for job_class in scenario.workload.classes:
        curve = job_class.speedup
        speedups = np.maximum(1.0 + factor * (curve.speedups - 1.0), 1e-6)
        changed = SpeedUp(dict(zip(curve.widths.tolist(), speedups.tolist(), strict=True)))
        classes.append(replace(job_class, speedup=changed))
    return replace(scenario, workload=replace(scenario.workload, classes=tuple(classes)))


def _with_sizes(scenario: Scenario, law: SizeLaw) -> Scenario:
    classes = tuple(replace(job_class, size=law) for job_class in scenario.workload.classes)
    return replace(scenario, workload=replace(scenario.workload, classes=classes))


def _or_problem(answer: Performance | str) -> tuple[Performance | None, str]:
    """Return a prediction, or in two words why there is none."""
    if isinstance(answer, str):
        return None, "nearly saturated" if "nearly saturated" in answer else "queue grows"
    return answer, ""


def _retuned(scenario: Scenario, goal: Goal, options: Options) -> Performance | str:
    """Return the performance of a policy that is chosen for this scenario, or why it has none."""
    rough = replace(options, precision=min(ROUGH * options.precision, 0.5), thorough=False)
    try:
        return choose(scenario, goal, rough).performance
    except UnstableError as error:
        return str(error)


def _largest_load(
    scenario: Scenario,
    goal: Goal,
    predict: Predictor,
    policy: Callable[[Scenario], Policy],
) -> float | None:
    """Return the largest relative load at which a policy keeps the limit, to about 1 %."""
    if not goal.limited:
        return None

    def met(factor: float) -> bool:
        other = scenario.at_load(factor * scenario.load)
        try:
            found = predict(other, policy(other), precise=ROUGH)
        except MoldableError:  # no such policy at this load
            return False
        return not isinstance(found, str) and goal.met(found)

    low, high = 1.0, HIGHEST
    if not met(low):
        return None
    if met(high):
        return high
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if met(middle) else (low, middle)
    return low
