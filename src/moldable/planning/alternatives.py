"""Policies to compare the recommended one with, and the value of one more server."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, final

from moldable.allocation.division import pure_loads, reserve
from moldable.errors import InfeasibleError, MoldableError
from moldable.files.policy_file import Rule
from moldable.model.scenario import Scenario
from moldable.planning.choice import Choice, Options, choose
from moldable.planning.goal import Goal
from moldable.planning.predictor import JOBS, Predictor
from moldable.policies.fixed_width import FixedWidth
from moldable.policies.greedy import Greedy, greedy_p
from moldable.policies.policy import Policy
from moldable.simulation.paired import Paired, difference
from moldable.system.estimate import Estimate
from moldable.system.performance import Performance
from moldable.system.queueing import plain
from moldable.tuning.queue_reference import known_optimum
from moldable.tuning.reference import best

MOST_WIDTHS: Final = 8
"""Fixed widths that are tried, spread over the curve."""
ROUGH: Final = 5.0
"""The precision with which fixed widths are compared, relative to that of the plan."""
RELAXED: Final = 10.0
"""Least length of a replication in relaxation times of a queue, about 1 / idle^2 arrivals."""
NEARLY_SATURATED: Final = "it is nearly saturated: its queue may grow without limit"
ROUNDING: Final = 1e-9
"""Relative differences of exact figures up to this are rounding errors."""
STATES: Final = 15_000
"""States up to which the optimum over all policies takes a second or two."""


@final
@dataclass(frozen=True, eq=False)
class Alternative:
    """Another policy on the same cluster.

    Attributes:
        key: "greedy", "fixed", "pooled" or "reserved".
        name: what it is, in words.
        policy: the policy; None if the load is too high for it.
        performance: None where there is none.
        problem: why there is none: the queue grows without limit, or the load is too high.
        gains: by which share of this policy's figures those of the recommended policy are higher,
            with intervals that use common random numbers. The keys are "blocking" and
            "mean_execution_time", with waiting places "mean_response_time" and "mean_wait".
    """

    key: str
    name: str
    policy: Policy | None
    performance: Performance | None
    problem: str = ""
    gains: Mapping[str, Estimate] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, ready for JSON."""
        found = self.performance
        figures = None if found is None else found.figures() | {"utilisation": found.busy_fraction}
        gains: dict[str, Any] = {}
        for name, value in self.gains.items():
            gains |= plain(name, value)
        return {"key": self.key, "name": self.name, "performance": figures, "gains": gains} | (
            {"problem": self.problem} if self.problem else {}
        )


@final
@dataclass(frozen=True)
class Reference:
    """The optimum over all policies.

    Attributes:
        blocking: of the optimum.
        mean_execution_time: without waiting places, else None.
        mean_response_time: with waiting places, else None.
        mean_wait: the same.
        gap: how far above the true optimum it may be, as a share.
    """

    blocking: float
    mean_execution_time: float | None
    mean_response_time: float | None
    mean_wait: float | None
    gap: float


@final
@dataclass(frozen=True)
class ServerValue:
    """What changes if one server is added.

    The policy is chosen anew for the larger cluster; the present one is kept if it is better. If
    no policy was found that improves a figure, the server is left unused and nothing changes.

    Attributes:
        blocking: change of the blocking, with an interval that uses common random numbers.
        mean_execution_time: change of the mean execution time.
        mean_response_time: change of the mean response time; None without waiting places.
        throughput: change of the jobs completed per unit of time.
        time_saved_on_large_clusters: by which the least mean execution time falls per server on a
            large cluster at this load (the shadow price of servers); None if the load is too high.
    """

    blocking: Estimate
    mean_execution_time: Estimate
    mean_response_time: Estimate | None
    throughput: Estimate
    time_saved_on_large_clusters: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, ready for JSON."""
        found: dict[str, Any] = {}
        for name in ("blocking", "mean_execution_time", "mean_response_time", "throughput"):
            value = getattr(self, name)
            found |= {} if value is None else plain(name, value)
        return found | {"time_saved_on_large_clusters": self.time_saved_on_large_clusters}


def alternatives(
    scenario: Scenario, goal: Goal, chosen: Policy, predict: Predictor, *, reserved: bool
) -> tuple[Alternative, ...]:
    """Return what schedulers do today, the best fixed widths and the paper's scheme.

    Args:
        scenario: classes that share one pool.
        goal: by which the best fixed widths are chosen.
        chosen: the recommended policy.
        predict: predicts the performance.
        reserved: whether to show the paper's scheme also on reserved servers.
    """
    tried = fixed_widths(scenario)
    rough = predict.together({n: (scenario, p) for n, p in tried.items()}, precise=ROUGH)
    fixed = _best(goal, rough)
    systems: dict[str, tuple[Scenario, Rule]] = {
        "chosen": (scenario, chosen),
        "greedy": (scenario, Greedy()),
        "fixed": (scenario, tried[fixed]),
    }
    paper = _paper(scenario, reserved=reserved)
    overloaded, shares = "", None
    try:
        shares = greedy_p(scenario)
        # On reserved servers the default rule computes the shares for each class's own servers.
        systems |= {
            key: (own, shares if key == "pooled" else None) for key, (_, own) in paper.items()
        }
    except InfeasibleError as error:
        overloaded = str(error)
    found = predict.together(systems)
    ours = found["chosen"]
    rows = [
        _alternative("greedy", "largest that fits (greedy)", Greedy(), found["greedy"], ours),
        _alternative("fixed", fixed, tried[fixed], found["fixed"], ours),
    ]
    rows += [
        _alternative(key, name, shares, found.get(key, overloaded), ours)
        for key, (name, _) in paper.items()
    ]
    return tuple(rows)


def _paper(scenario: Scenario, *, reserved: bool) -> dict[str, tuple[str, Scenario]]:
    """Return the name and the scenario of the paper's scheme, on one pool and on reserved servers.

    Classes that wait share one queue, so they have no servers of their own.
    """
    if not reserved or scenario.waiting:
        return {"pooled": ("paper's greedy(p*)", scenario)}
    workload = dataclasses.replace(scenario.workload, sharing="reserved")
    return {
        "pooled": ("paper's greedy(p*), one pool", scenario),
        "reserved": (
            "paper's greedy(p*), reserved",
            dataclasses.replace(scenario, workload=workload),
        ),
    }


def fixed_widths(scenario: Scenario) -> dict[str, Policy]:
    """Return policies that give every job of a class the same width, by their names."""
    classes = scenario.workload.classes
    if len(classes) == 1:
        widths = classes[0].speedup.up_to(scenario.servers).widths.tolist()
        step = -(-len(widths) // MOST_WIDTHS)
        return {f"fixed width {width}": FixedWidth(width) for width in widths[::step]}
    found: dict[str, Policy] = {}
    for load in pure_loads(scenario).tolist()[:MOST_WIDTHS]:
        try:
            policy = greedy_p(scenario, load * (1.0 - 1e-12))
        except MoldableError:  # rounding at the largest load
            continue
        widths = {
            name: max(shares, key=shares.__getitem__) for name, shares in policy.shares.items()
        }
        listed = ", ".join(f"{name} {width}" for name, width in widths.items())
        found[f"fixed ({listed})"] = type(policy)(
            {name: {width: 1.0} for name, width in widths.items()}, "fixed widths"
        )
    return found


def optimum_of(scenario: Scenario, goal: Goal) -> Reference | None:
    """Return the optimum over all policies where it is known and quickly computed."""
    if scenario.waiting:
        queue = known_optimum(scenario, goal.queue_target(scenario), STATES)
        if queue is None:
            return None
        response, wait = queue.mean_response_time, queue.mean_wait
        return Reference(queue.blocking, None, response, wait, queue.gap)
    found = best(scenario, goal.loss_target(scenario.workload.mean_size), STATES)
    if found is None:
        return None
    return Reference(found.blocking, found.mean_execution_time, None, None, found.gap)


def value_of_one_server(
    scenario: Scenario, goal: Goal, choice: Choice, options: Options
) -> ServerValue:
    """Return what one more server changes."""
    larger = dataclasses.replace(scenario, servers=scenario.servers + 1)
    rough = dataclasses.replace(options.during("adding one server"), thorough=False)
    chosen = choose(larger, goal, rough)
    found = options.predict.together(
        {
            "now": (scenario, choice.policy),
            "kept": (larger, choice.policy),
            "chosen": (larger, chosen.policy),
        }
    )
    now, others = found.pop("now"), {name: found[name] for name in ("chosen", "kept")}
    more = others[_best(goal, others)]
    assert isinstance(now, Paired)  # noqa: S101 - the chosen policy is stable
    assert isinstance(more, Paired)  # noqa: S101 - and so on more servers
    if not (now.response or _improves(more, now)):
        more = now
    blocking, time = difference(more.blocking, now.blocking), difference(more.time, now.time)
    rate = scenario.workload.arrival_rate
    response = None
    if more.response and now.response:
        response = difference(more.response, now.response)
    try:
        saved: float | None = reserve(scenario).time_saved_by_one_server
    except InfeasibleError:
        saved = None
    return ServerValue(blocking, time, response, scaled(blocking, -rate), saved)


def _improves(more: Paired, now: Paired) -> bool:
    """Return whether blocking or time falls by more than the errors of both."""
    pairs = ((more.blocking, now.blocking), (more.time, now.time))
    ends = [(difference(one, other).interval, other.value) for one, other in pairs]
    return any(end is not None and end[1] < -ROUNDING * value for end, value in ends)


def scaled(figure: Estimate, factor: float) -> Estimate:
    """Return a multiple of an estimate, with its interval."""
    ends = figure.interval
    products = None if ends is None else sorted(factor * end + 0.0 for end in ends)
    interval = None if products is None else (products[0], products[1])
    return Estimate(factor * figure.value + 0.0, interval)  # + 0.0: no negative zeros


def _alternative(
    key: str, name: str, policy: Policy | None, found: Paired | str, ours: Paired | str
) -> Alternative:
    if isinstance(found, str):
        return Alternative(key, name, policy, None, found)
    idle = 1.0 - found.performance.busy_fraction
    unlimited = math.isinf(found.performance.scenario.waiting)
    if unlimited and found.performance.method == "simulate" and JOBS * idle**2 < RELAXED:
        return Alternative(key, name, policy, None, NEARLY_SATURATED)
    gains = {} if isinstance(ours, str) else _gains(ours, found)
    return Alternative(key, name, policy, found.performance, gains=gains)


def _gains(ours: Paired, theirs: Paired) -> dict[str, Estimate]:
    """Return by which share of their figures ours are higher."""
    pairs = {"blocking": (ours.blocking, theirs.blocking)}
    if ours.response is None or theirs.response is None:
        pairs["mean_execution_time"] = (ours.time, theirs.time)
    else:
        if math.isinf(theirs.performance.scenario.waiting):
            pairs.clear()
        pairs["mean_response_time"] = (ours.response, theirs.response)
    if ours.wait and theirs.wait:
        pairs["mean_wait"] = (ours.wait, theirs.wait)
    return {
        name: scaled(difference(one, other), 1.0 / other.value)
        for name, (one, other) in pairs.items()
        if other.value > 0.0
    }


def _best(goal: Goal, found: dict[str, Paired | str]) -> str:
    """Return the name of the best: one that keeps the limit in the least time, if there is any."""

    def rank(name: str) -> tuple[float, float]:
        paired = found[name]
        if isinstance(paired, str):
            return (float("inf"), 0.0)
        answer = paired.performance
        figure = goal.figure(answer).value
        if not goal.limited:
            return (0.0, figure)
        return (0.0, paired.objective.value) if figure <= goal.value else (figure, 0.0)

    return min(found, key=rank)
