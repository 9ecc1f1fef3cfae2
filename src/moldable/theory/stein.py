"""The paper's bounds on the distance of greedy(p*) from the optimum at n servers.

These are Proposition 2 and Theorem 2 of the paper. They are loose (at n = 4000 with two widths the
bound on the blocking probability is 8 and more), and for two widths their proof has gaps:

collapse
    "at most one job narrower than i1" fails for two widths with i1 >= 2: a full system loses a
    width-4 job, a width-3 job arrives, one server is left, and a second narrow job takes it.
drift
    the Lyapunov function of the drift lemma jumps by order 1, not 1/n, when the departure rate
    crosses load + delta.
sign
    a step in the proof of Proposition 2 needs a difference to have one sign, but it has both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, final

from moldable.allocation.optimum import Optimum, optimum
from moldable.base_result import Result, Row
from moldable.checks import checked_int, number
from moldable.errors import LimitError
from moldable.model.scenario import checked_load
from moldable.model.speedup import SpeedUp
from moldable.model.spelling import Curve

COLLAPSE, DRIFT, SIGN = "collapse", "drift", "sign"
TWO: Final = 2


@final
@dataclass(frozen=True, slots=True, repr=False)
class Bounds(Result):
    """The paper's non-asymptotic bounds on greedy(p*).

    Attributes:
        distance: bound on E||x - y*||, the l1 distance of the scaled state from the optimum.
        blocking: bound on the blocking probability.
        time_gap: bound on |E[D] - D*| in mean sizes; None when the bounds are vacuous.
        delta: the free constant of the two-width bound at its best value; None for one width.
        order: the exponent of n in the bound on the distance, along the regime of `alpha`.
        proof: "complete", or "gap" where a step of the published proof fails.
        gaps: the steps that fail, among "collapse", "drift" and "sign".
        vacuous: whether the blocking bound is 1 or more.
        optimum: the optimum that the bounds are about.
        alpha: of the regime.

    Examples:
        >>> bounds([1, 1.8, 2.5], 0.8, 10**6).to_frame()["quantity"].tolist()
        ['distance', 'blocking', 'time_gap']
    """

    distance: float
    blocking: float
    time_gap: float | None
    delta: float | None
    order: float
    proof: str
    gaps: tuple[str, ...]
    vacuous: bool
    optimum: Optimum
    alpha: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        names = ("distance", "blocking", "time_gap", "delta", "order", "proof")
        found = {name: getattr(self, name) for name in names}
        given = {**self.optimum.inputs(), "alpha": self.alpha}
        return {**found, "gaps": list(self.gaps), "vacuous": self.vacuous, "inputs": given}

    def table(self) -> list[Row]:
        """Return a row for each quantity."""
        names = ("distance", "blocking", "time_gap")
        return [{"quantity": name, "at_most": getattr(self, name)} for name in names]

    def __repr__(self) -> str:
        return (
            f"Bounds(blocking={self.blocking:.6g}, distance={self.distance:.6g}, "
            f"time_gap={self.time_gap}, order={self.order:g}, proof={self.proof!r}, "
            f"vacuous={self.vacuous})"
        )


def bounds(speedup: Curve, load: float, servers: int, *, alpha: float = 0.0) -> Bounds:
    """Evaluate the paper's bounds for greedy(p*) with this many servers.

    Args:
        speedup: an increasing, concave curve over widths 1..d.
        load: arrival rate x mean size / servers.
        servers: n.
        alpha: how the load approaches 1 as n grows, for `order`; 0 for a fixed load.

    Examples:
        >>> bounds([1, 1.8, 2.5], 0.8, 1000).proof
        'complete'
    """
    load, alpha = checked_load(load), number(alpha, "alpha", LimitError)
    servers = checked_int(servers, "servers", LimitError)
    if load >= 1.0:
        raise LimitError(f"{load:g} must be below 1 for the paper's bounds; lower it", "load")
    solution = optimum(speedup, load, servers=servers)
    _refuse_other_curves(solution.frontier.speedup)
    d, n = int(solution.widths[-1]), servers
    squared, delta = (1.0 + 2.0 * d) / n, None
    gaps: tuple[str, ...] = ()
    two = len(solution.support) == TWO
    if two:
        # The terms of Proposition 2 for two widths; delta in (0, 1 - load) minimises the last two.
        first, second = (solution.frontier.speedup[width] / width for width in solution.support)
        gap = first - second
        delta = min(math.sqrt(2.0 * d * gap / (n * load)), 1.0 - load)
        squared += 2 * d / n * (1 / load + 1 / gap) + 4 * d / (n * load * delta) + 2 * delta / gap
        gaps = (COLLAPSE, DRIFT, SIGN) if solution.i1 >= TWO else (DRIFT, SIGN)
    distance = 1.0 / n + math.sqrt(2.0 * squared)
    blocking = d * distance / load
    vacuous, time_gap = blocking >= 1.0, None
    if not vacuous and two:
        time_gap = (distance + blocking) / ((1.0 - blocking) * load)
    elif not vacuous:
        time_gap = 1.0 / (n * load * (1.0 - blocking))
    return Bounds(
        distance=distance,
        blocking=blocking,
        time_gap=time_gap,
        delta=delta,
        order=max(-0.25, (alpha - 1.0) / 2.0) if two else -0.5,
        proof="gap" if two else "complete",
        gaps=gaps,
        vacuous=vacuous,
        optimum=solution,
        alpha=alpha,
    )


def _refuse_other_curves(speedup: SpeedUp) -> None:
    if int(speedup.widths[-1]) != len(speedup):
        raise LimitError(
            f"the paper's bounds need every width from 1 to d; this curve has "
            f"{len(speedup)} of {speedup.widths[-1]}: fill the gaps, or simulate instead"
        )
    broken = [v for v in speedup.violations() if v.assumption in ("increasing", "concave")]
    if broken:
        raise LimitError(
            f"the paper's bounds need an increasing, concave curve: {broken[0]}; "
            f"drop that width or smooth the curve"
        )
