"""Systems small enough for the linear program over all policies."""

from __future__ import annotations

from moldable import JobClass, Scenario, SpeedUp, Workload

SUBLINEAR = SpeedUp((1.0, 1.8, 2.5, 3.0, 3.4))
TWO_CLASSES = Workload(
    (
        JobClass("wide", 0.9, SpeedUp({2: 1.9, 3: 2.2, 5: 4.0}), mean_size=2.0),
        JobClass("narrow", 2.0, SpeedUp({1: 1.0, 3: 3.3})),
    )
)
SYSTEMS = {
    "sub-linear": (Scenario.single(SUBLINEAR, 0.8, 10).workload, 10),
    "linear": (Scenario.single(SpeedUp.linear(4), 0.9, 9).workload, 9),
    "super-linear": (Scenario.single(SpeedUp((1.0, 2.4, 3.9, 4.8)), 1.0, 9).workload, 9),
    "gaps": (Scenario.single(SpeedUp({1: 1.0, 3: 2.0, 4: 3.6}), 0.8, 10).workload, 10),
    "dips": (Scenario.single(SpeedUp((1.0, 1.9, 1.5, 2.7)), 0.7, 10).workload, 10),
    "no width 1": (Scenario.single(SpeedUp({2: 1.5, 3: 2.0}), 0.5, 10).workload, 10),
    "two classes": (TWO_CLASSES, 8),
}


def cost(answer, blocking_cost):
    """Return the cost per arrival if the mean size is 1."""
    blocking, time = answer.blocking.value, answer.mean_execution_time.value
    return (1 - blocking) * time + blocking_cost * blocking
