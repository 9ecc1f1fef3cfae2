"""How do whole families of policies trade blocking for time, beside the true optimum?

The price policy and greedy(p*) for other loads are measured on a common grid, and for every price
of a blocked job the best of each is evaluated on its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from moldable.control.static_family import design_loads, optimal_shares
from moldable.control.steps import Say, silent
from moldable.control.targets import Target
from moldable.control.tradeoff import PRICES, TradeoffCurve, tradeoff
from moldable.control.trials import FEW_SERVERS, Pair, Trials
from moldable.errors import ChainError
from moldable.evaluation import check_request, evaluate
from moldable.hull import Floats
from moldable.performance import Performance
from moldable.policies.greedy import Greedy, greedy_p
from moldable.policies.policy_table import Policy
from moldable.policies.price import PricePolicy
from moldable.simulation.replications import count_workers
from moldable.simulation.simulate import check_seed_and_threads, fresh_seed
from moldable.workload import Workload

Q0: Final = np.linspace(-2.0, 6.0, 25)
STRETCHES: Final = np.geomspace(0.25, 8.0, 11)
"""Values of ell, in square roots of the servers."""
NEAR: Final = np.linspace(-0.24, 0.24, 7)
NEARER: Final = NEAR / 3.0
"""Steps around the best of every price, in q0 and in the logarithm of ell."""
LOADS: Final = 64
COARSE, FINE, FINEST = 2, 4, 6
"""Rounds whose number of jobs the looks take."""
SHORTLIST, FINALISTS = 8, 3
"""Tables of every price that are measured once more, and those of them that are judged."""


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
        greedy_p: greedy(p*) itself; None if the cluster cannot carry the load.
        greedy: the widest that fits.
    """

    optimum: TradeoffCurve | None
    why_no_optimum: str
    price_policy: tuple[Chosen, ...]
    static: tuple[Chosen, ...]
    greedy_p: Performance | None
    greedy: Performance

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        return {
            "optimum": None if self.optimum is None else self.optimum.to_dict(),
            "why_no_optimum": self.why_no_optimum or None,
            "price_policy": [part.to_dict() for part in self.price_policy],
            "static": [part.to_dict() for part in self.static],
            "greedy_p": None if self.greedy_p is None else self.greedy_p.to_dict(),
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
    progress: Say | None = None,
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
    say = progress or silent
    check_request("auto", precision)
    check_seed_and_threads(seed, threads)
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
    paper = None if optimal_shares(workload, servers) is None else judge(None)
    return Families(optimum, why, own, static, paper, judge(Greedy()))


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
    """Look on a wide grid, then ever closer around the best of every price."""
    targets = [_target(price, trials) for price in prices]
    root = math.sqrt(trials.servers)
    wide = [(float(q), root * float(s)) for q in Q0 for s in STRETCHES]
    figures = _measured(trials, wide, COARSE)
    near = _around(_cheapest(figures, targets, 1), NEAR)
    figures = _measured(trials, near, FINE)
    nearer = _around(_cheapest(figures, targets, 1), NEARER)
    figures |= _measured(trials, nearer, FINE)
    figures = _measured(trials, _cheapest(figures, targets, SHORTLIST), FINEST)
    # Of many servers the figures are simulated: one more look would only pick the luckiest.
    count = FINALISTS if trials.servers <= FEW_SERVERS else 1
    finalists = _cheapest(figures, targets, count)
    with ThreadPoolExecutor(count_workers(trials.threads, None)) as pool:
        judged = pool.map(judge, [PricePolicy.exponential(*pair) for pair in finalists])
        found = dict(zip(finalists, judged, strict=True))
    chosen = []
    for price, target in zip(prices, targets, strict=True):
        pair = min(found, key=lambda pair: target.merit_of(found[pair]))
        chosen.append(Chosen(price, pair, found[pair]))
    return tuple(chosen)


def _around(pairs: list[Pair], steps: Floats) -> list[Pair]:
    shifts = steps.tolist()
    return [(q + a, ell * math.exp(b)) for q, ell in pairs for a in shifts for b in shifts]


def _measured(trials: Trials, pairs: list[Pair], number: int) -> dict[Pair, Pair]:
    """Measure every different table once."""
    distinct = {trials.price_table(pair): pair for pair in pairs}
    measured = trials.prices(list(distinct.values()), number)
    return dict(zip(distinct.values(), measured, strict=True))


def _cheapest(figures: dict[Pair, Pair], targets: list[Target], count: int) -> list[Pair]:
    """Return so many of the best for every target, each once."""
    best = [
        pair
        for target in targets
        for pair in sorted(figures, key=lambda pair: target.merit(*figures[pair]))[:count]
    ]
    return list(dict.fromkeys(best))


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
