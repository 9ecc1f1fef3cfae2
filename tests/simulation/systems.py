"""Systems that several tests simulate, and the numbers that they compare."""

from __future__ import annotations

from scipy.stats import semicircular

from moldable import JobClass, Scenario, SpeedUp, Workload
from moldable.simulation.plan import MAIN, Plan
from moldable.sizes import FromScipy, Lognormal, Pareto
from moldable.system.loss_system import build_system

PAPER = SpeedUp([1, 1.8, 2.5, 3, 3.4])
CHAIN = Scenario.single(PAPER, 0.8, 40)
RING = Scenario.single(PAPER, 0.8, 40, size=Lognormal(1.0))
# The quantiles of the second law are tabulated in pieces: no grid is fine enough.
TWO = Scenario(
    Workload(
        (
            JobClass("a", 20.0, PAPER, size=Pareto(1.5)),
            JobClass("b", 12.0, PAPER, size=FromScipy(semicircular(loc=1.0))),
        )
    ),
    40,
)


def numbers(answer):
    """Return the part of an answer that does not depend on the machine or the time."""
    answer = answer.to_dict()
    for changing in ("arrivals_per_second", "provenance"):
        del answer[changing]
    return answer


def plan_of(scenario, start, jobs=1, batches=1):
    """Return a plan with a warm-up of one unit of time."""
    system = build_system(scenario, None)
    return Plan(system, start, 1.0, jobs=jobs, batches=batches, finished=False, seed=4, stream=MAIN)
