"""Which price blocks so rarely that trials do not see it? A tail fitted to what they do see.

Along q0 the logarithm of blocking bends only slowly, until it turns where narrower jobs no longer
help. A parabola through blocking from one in a hundred to one in a hundred thousand is carried on
from there. What it says is a place to look, not a proof: that is left to exact chains and counting.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from moldable.control.trials import Pair, Trials
from moldable.errors import ControlError

POINTS: Final = 16
ROUND: Final = 6
FROM: Final = 1e-2
FEWEST: Final = 6
"""Points of the fit that must have seen something."""
NEAR: Final = 0.3


@final
@dataclass(frozen=True)
class Tail:
    """Where a price reaches a limit that trials cannot see.

    Attributes:
        q0: of the price.
        slope: of blocking's logarithm in q0, there.
    """

    q0: float
    slope: float


def fitted_tail(trials: Trials, pair: Pair, counted: float, limit: float) -> Tail:
    """Carry blocking on from what can be counted to the limit.

    Args:
        trials: what counts.
        pair: a price near which blocking is ``counted``.
        counted: the least blocking that the search has seen.
        limit: the blocking to reach.
    """
    q0, ell = pair
    step = NEAR * math.sqrt(trials.servers) / ell
    before, here = trials.prices([(q0 - step, ell), (q0, ell)], ROUND - 1)
    if not before[0] > here[0] > 0.0:
        raise ControlError(_turned(limit))
    reach = step / math.log(before[0] / here[0])
    low = q0 - reach * max(math.log(FROM / counted), 1.0)
    knob = np.linspace(low, q0 + reach * math.log(10.0), POINTS)
    blocking = np.array([b for b, _ in trials.prices([(q, ell) for q in knob.tolist()], ROUND)])
    seen = (blocking > 0.0) & (blocking < 2.0 * FROM)
    if np.count_nonzero(seen) < FEWEST:
        raise ControlError(_turned(limit))
    # Counts vary by their square roots, so logarithms by one over these.
    bend, lean, level = np.polyfit(
        knob[seen] - q0, np.log(blocking[seen]), 2, w=np.sqrt(blocking[seen])
    )
    return _carried(q0, (float(bend), float(lean), float(level)), limit)


def _carried(q0: float, fit: tuple[float, float, float], limit: float) -> Tail:
    """Solve the parabola for the limit, on the side where blocking falls."""
    bend, lean, level = fit
    root = lean * lean - 4.0 * bend * (level - math.log(limit))
    if root <= 0.0 or lean >= 0.0:
        raise ControlError(_turned(limit))
    slope = -math.sqrt(root)
    return Tail(q0 + 2.0 * (math.log(limit) - level) / (lean + slope), slope)


def _turned(limit: float) -> str:
    return (
        f"max_blocking={limit:g} is not reached in this family as far as its tail can be fitted: "
        f"narrower jobs stop helping before; allow more, or add servers"
    )
