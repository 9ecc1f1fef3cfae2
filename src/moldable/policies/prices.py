"""What does it cost to hold a server while so many are idle?

A price is what a unit of a server's time costs, in units of a job's own time, by the idle servers
that are counted when it is charged. It never rises with them: what is plentiful is cheap.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Self, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.checks import LARGEST, MOST_SERVERS, number, positive
from moldable.errors import PolicyError

LARGEST_EXPONENT: Final = math.log(LARGEST)


class Price(ABC):
    """A price by idle servers that is data: it can be compared, pickled and written down."""

    @abstractmethod
    def at(self, idle: Ints) -> Floats:
        """Return the price at each idle count, from 1 on."""

    @abstractmethod
    def settled(self, level: float) -> int:
        """Return an idle count from which the price is at most this level or does not change."""

    @abstractmethod
    def keys(self) -> dict[str, Any]:
        """Return the numbers it is made of, ready for JSON."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What reports call it."""


@final
@dataclass(frozen=True)
class ExponentialPrice(Price):
    """exp(q0 - idle/ell): it falls by the same factor with every further idle server.

    Args:
        q0: the logarithm of the price where nothing is idle.
        ell: how many more idle servers divide the price by e.
    """

    q0: float
    ell: float

    def __post_init__(self) -> None:
        _check_two(self)

    def at(self, idle: Ints) -> Floats:
        """Return exp(q0 - idle/ell)."""
        price: Floats = np.exp(self.q0 - idle / self.ell)
        return price

    def settled(self, level: float) -> int:
        """Solve for the level."""
        return _count(self.ell * (self.q0 - math.log(level)))

    def keys(self) -> dict[str, Any]:
        """Return q0 and ell."""
        return {"q0": self.q0, "ell": self.ell}

    @property
    def name(self) -> str:
        """Its two numbers."""
        return f"q0 {self.q0:g}, ell {self.ell:g}"


@final
@dataclass(frozen=True)
class LongTailPrice(Price):
    """exp(q0) * (1 + idle/(tail * ell))**-tail: it falls like the exponential, then ever slower.

    As the tail grows it becomes exp(q0 - idle/ell); near no idle servers the two are alike.

    Args:
        q0: the logarithm of the price where nothing is idle.
        ell: how many idle servers would divide the price by e, if it went on as it begins.
        tail: the power with which it falls in the end.
    """

    q0: float
    ell: float
    tail: float

    def __post_init__(self) -> None:
        _check_two(self)
        hint = "it is the power with which the price falls; leave it out for the exponential"
        object.__setattr__(self, "tail", positive(self.tail, "price: tail", PolicyError, hint))

    def at(self, idle: Ints) -> Floats:
        """Return exp(q0) * (1 + idle/(tail * ell))**-tail."""
        price: Floats = np.exp(self.q0 - self.tail * np.log1p(idle / self.tail / self.ell))
        return price

    def settled(self, level: float) -> int:
        """Solve for the level."""
        excess = max(self.q0 - math.log(level), 0.0) / self.tail
        return _count(self.tail * self.ell * math.expm1(min(excess, LARGEST_EXPONENT)))

    def keys(self) -> dict[str, Any]:
        """Return q0, ell and the tail."""
        return {"q0": self.q0, "ell": self.ell, "tail": self.tail}

    @property
    def name(self) -> str:
        """Its three numbers."""
        return f"q0 {self.q0:g}, ell {self.ell:g}, tail {self.tail:g}"


@final
@dataclass(frozen=True)
class PowerLawPrice(Price):
    """scale * (idle + 1)**-exponent: a price with a long tail.

    Args:
        scale: the price where nothing is idle.
        exponent: how fast it falls; at least 0.
    """

    scale: float
    exponent: float

    def __post_init__(self) -> None:
        exponent = number(self.exponent, "price: exponent", PolicyError)
        if not 0.0 <= exponent <= LARGEST:
            raise PolicyError(
                f"price: exponent={exponent} must be at least 0 and finite: a price never rises "
                f"with the idle servers; correct it"
            )
        object.__setattr__(self, "scale", positive(self.scale, "price: scale", PolicyError))
        object.__setattr__(self, "exponent", exponent)

    def at(self, idle: Ints) -> Floats:
        """Return scale * (idle + 1)**-exponent."""
        price: Floats = self.scale * np.exp(-self.exponent * np.log1p(idle))
        return price

    def settled(self, level: float) -> int:
        """Solve for the level; a constant has settled from the start."""
        if self.exponent == 0.0:
            return 1
        excess = math.log(self.scale) - math.log(level)
        return _count(math.exp(min(excess / self.exponent, LARGEST_EXPONENT)))

    def keys(self) -> dict[str, Any]:
        """Return the scale and the exponent."""
        return {"scale": self.scale, "exponent": self.exponent}

    @property
    def name(self) -> str:
        """Its two numbers."""
        return f"power law {self.scale:g}, {self.exponent:g}"


@final
@dataclass(frozen=True)
class TabulatedPrice(Price):
    """A price for each idle count.

    Args:
        prices: with 1, 2, ... idle; the last one holds for all larger counts.
    """

    prices: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "prices", _checked(self.prices))

    @classmethod
    def of(cls, prices: Iterable[float]) -> Self:
        """Return the table of any list of prices."""
        if not isinstance(prices, Iterable):
            raise PolicyError(
                f"price: prices={prices!r} is no list; write the prices with 1, 2, ... idle"
            )
        return cls(tuple(prices))

    def at(self, idle: Ints) -> Floats:
        """Look the price up."""
        prices = np.array(self.prices)
        found: Floats = prices[np.minimum(idle, prices.size) - 1]
        return found

    def settled(self, level: float) -> int:  # noqa: ARG002 - the last price may be any
        """From the last row on, nothing changes."""
        return len(self.prices)

    def keys(self) -> dict[str, Any]:
        """Return the table."""
        return {"prices": list(self.prices)}

    @property
    def name(self) -> str:
        """The price, or how many there are."""
        first, count = self.prices[0], len(self.prices)
        return f"constant {first:g}" if count == 1 else f"table of {count} prices"


def _check_two(price: ExponentialPrice | LongTailPrice) -> None:
    """Refuse q0 and ell that make no price, and keep them as plain numbers."""
    q0 = number(price.q0, "price: q0", PolicyError)
    if not abs(q0) <= LARGEST_EXPONENT:
        raise PolicyError(
            f"price: q0={q0} must lie between {-LARGEST_EXPONENT:.0f} and "
            f"{LARGEST_EXPONENT:.0f}: it is the logarithm of a price; correct it"
        )
    hint = "it is the number of idle servers that divides the price by e: try the root of servers"
    object.__setattr__(price, "q0", q0)
    object.__setattr__(price, "ell", positive(price.ell, "price: ell", PolicyError, hint))


def _checked(prices: Iterable[object]) -> tuple[float, ...]:
    found: list[float] = []
    for idle, price in enumerate(prices, start=1):
        value = number(price, f"price: the price with {idle} idle", PolicyError)
        if not 0.0 <= value <= LARGEST:
            raise PolicyError(
                f"price: the price with {idle} idle is {value}; prices must be at least 0 and "
                f"finite: correct it"
            )
        if found and value > found[-1]:
            raise PolicyError(
                f"price: the price rises from {found[-1]:g} with {idle - 1} idle to {value:g} with "
                f"{idle}; a server must not cost more while more are idle: lower it"
            )
        found.append(value)
    if not found:
        raise PolicyError("price: there is no price; give the one with 1 idle at least")
    return tuple(found)


def _count(idle: float) -> int:
    return max(1, math.ceil(min(idle, float(MOST_SERVERS))))
