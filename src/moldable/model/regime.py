"""Traffic regimes of the paper: load = 1 - beta * n**-alpha on n servers, named by alpha."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from moldable.checks import LARGEST, checked_int, positive, within
from moldable.errors import RegimeError

HALFIN_WHITT = 0.5


@final
@dataclass(frozen=True, slots=True)
class Regime:
    """The family of loads 1 - beta * n**-alpha.

    Args:
        alpha: exponent with which the load approaches 1; at least 0.
        beta: distance of the load from 1 at n = 1; above 0.

    Examples:
        >>> Regime(alpha=0.5, beta=0.1).load(100)
        0.99
    """

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        alpha = within(self.alpha, "alpha", RegimeError, 0.0, LARGEST, "0 is a fixed load")
        beta = positive(self.beta, "beta", RegimeError, "0 would make the load 1")
        object.__setattr__(self, "alpha", alpha)
        object.__setattr__(self, "beta", beta)
        if self.alpha == 0.0 and self.beta >= 1.0:
            raise RegimeError(
                f"{self.beta} with alpha=0 gives the load {1.0 - self.beta:g} at every n; "
                f"loads must lie in (0, 1): take beta below 1",
                "beta",
            )

    @property
    def name(self) -> str:
        """The paper's name of the regime."""
        if self.alpha == 0.0:
            return "mean-field"
        if self.alpha < HALFIN_WHITT:
            return "sub-Halfin-Whitt"
        if self.alpha == HALFIN_WHITT:
            return "Halfin-Whitt"
        return "super-Halfin-Whitt" if self.alpha < 1.0 else "super-NDS"

    def load(self, servers: int) -> float:
        """Return the load of a cluster with this many servers."""
        servers = checked_int(servers, "servers", RegimeError)
        load = 1.0 - self.beta * math.pow(servers, -self.alpha)
        if not 0.0 < load < 1.0:
            advice = "take a smaller beta" if load <= 0.0 else "take a smaller alpha"
            raise RegimeError(
                f"alpha={self.alpha:g}, beta={self.beta:g} give the load {load:g} at n={servers}; "
                f"loads must lie in (0, 1): {advice} or another n"
            )
        return load
