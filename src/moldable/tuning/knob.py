"""Which number of a policy trades its blocking for time?"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar, final

from moldable.policies.policy_table import Policy
from moldable.policies.price import PricePolicy
from moldable.tuning.shapes import priced
from moldable.tuning.trials import Pair

P = TypeVar("P", bound=Policy)

SHIFT: Final = 0.05
"""By how many square roots of n a price is shifted, in servers, to see what q0 does."""
FARTHEST: Final = 100.0
"""Values of q0 beyond which no price changes a decision."""


@final
@dataclass(frozen=True)
class Knob(Generic[P]):
    """A policy and the number that trades its blocking for time.

    Attributes:
        value: of the number.
        build: the policy it makes.
        small: a change of it that is small, but shows.
    """

    value: float
    build: Callable[[float], P]
    small: float

    @property
    def policy(self) -> P:
        """What it makes now."""
        return self.build(self.value)

    def turned(self, step: float) -> Knob[P]:
        """Return the knob at another value."""
        return dataclasses.replace(self, value=self.value + step)


def price_knob(pair: Pair, tail: float, servers: int) -> Knob[PricePolicy]:
    """Return a price whose q0 can be turned."""
    q0, ell = pair

    def build(q0: float) -> PricePolicy:
        return priced(min(max(q0, -FARTHEST), FARTHEST), ell, tail)

    return Knob(q0, build, SHIFT * math.sqrt(servers) / ell)
