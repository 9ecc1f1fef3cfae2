"""The loss system that the peers simulate, and its equilibrium.

4,000 servers; every job takes 5 of them and runs 5 times faster, so at most 800 jobs run at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

SERVERS = 4000
WIDTH = 5
SPEED_UP = 5.0
LOAD = 1 - 0.1 / math.sqrt(SERVERS)
ARRIVAL_RATE = SERVERS * LOAD
PLACES = SERVERS // WIDTH
OFFERED = ARRIVAL_RATE / SPEED_UP  # erlangs, as sizes have unit mean

LAWS = ("exponential", "deterministic", "lognormal", "pareto")
# A coefficient of variation of one.
LOGNORMAL_VARIANCE = math.log(2)
PARETO_SHAPE = 1.5
PARETO_LEAST = (PARETO_SHAPE - 1) / PARETO_SHAPE

BLOCK = 1 << 14


def erlang_b(offered: float, places: int) -> float:
    """Return the exact blocking by the recursion on the number of places."""
    blocking = 1.0
    for place in range(1, places + 1):
        blocking = offered * blocking / (place + offered * blocking)
    return blocking


def refuse_unless(law: str, laws: tuple[str, ...], peer: str) -> None:
    """Raise if the peer does not support the size law."""
    if law not in laws:
        raise ValueError(f"{peer} does not support size law {law!r}; choose one of {laws}")


def draw_sizes(law: str, count: int, generator: np.random.Generator) -> np.ndarray:
    """Draw sizes of unit mean."""
    if law == "exponential":
        return generator.standard_exponential(count)
    if law == "deterministic":
        return np.ones(count)
    if law == "lognormal":
        sigma = math.sqrt(LOGNORMAL_VARIANCE)
        return generator.lognormal(-LOGNORMAL_VARIANCE / 2, sigma, count)
    return PARETO_LEAST * (1 + generator.pareto(PARETO_SHAPE, count))


def services(law: str, generator: np.random.Generator) -> Iterator[float]:
    """Yield execution times without end, drawn in blocks because that is faster in NumPy."""
    while True:
        yield from (draw_sizes(law, BLOCK, generator) / SPEED_UP).tolist()


def gaps(generator: np.random.Generator) -> Iterator[float]:
    """Yield the times between arrivals without end."""
    while True:
        yield from (generator.standard_exponential(BLOCK) / ARRIVAL_RATE).tolist()


def running_at_start(law: str, generator: np.random.Generator) -> list[float]:
    """Draw the remaining execution times of the jobs that run in equilibrium.

    Their number is a truncated Poisson number, and each has the residual law: a uniform share of a
    length-biased size (Sevast'yanov 1957). This start needs no warm-up. From an empty start, sizes
    of infinite variance would need a very long one: after t mean execution times a share
    0.38/sqrt(t) of the offered load is still missing.
    """
    while (jobs := int(generator.poisson(OFFERED))) > PLACES:
        pass
    if law == "exponential":
        biased = generator.gamma(2.0, size=jobs)
    elif law == "deterministic":
        biased = np.ones(jobs)
    elif law == "lognormal":
        sigma = math.sqrt(LOGNORMAL_VARIANCE)
        biased = generator.lognormal(LOGNORMAL_VARIANCE / 2, sigma, jobs)
    else:
        biased = PARETO_LEAST * (1 + generator.pareto(PARETO_SHAPE - 1, jobs))
    return (biased * generator.random(jobs) / SPEED_UP).tolist()
