"""What do other prices gain over the exponential?

One for each class; a charge for the last idle server; one that never falls below a level; one whose
scarcity is felt the less the longer a job runs.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from moldable import JobClass, Policy, PricePolicy, Scenario, SpeedUp, Workload, stationary_law
from moldable.optimal.optimal_control import optimal_control
from verification.named_curves import LINEAR, SUBLINEAR
from verification.price_mixes import mixed
from verification.verdict import Verdict

TWO_CLASSES, SERVERS = (
    Workload(
        (
            JobClass("flat", 6.0, SpeedUp([1, 1.5])),
            JobClass("steep", 3.0, SpeedUp.linear(3), mean_size=2.0),
        )
    ),
    16,
)
CONCAVE, CONCAVE_SERVERS = Scenario.single(SUBLINEAR, 0.8, 20).workload, 20
# Flat curves with large jobs beside steep ones with small jobs.
UNEQUAL, UNEQUAL_SERVERS = mixed({"flat": (SUBLINEAR, 1.0), "steep": (LINEAR, 0.5)}, 16, 0.7), 16
WIDE, CLOSER, EACH = 250, (0.6, 0.3, 0.15, 0.08), 60
BLOCKED_JOB_PRICES = (2.0, 4.0, 16.0)
CHEAP = 1.0
Numbers = tuple[float, ...]


@dataclass(frozen=True)
class PricePerClass(Policy):
    """A price policy of its own for every class."""

    policies: Mapping[str, PricePolicy]

    def decide(self, job_class: JobClass, idle: int) -> Mapping[int, float]:
        """Ask the policy of the class."""
        return self.policies[job_class.name].decide(job_class, idle)


class CheapestWidth(Policy):
    """Give a job the width that costs least."""

    def decide(self, job_class: JobClass, idle: int) -> Mapping[int, float]:
        """Take the cheapest width."""
        widths = [int(width) for width in job_class.speedup.widths if width <= idle]
        return {min(widths, key=lambda width: self.cost(job_class, idle, width), default=1): 1.0}

    @abstractmethod
    def cost(self, job_class: JobClass, idle: int, width: int) -> float:
        """Return what a width that fits costs."""


@dataclass(frozen=True)
class PackingPrice(CheapestWidth):
    """The price policy with a charge for leaving exactly one server idle."""

    q0: float
    ell: float
    charge: float

    def cost(self, job_class: JobClass, idle: int, width: int) -> float:
        """Charge servers, and leaving one over."""
        held = sum(math.exp(self.q0 - (idle - k) / self.ell) for k in range(width))
        left_over = self.charge if idle - width == 1 else 0.0
        return (1.0 + held) / job_class.speedup[width] + left_over


@dataclass(frozen=True)
class LastingPrice(CheapestWidth):
    """A level that lasts, and scarcity that passes while a job runs.

    While servers are short their price is above the level, and returns to it at some rate: a job
    that runs for a time t meets on average 1/(1 + rate t) of what is above it now.
    """

    q0: float
    ell: float
    level: float
    rate: float

    def cost(self, job_class: JobClass, idle: int, width: int) -> float:
        """Charge the level, and scarcity as long as it lasts."""
        time = job_class.mean_size / job_class.speedup[width]
        scarcity = sum(math.exp(self.q0 - (idle - k) / self.ell) for k in range(width))
        return time * (1.0 + width * self.level + scarcity / (1.0 + self.rate * time))


def one_price(numbers: Numbers) -> Policy:
    """Build the price policy of q0 and the logarithm of ell."""
    return PricePolicy.exponential(numbers[0], math.exp(numbers[1]))


def price_per_class(numbers: Numbers) -> Policy:
    """Build two prices that differ in q0."""
    ell = math.exp(numbers[1])
    names = [job_class.name for job_class in TWO_CLASSES.classes]
    levels = (numbers[0], numbers[0] + numbers[2])
    return PricePerClass(
        {name: PricePolicy.exponential(q0, ell) for name, q0 in zip(names, levels, strict=True)}
    )


def packing(numbers: Numbers) -> Policy:
    """Build a price with a charge."""
    return PackingPrice(numbers[0], math.exp(numbers[1]), max(numbers[2], 0.0))


def with_level(rate: float) -> Callable[[Numbers], Policy]:
    """Return the family of prices with a level to which they return at this rate."""

    def build(numbers: Numbers) -> Policy:
        return LastingPrice(numbers[0], math.exp(numbers[1]), max(2.0 * numbers[2], 0.0), rate)

    return build


def least(
    workload: Workload, servers: int, build: Callable[[Numbers], Policy], more: int, price: float
) -> float:
    """Return a family's least cost: of a wide cloud, then of narrowing ones around the best."""
    rng = np.random.default_rng(1)
    low, high = np.array([-2.0, 0.0, *[-1.0] * more]), np.array([4.0, 3.5, *[1.0] * more])
    known: dict[Numbers, float] = {}

    def measure(at: np.ndarray) -> None:
        numbers = tuple(at.tolist())
        found = stationary_law(Scenario(workload, servers), build(numbers)).performance()
        blocking, time = found.blocking.value, found.mean_execution_time.value
        known[numbers] = (1.0 - blocking) * time + price * blocking * unit

    unit = sum(c.arrival_rate * c.mean_size for c in workload.classes) / workload.arrival_rate
    # The family without its further numbers takes part, so that it cannot seem better.
    for at in rng.uniform(low, high, (WIDE, low.size)):
        measure(at)
        measure(np.where(np.arange(low.size) < 2, at, 0.0))
    for reach in CLOSER:
        for step in rng.uniform(-reach, reach, (EACH, low.size)):
            measure(np.array(min(known, key=known.__getitem__)) + step)
    return min(known.values())


def experiments() -> Iterator[Verdict]:
    """Compare at several prices of a blocked job; both gains are small."""
    for price in BLOCKED_JOB_PRICES:
        gain = _gain("a price for each class", TWO_CLASSES, SERVERS, price_per_class, price)
        yield Verdict(f"price {price:g}: gain of a price for each class", gain, 0.01)
    for price in (CHEAP, *BLOCKED_JOB_PRICES):
        gain = _gain("a charge for packing", CONCAVE, CONCAVE_SERVERS, packing, price)
        yield Verdict(f"price {price:g}: gain of packing", gain, 0.02)
    for price in BLOCKED_JOB_PRICES:
        time = optimal_control(Scenario(UNEQUAL, UNEQUAL_SERVERS), price).mean_execution_time
        for what, rate in (("a level", 0.0), ("one felt through time", 1.0 / time)):
            gain = _gain(what, UNEQUAL, UNEQUAL_SERVERS, with_level(rate), price)
            yield Verdict(f"price {price:g}: gain of {what}", gain, 0.02)


def _gain(
    what: str, workload: Workload, servers: int, build: Callable[[Numbers], Policy], price: float
) -> float:
    """Print how far one price and a variant are above the optimum; return what is gained."""
    plain, varied = (
        least(workload, servers, family, more, price)
        for family, more in ((one_price, 0), (build, 1))
    )
    best = optimal_control(Scenario(workload, servers), price).cost
    print(
        f"  price {price:g}: above the optimum, one price {100 * (plain / best - 1):.2f} %, "
        f"{what} {100 * (varied / best - 1):.2f} %"
    )
    return plain / varied - 1.0
