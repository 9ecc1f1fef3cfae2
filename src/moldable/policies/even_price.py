"""A policy for clusters with a queue: widths by idle servers and waiting jobs.

The even price charges p = exp(q0 - (idle - waiting)/ell) for a server and a unit of time: more if
servers are short or jobs wait. A job gets the width that minimises time x (1 + width x p), among
those that divide the idle servers evenly, w = ceil(idle / m) for some number m of jobs, and the
narrowest. Leftover servers would go to the next job in the queue, which keeps them as long as it
runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.checks import positive, within
from moldable.errors import PolicyError
from moldable.model.scenario import ScenarioOrFile, checked_scenario
from moldable.model.speedup import SpeedUp
from moldable.model.workload import JobClass
from moldable.policies.observation import Observation
from moldable.policies.policy import Policy
from moldable.policies.policy_table import refuse_large_table

Q0: Final = 0.4
"""Default logarithm of the price with neither idle servers nor waiting jobs."""
LARGEST: Final = 300.0
"""Exponents beyond which a price counts as constant; exp would overflow."""
STEEPEST: Final = 1e4


@final
@dataclass(frozen=True)
class EvenPrice(Policy):
    """Price servers by the numbers of idle servers and of waiting jobs.

    Args:
        q0: logarithm of the price of a server with neither idle servers nor waiting jobs.
        ell: idle servers that lower the price by a factor e; see `even_price` for a default.

    Examples:
        >>> policy = EvenPrice(q0=0.4, ell=4.0).with_classes(Scenario.single([1, 1.8], 0.8, 16))
        >>> [policy.grant("jobs", Observation(4, waiting)) for waiting in (0, 2, 20)]
        [2, 2, 1]
    """

    q0: float
    ell: float

    def __post_init__(self) -> None:
        hint = "it is a logarithm, such as 0.4"
        object.__setattr__(
            self, "q0", within(self.q0, "q0", PolicyError, -STEEPEST, STEEPEST, hint)
        )
        object.__setattr__(self, "ell", positive(self.ell, "ell", PolicyError, "such as 8"))

    @property
    def name(self) -> str:
        """The two parameters."""
        return f"even price {self.q0:.4g}, {self.ell:.4g}"

    def choose(self, job_class: JobClass, observation: Observation) -> Mapping[int, float]:
        """Return the cheapest of the narrowest width and those that divide the servers evenly."""
        return {_chosen(self, job_class.speedup, observation.idle, observation.waiting): 1.0}

    def reach(self, job_class: JobClass, servers: int) -> int:
        """Return the idle count from which the fastest width is the cheapest and always even."""
        curve = job_class.speedup.up_to(servers)
        rest, best = _before_best(curve)
        if rest.size == 0:
            return min(servers, int(curve.widths[best]))
        # The fastest width is cheapest once p is below (t_k - t) / (w t - w_k t_k) for all k.
        widths, times = curve.widths.astype(float), 1.0 / curve.speedups
        saved, charged = times[rest] - times[best], widths[best] * times[best]
        paid = charged - widths[rest] * times[rest]
        least = min(
            (s / c for s, c in zip(saved.tolist(), paid.tolist(), strict=True) if c > 0.0),
            default=math.inf,
        )
        wide = int(widths[best])
        idle = wide if math.isinf(least) else math.ceil(self.ell * (self.q0 - math.log(least))) + 1
        # From width x (width - 1) idle servers on, every width divides them evenly.
        return int(min(servers, max(wide * (wide - 1), wide, idle)))

    def waiting_reach(self, job_class: JobClass, most_idle: int) -> int:
        """Return the number of waiting jobs from which server-time alone decides."""
        curve = job_class.speedup
        times = 1.0 / curve.speedups
        held = curve.widths * times
        order = np.lexsort((times, held))
        # Two widths cost the same at the price (time saved)/(server-time added). Of all pairs the
        # largest is that of two neighbours, because the others are averages of such slopes.
        saved, added = -np.diff(times[order]), np.diff(held[order])
        crossings = saved[added > 0.0] / added[added > 0.0]
        most = float(crossings.max(initial=0.0))
        if most <= 0.0:
            return 1
        return max(1, math.ceil(most_idle + self.ell * (math.log(most) - self.q0)) + 1)

    def tabulate_behind(self, job_class: JobClass, most_idle: int, behind: int) -> Floats:
        """Return the table while `behind` other jobs wait; see `Policy.tabulate_behind`."""
        curve = job_class.speedup
        refuse_large_table(self.name, most_idle + 1, len(curve))
        table = np.zeros((most_idle + 1, len(curve)))
        idle = np.arange(int(curve.widths[0]), most_idle + 1)
        best = _cheapest(curve, idle, self.prices(idle.astype(np.float64) - behind))
        table[idle, best] = 1.0
        return table

    def tabulate_class(self, job_class: JobClass, servers: int) -> Floats:
        """Return the table while no job waits; see `Policy.tabulate_class`."""
        return self.tabulate_behind(job_class, self.reach(job_class, servers), 0)

    def prices(self, spare: Floats) -> Floats:
        """Return the price of a server by idle servers less waiting jobs."""
        exponents = np.clip(self.q0 - spare / self.ell, -LARGEST, LARGEST)
        return np.asarray(np.exp(exponents))


def even_price(
    scenario: ScenarioOrFile, q0: float | None = None, ell: float | None = None
) -> EvenPrice:
    """Return the even price for a scenario, by default with q0 = 0.4 and ell = sqrt(servers).

    Examples:
        >>> even_price(Scenario.single([1, 1.8], 0.8, 16))
        EvenPrice(q0=0.4, ell=4.0)
    """
    scenario = checked_scenario(scenario)
    own = EvenPrice(Q0 if q0 is None else q0, math.sqrt(scenario.servers) if ell is None else ell)
    return own.with_classes(scenario)


@lru_cache(maxsize=2**14)
def _chosen(policy: EvenPrice, curve: SpeedUp, idle: int, waiting: int) -> int:
    """Return the width of one job. Answers are kept: a live cluster repeats its questions."""
    if not curve.fastest(idle):
        return int(curve.widths[0])
    price = policy.prices(np.array([idle - waiting], dtype=np.float64))
    return int(curve.widths[_cheapest(curve, np.array([idle]), price)[0]])


def _cheapest(curve: SpeedUp, idle: Ints, prices: Floats) -> Ints:
    """Return the position of the cheapest usable width at each idle count, which some width fits.

    Usable are the widths that divide the idle servers evenly, and the narrowest one. Of equally
    cheap widths the narrowest is chosen.
    """
    widths, times = curve.widths, 1.0 / curve.speedups
    costs = times * (1.0 + widths * prices[:, None])
    jobs = -(-idle[:, None] // widths)
    usable = -(-idle[:, None] // jobs) == widths
    usable[:, 0] = True
    costs = np.where(usable & (widths <= idle[:, None]), costs, np.inf)
    least = costs.min(axis=1, keepdims=True)
    return np.asarray(np.argmax(costs <= least * (1.0 + 1e-12), axis=1))


def _before_best(curve: SpeedUp) -> tuple[Ints, int]:
    """Return the positions of all widths but the fastest, and that of the fastest."""
    best = int(np.argmax(curve.speedups))
    return np.flatnonzero(np.arange(len(curve)) != best), best
