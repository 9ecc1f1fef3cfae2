"""The frontier of each class and the point at which the cluster operates."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final, final

from moldable.allocation.division import fitting_frontiers, reserve
from moldable.allocation.frontier import Frontier, Mix
from moldable.allocation.optimum import optimum
from moldable.errors import InfeasibleError
from moldable.explorer.measures import Value, unit
from moldable.explorer.question import Question
from moldable.explorer.remembered import KEPT, remembered
from moldable.model.workload import JobClass

LINEAR: Final = "linear program"


@final
@dataclass(frozen=True)
class ClassFrontier:
    """The widths of one class and those in use.

    Attributes:
        name: the class.
        widths: those that fit on the cluster.
        speedups: the speed-up at each of them.
        server_time: mean server-time of a job at each width.
        time: mean execution time of a job at each width.
        on_frontier: whether each width is on the frontier.
        support: the one or two widths in use; empty if the load is too high.
        shares: of the jobs given each of them.
        servers: busy with this class on average; NaN if the load is too high.
        operating_point: mean server-time and mean execution time of a job; None likewise.
    """

    name: str
    widths: tuple[int, ...]
    speedups: tuple[float, ...]
    server_time: tuple[float, ...]
    time: tuple[float, ...]
    on_frontier: tuple[bool, ...]
    support: tuple[int, ...]
    shares: tuple[float, ...]
    servers: float
    operating_point: tuple[float, float] | None


@final
@dataclass(frozen=True)
class FrontierAnswer:
    """The optimum on a large cluster.

    Attributes:
        question: that is answered.
        classes: in the question's order.
        mean_execution_time: D*, the least mean execution time; None if the load is too high.
        shadow_price: time saved per further unit of server-time; None likewise.
        busy_fraction: of the servers; None likewise.
        capacity: server-time available per job, on average over the classes.
        largest_load: that the cluster can carry.
        problem: why there is no optimum; empty if there is one.
        unit: of all times.
        exact: always true.
        method: how it was found.
    """

    question: Question
    classes: tuple[ClassFrontier, ...]
    mean_execution_time: Value | None
    shadow_price: Value | None
    busy_fraction: Value | None
    capacity: float
    largest_load: float
    problem: str
    unit: str
    exact: bool = True
    method: str = LINEAR


def frontier(question: Question) -> FrontierAnswer:
    """Return the frontier and the operating point.

    Examples:
        >>> asked = Question((ClassInput("jobs", (1.0, 1.8, 2.5, 3.0, 3.4)),), 16, 0.8)
        >>> answer = frontier(asked)
        >>> answer.classes[0].support, round(answer.mean_execution_time.value, 4)
        ((3, 4), 0.375)
    """
    # Sizes, arrivals, waiting places and targets have no influence.
    plain = tuple(replace(part, size=None) for part in question.classes)
    key = replace(
        question,
        classes=plain if any(part.size for part in question.classes) else question.classes,
        waiting=0,
        size="exponential",
        arrivals="poisson",
        target=None,
        seed=0,
    )
    return replace(_frontier(key), question=question)


@remembered(KEPT)
def _frontier(question: Question) -> FrontierAnswer:
    scenario = question.scenario()
    parts = scenario.workload.classes
    fronts = fitting_frontiers(scenario)
    least = math.fsum(
        c.offered * float(f.server_time[0]) for c, f in zip(parts, fronts, strict=True)
    )
    mixes: list[Mix | None] = [None] * len(parts)
    found: dict[str, Value] = {}
    problem = ""
    try:
        if question.one_class:
            solved = optimum(fronts[0].speedup, question.load, servers=question.servers)
            mixes = [solved.mix]
            price, time = solved.shadow_price, solved.mean_execution_time
        else:
            division = reserve(scenario)
            mixes = [part.mix for part in division.classes]
            price, time = division.shadow_price, division.mean_execution_time
        busy = [
            part.offered * mix.server_time for part, mix in zip(parts, mixes, strict=True) if mix
        ]
        found = {
            "mean_execution_time": Value.known(time, LINEAR),
            "shadow_price": Value.known(price, LINEAR),
            "busy_fraction": Value.known(min(math.fsum(busy) / question.servers, 1.0), LINEAR),
        }
    except InfeasibleError as error:
        problem = str(error)
    return FrontierAnswer(
        question,
        tuple(map(_of_class, parts, fronts, mixes)),
        found.get("mean_execution_time"),
        found.get("shadow_price"),
        found.get("busy_fraction"),
        question.servers / scenario.workload.arrival_rate,
        question.load * question.servers / least,
        problem,
        unit(question),
    )


def _of_class(job_class: JobClass, front: Frontier, mix: Mix | None) -> ClassFrontier:
    size, curve = job_class.mean_size, front.speedup
    kept = set(front.widths.tolist())
    widths = tuple(curve.widths.tolist())
    return ClassFrontier(
        job_class.name,
        widths,
        tuple(curve.speedups.tolist()),
        tuple((size * curve.widths / curve.speedups).tolist()),
        tuple((size / curve.speedups).tolist()),
        tuple(width in kept for width in widths),
        () if mix is None else mix.support,
        () if mix is None else mix.shares,
        math.nan if mix is None else job_class.offered * mix.server_time,
        None if mix is None else (size * mix.server_time, size * mix.time),
    )
