"""How do whole families of policies trade blocking for time, beside the true optimum?

The price policy and greedy(p*) for other loads are measured on a common grid, and for every price
of a blocked job the best of each is evaluated on its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from moldable.control.static_family import design_loads
from moldable.control.targets import Target
from moldable.control.tradeoff import PRICES, TradeoffCurve, tradeoff
from moldable.control.trials import Pair, Trials
from moldable.errors import ChainError
from moldable.evaluation import check_request, evaluate
from moldable.performance import Performance
from moldable.policies.greedy import Greedy, greedy_p
from moldable.policies.policy_table import Policy
from moldable.policies.price import PricePolicy
from moldable.simulation.simulate import fresh_seed
from moldable.workload import Workload

Q0: Final = np.linspace(-2.0, 6.0, 25)
STRETCHES: Final = np.geomspace(0.25, 4.0, 9)
"""Values of ell, in square roots of the servers."""
NEARER: Final = (-0.2, -0.1, 0.1, 0.2)
LOADS: Final = 64
COARSE, FINE = 2, 3
"""Rounds whose number of jobs the two looks take."""


@final
@dataclass(frozen=True)
class Chosen:
    """The best of a family at one price of a blocked job.

    Attributes:
        price: in mean sizes.
        numbers: what names the policy in its family: (q0, ell), or the design load.
        performance: of that policy.
    """

    price: float
    numbers: tuple[float, ...]
    performance: Performance

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        own = self.performance.to_dict()
        figures = ("blocking", "blocking_interval", "mean_execution_time")
        return {
            "price": self.price,
            "numbers": list(self.numbers),
            **{name: own[name] for name in figures},
            "mean_execution_time_interval": own["mean_execution_time_interval"],
        }


@final
@dataclass(frozen=True)
class Families:
    """Trade-off curves side by side.

    Attributes:
        optimum: over all policies; None where there are too many states.
        why_no_optimum: the reason then.
        price_policy: the best price policy at every price.
        static: the best greedy(p*) for another load at every price.
        greedy_p: greedy(p*) itself.
        greedy: the widest that fits.
    """

    optimum: TradeoffCurve | None
    why_no_optimum: str
    price_policy: tuple[Chosen, ...]
    static: tuple[Chosen, ...]
    greedy_p: Performance
    greedy: Performance

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        return {
            "optimum": None if self.optimum is None else self.optimum.to_dict(),
            "why_no_optimum": self.why_no_optimum or None,
            "price_policy": [part.to_dict() for part in self.price_policy],
            "static": [part.to_dict() for part in self.static],
            "greedy_p": self.greedy_p.to_dict(),
            "greedy": self.greedy.to_dict(),
        }


def families(
    workload: Workload,
    servers: int,
    prices: Sequence[float] = PRICES,
    *,
    precision: float = 0.01,
    seed: int | None = None,
    threads: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Families:
    """Return the trade-off curves of the true optimum and of the families of policies.

    Args:
        workload: the classes, sharing one pool.
        servers: the size of the cluster.
        prices: of a blocked job, in mean sizes.
        precision: of simulated figures.
        seed: of simulations; a fresh one if not given.
        threads: all cores by default.
        progress: called with the step that begins, in words.
    """
    say = progress or _silent
    check_request("auto", precision)
    seed = fresh_seed() if seed is None else seed
    say("computing the true optimum")
    optimum, why = _optimum(workload, servers, prices, threads)
    trials = Trials(workload, servers, seed, threads)

    def judge(policy: Policy | None) -> Performance:
        return evaluate(
            workload, servers, policy, precision=precision, seed=seed + 1, threads=threads
        )

    say("trying prices")
    own = _best_prices(trials, prices, judge)
    say("trying greedy(p*) for other loads")
    static = _best_loads(trials, prices, judge)
    say("evaluating greedy(p*) and greedy")
    return Families(optimum, why, own, static, judge(None), judge(Greedy()))


def _silent(step: str) -> None:
    """Say nothing."""


def _optimum(
    workload: Workload, servers: int, prices: Sequence[float], threads: int | None
) -> tuple[TradeoffCurve | None, str]:
    try:
        return tradeoff(workload, servers, prices, threads=threads), ""
    except ChainError as error:
        return None, str(error)


def _target(price: float, trials: Trials) -> Target:
    return Target.of(None, price, None, trials.unit)


def _best_prices(
    trials: Trials, prices: Sequence[float], judge: Callable[[Policy | None], Performance]
) -> tuple[Chosen, ...]:
    """Look on a wide grid, then around the best of every price."""
    root = math.sqrt(trials.servers)
    wide = [(float(q), root * float(s)) for q in Q0 for s in STRETCHES]
    figures = _measured(trials, wide, COARSE)
    winners = {_cheapest(figures, _target(price, trials)) for price in prices}
    near = [
        (q + a, ell * math.exp(b)) for q, ell in winners for a in NEARER for b in (0.0, *NEARER)
    ]
    figures = _measured(trials, [*winners, *near], FINE)
    found: dict[Pair, Performance] = {}
    chosen = []
    for price in prices:
        pair = _cheapest(figures, _target(price, trials))
        if pair not in found:
            found[pair] = judge(PricePolicy.exponential(*pair))
        chosen.append(Chosen(price, pair, found[pair]))
    return tuple(chosen)


def _measured(trials: Trials, pairs: list[Pair], number: int) -> dict[Pair, Pair]:
    """Measure every different table once."""
    distinct = {trials.price_table(pair): pair for pair in pairs}
    measured = trials.prices(list(distinct.values()), number)
    return dict(zip(distinct.values(), measured, strict=True))


def _cheapest(figures: dict[Pair, Pair], target: Target) -> Pair:
    return min(figures, key=lambda pair: target.merit(*figures[pair]))


def _best_loads(
    trials: Trials, prices: Sequence[float], judge: Callable[[Policy | None], Performance]
) -> tuple[Chosen, ...]:
    loads = design_loads(trials, LOADS)
    policies = [greedy_p(trials.workload, trials.servers, float(load)) for load in loads]
    figures = trials.measure(policies, COARSE)
    found: dict[int, Performance] = {}
    chosen = []
    for price in prices:
        target = _target(price, trials)
        i = min(range(LOADS), key=lambda k: target.merit(*figures[k]))
        if i not in found:
            found[i] = judge(policies[i])
        chosen.append(Chosen(price, (float(loads[i]),), found[i]))
    return tuple(chosen)
