"""Which price is best where trials see no blocking at all?

The search of trials ends with an ell that suits what can be counted. Further down its tail another
may serve better, so on clusters that are not too large a few are followed and the best is taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from moldable.errors import ControlError
from moldable.model.scenario import Scenario
from moldable.policies.price import PricePolicy
from moldable.simulation.descents import rare_blocking
from moldable.tuning.judge import SLOPE_ROUND
from moldable.tuning.knob import Knob, price_knob
from moldable.tuning.search import HIGHEST_Q, LOWEST_Q
from moldable.tuning.tail import turned_down
from moldable.tuning.targets import SEARCHED, Target
from moldable.tuning.trials import FEW_SERVERS, Pair, Trials

STRIDE: Final = 0.3
"""By how many square roots of n a price is shifted, in servers, to see how a tail goes on."""
BINDING: Final = 0.3
"""Share of its limit that blocking reaches where the limit matters."""
STRETCHES: Final = (0.3, 0.5, 0.8, 1.3)
"""Values of ell that are tried beside the one found, in square roots of n."""
Q0: Final = np.linspace(LOWEST_Q, HIGHEST_Q, 37)


def within_rare_blocking(
    trials: Trials, pair: Pair, tail: float, target: Target
) -> list[tuple[Knob[PricePolicy], float]]:
    """Go on from prices whose blocking can be counted to one whose blocking is too rare.

    Args:
        trials: the system.
        pair: the best q0 and ell for the least blocking that is counted.
        tail: of the price.
        target: with a limit on blocking too rare to count.

    Returns:
        prices, the fastest first, each with the slope of blocking's logarithm there.
    """
    assert target.max_blocking is not None  # noqa: S101 - it is rare
    root = math.sqrt(trials.servers)
    if trials.prices([pair], SLOPE_ROUND, tail)[0][0] < BINDING * SEARCHED:
        pair = LOWEST_Q, root  # anything reaches what can be counted: begin with the widest jobs
    found, refusals = [], []
    for start in (pair, *_others(trials, tail, target.countable())):
        knob = price_knob(start, tail, trials.servers)
        stride = STRIDE * root / start[1]
        try:
            found.append(turned_down(trials, knob, stride, SEARCHED, target.max_blocking))
        except ControlError as refusal:
            refusals.append(refusal)
    if not found:
        raise refusals[0]
    figures = trials.measure([knob.policy for knob, _ in found], SLOPE_ROUND)
    return [found[i] for i in sorted(range(len(found)), key=lambda i: figures[i][1])]


def rarest_within_time(
    trials: Trials, pair: Pair, tail: float, target: Target
) -> Knob[PricePolicy] | None:
    """Return the price that blocks least within a time; None if trials can tell, or nothing can."""
    if trials.exact or trials.prices([pair], SLOPE_ROUND, tail)[0][0] > SEARCHED:
        return None
    least, best = math.inf, None
    for start in (pair, *_others(trials, tail, target)):
        knob = price_knob(start, tail, trials.servers)
        blocking = rare_blocking(
            Scenario(trials.workload, trials.servers),
            knob.policy,
            seed=trials.seed,
            threads=trials.threads,
        )
        if blocking is None:
            return None
        if blocking < least:
            least, best = blocking, knob
    return best


def _others(trials: Trials, tail: float, target: Target) -> Iterator[Pair]:
    """Reach the target with other values of ell; where trials take long, with none."""
    if trials.servers > FEW_SERVERS:
        return
    for stretch in STRETCHES:
        ell = stretch * math.sqrt(trials.servers)
        figures = trials.prices([(q0, ell) for q0 in Q0.tolist()], SLOPE_ROUND, tail)
        blocking, time = np.array(figures).T
        at = target.along(Q0, blocking, time)
        if at is not None:
            yield at[0], ell
