"""Policies for clusters that queue: they look at idle servers and at waiting jobs.

The even price charges p = exp(q0 - (idle - waiting)/ell) for a server and a unit of time: more if
servers are short or jobs wait. A job gets the width that minimises time x (1 + width x p), among
those that divide the idle servers evenly: w = ceil(idle / m) for some number m of jobs. Leftover
servers would go to the next job in the queue, which keeps them as long as it runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
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
    """Charge for servers by how many are idle and how many jobs wait.

    Args:
        q0: logarithm of the price of a server with neither idle servers nor waiting jobs.
        ell: idle servers that lower the price by a factor e; see `even_price` for a default.

    Example:
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
        """Return the cheapest width that divides the idle servers evenly."""
        curve = job_class.speedup
        idle, waiting = observation.idle, observation.waiting
        fits = int(np.searchsorted(curve.widths, idle, side="right"))
        if fits == 0:
            return {int(curve.widths[0]): 1.0}
        price = self._prices(np.array([idle - waiting], dtype=np.float64))
        best = _cheapest(curve, np.array([idle]), price)
        return {int(curve.widths[best[0]]): 1.0}

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

    def tabulate_queue(self, job_class: JobClass, most_idle: int) -> Floats:
        """Return the tables while other jobs wait; see `Policy.tabulate_queue`."""
        curve, count = job_class.speedup, self.waiting_reach(job_class, most_idle)
        refuse_large_table(self.name, count * (most_idle + 1), len(curve))
        tables = np.zeros((count, most_idle + 1, len(curve)))
        idle = np.arange(int(curve.widths[0]), most_idle + 1)
        for behind in range(1, count + 1):
            best = _cheapest(curve, idle, self._prices(idle.astype(np.float64) - behind))
            tables[behind - 1, idle, best] = 1.0
        return tables

    def tabulate_class(self, job_class: JobClass, servers: int) -> Floats:
        """Return the table while nobody waits; see `Policy.tabulate_class`."""
        curve, reach = job_class.speedup, self.reach(job_class, servers)
        refuse_large_table(self.name, reach + 1, len(curve))
        table = np.zeros((reach + 1, len(curve)))
        idle = np.arange(int(curve.widths[0]), reach + 1)
        table[idle, _cheapest(curve, idle, self._prices(idle.astype(np.float64)))] = 1.0
        return table

    def _prices(self, spare: Floats) -> Floats:
        exponents = np.clip(self.q0 - spare / self.ell, -LARGEST, LARGEST)
        return np.asarray(np.exp(exponents))


def even_price(
    scenario: ScenarioOrFile, q0: float | None = None, ell: float | None = None
) -> EvenPrice:
    """Return the even price for a scenario, by default with q0 = 0.4 and ell = sqrt(servers).

    Example:
        >>> even_price(Scenario.single([1, 1.8], 0.8, 16))
        EvenPrice(q0=0.4, ell=4.0)
    """
    scenario = checked_scenario(scenario)
    own = EvenPrice(Q0 if q0 is None else q0, math.sqrt(scenario.servers) if ell is None else ell)
    return own.with_classes(scenario)


def _cheapest(curve: SpeedUp, idle: Ints, prices: Floats) -> Ints:
    """Return the position of the cheapest even width at each idle count, which some width fits.

    Of equally cheap widths the narrowest is chosen. Where no allowed width divides the idle servers
    evenly, all that fit are compared.
    """
    widths, times = curve.widths, 1.0 / curve.speedups
    costs = times * (1.0 + widths * prices[:, None])
    fits = widths <= idle[:, None]
    jobs = -(-idle[:, None] // widths)
    even = fits & (-(-idle[:, None] // jobs) == widths)
    usable = np.where(even.any(axis=1, keepdims=True), even, fits)
    costs = np.where(usable, costs, np.inf)
    least = costs.min(axis=1, keepdims=True)
    return np.asarray(np.argmax(costs <= least * (1.0 + 1e-12), axis=1))


def _before_best(curve: SpeedUp) -> tuple[Ints, int]:
    """Return the positions of all widths but the fastest, and that of the fastest."""
    best = int(np.argmax(curve.speedups))
    return np.flatnonzero(np.arange(len(curve)) != best), best
