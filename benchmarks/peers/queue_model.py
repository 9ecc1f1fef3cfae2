"""The cluster with a queue that the peers simulate.

Moldable jobs wait, first come, first served. Their widths follow the *even price*: with
p = exp(0.4 - (idle - behind) / sqrt(servers)), where `behind` jobs wait behind the one that is
offered the idle servers, it gets the width w with the least (1 + w p) / s_w among those that divide
the idle servers evenly, w = ceil(idle / ceil(idle / w)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SERVERS = 4000
LOADS = (0.8, 0.95)
SPEED_UPS = (1.0, 1.8, 2.5, 3.0, 3.4)
LOG_PRICE = 0.4
LAWS = ("exponential", "lognormal", "pareto")
# A coefficient of variation of one.
LOGNORMAL_VARIANCE = math.log(2)
# With a variance, unlike in the loss system, where sizes without one do not change the mean.
PARETO_SHAPE = 2.2


@dataclass(frozen=True)
class QueueResult:
    """The result of a peer, in CPU time of one core.

    Attributes:
        name: The program.
        arrivals_per_second: Arrivals over the CPU seconds of the simulation.
        response: The mean response time, in mean sizes.
        arrivals: The number of simulated arrivals.
    """

    name: str
    arrivals_per_second: float
    response: float
    arrivals: int


def most_idle(servers: int) -> int:
    """Return a number of idle servers above which nobody behind means the widest jobs."""
    return min(servers, int(3 * math.sqrt(servers)) + len(SPEED_UPS))


def most_behind(servers: int) -> int:
    """Return a number of jobs behind above which jobs get one server."""
    return int(3 * math.sqrt(servers)) + 1


def even_widths(servers: int, idle: NDArray[np.int64], behind: NDArray[np.int64]) -> NDArray:
    """Return the widths for idle servers (rows) and jobs behind (columns); 0: wait."""
    z, b = idle[:, None], behind[None, :]
    price = np.exp(LOG_PRICE - (z - b) / math.sqrt(servers))
    least = np.full(price.shape, np.inf)
    chosen = np.zeros(price.shape, np.int64)
    for width, speed_up in enumerate(SPEED_UPS, start=1):
        jobs = np.maximum(-(-z // width), 1)
        allowed = (z >= width) & (-(-z // jobs) == width)
        cost = np.where(allowed, (1 + width * price) / speed_up, np.inf)
        better = cost < least * (1 - 1e-12)
        least, chosen = np.where(better, cost, least), np.where(better, width, chosen)
    return chosen


def draw_sizes(law: str, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Draw sizes of unit mean."""
    if law == "exponential":
        return generator.standard_exponential(count)
    if law == "lognormal":
        sigma = math.sqrt(LOGNORMAL_VARIANCE)
        return generator.lognormal(-LOGNORMAL_VARIANCE / 2, sigma, count)
    least = (PARETO_SHAPE - 1) / PARETO_SHAPE
    return least * (1 + generator.pareto(PARETO_SHAPE, count))
