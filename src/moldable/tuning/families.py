"""How do whole families of policies trade blocking for time, beside the true optimum?

For every price of a blocked job the best of each family is evaluated on its own; prices of servers
are first measured on a common grid.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from moldable.arrays import Floats
from moldable.errors import ChainError
from moldable.evaluation.evaluate import check_request
from moldable.model.scenario import Scenario
from moldable.model.workload import Workload
from moldable.optimal.tradeoff import PRICES, TradeoffCurve, checked_prices, tradeoff
from moldable.policies.greedy import Greedy
from moldable.simulation.replications import count_workers
from moldable.simulation.simulate import check_seed_and_threads, fresh_seed
from moldable.system.performance import Performance
from moldable.threads import on_threads
from moldable.tuning.judge import Judge
from moldable.tuning.shapes import priced, tails_tried
from moldable.tuning.static_family import StaticFamily, optimal_shares
from moldable.tuning.steps import Say, silent
from moldable.tuning.targets import Target
from moldable.tuning.trials import FEW_SERVERS, Pair, Trials, one_pool, weights_do_not_count

Q0: Final = np.linspace(-2.0, 6.0, 25)
STRETCHES: Final = np.geomspace(0.25, 8.0, 11)
"""Values of ell, in square roots of the servers."""
NEAR: Final = np.linspace(-0.24, 0.24, 7)
NEARER: Final = NEAR / 3.0
"""Steps around the best of every price, in q0 and in the logarithm of ell."""
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
        numbers: what names the policy in its family: q0, ell and, if it is a long one, the tail; or
            the design load.
        performance: of that policy.
    """

    price: float
    numbers: tuple[float, ...]
    performance: Performance

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        numbers = list(self.numbers)
        return {"price": self.price, "numbers": numbers, **self.performance.figures()}


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
        seed: with which the same is found again; None if nothing was drawn at random.
        warnings: what a reader should know.
    """

    optimum: TradeoffCurve | None
    why_no_optimum: str
    price_policy: tuple[Chosen, ...]
    static: tuple[Chosen, ...]
    greedy_p: Performance | None
    greedy: Performance
    seed: int | None = None
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        return {
            "optimum": None if self.optimum is None else self.optimum.to_dict(),
            "why_no_optimum": self.why_no_optimum or None,
            "price_policy": [part.to_dict() for part in self.price_policy],
            "static": [part.to_dict() for part in self.static],
            "greedy_p": None if self.greedy_p is None else self.greedy_p.to_dict(),
            "greedy": self.greedy.to_dict(),
            "seed": self.seed,
            "warnings": list(self.warnings),
        }


def families(
    workload: Workload,
    servers: int,
    prices: Iterable[float] = PRICES,
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
    ascending = checked_prices(prices)
    trials = Trials(one_pool(workload), servers, fresh_seed() if seed is None else seed, threads)
    judges = [Judge(trials, _target(price, trials), precision) for price in ascending]
    say("computing the true optimum")
    optimum, why = _optimum(trials, ascending)
    say("trying prices")
    own = _best_prices(trials, judges)
    say("trying greedy(p*) for other loads")
    static = _best_loads(trials, judges)
    say("evaluating greedy(p*) and greedy")
    shares, judge = optimal_shares(trials.workload, trials.servers), judges[0]
    paper = None if shares is None else judge.evaluate(shares)
    warnings = tuple(weights_do_not_count(workload))
    greedy = judge.evaluate(Greedy())
    seed = None if trials.exact else trials.seed
    return Families(optimum, why, own, static, paper, greedy, seed, warnings)


def _optimum(trials: Trials, prices: list[float]) -> tuple[TradeoffCurve | None, str]:
    try:
        return tradeoff(
            Scenario(trials.workload, trials.servers), prices, threads=trials.threads
        ), ""
    except ChainError as error:
        return None, str(error)


def _target(price: float, trials: Trials) -> Target:
    return Target.of(None, price, None, trials.unit)


def _price(judge: Judge) -> float:
    """Return what a blocked job costs."""
    assert judge.target.blocked_job_price is not None  # noqa: S101 - all have one here
    return judge.target.blocked_job_price


def _best_prices(trials: Trials, judges: list[Judge]) -> tuple[Chosen, ...]:
    """Judge the likeliest prices of servers, of every shape, and choose for every judge."""
    targets = [judge.target for judge in judges]
    tails = tails_tried(trials.workload, trials.servers, long_tail=None)
    finalists = [(*pair, tail) for tail in tails for pair in _likeliest(trials, targets, tail)]
    policies = [priced(*numbers) for numbers in finalists]
    judged = on_threads(judges[0].evaluate, policies, count_workers(trials.threads, None))
    found = dict(zip(finalists, judged, strict=True))
    chosen = []
    for judge in judges:
        numbers = min(found, key=lambda each: judge.target.merit_of(found[each]))
        finite = tuple(number for number in numbers if math.isfinite(number))
        chosen.append(Chosen(_price(judge), finite, found[numbers]))
    return tuple(chosen)


def _likeliest(trials: Trials, targets: list[Target], tail: float) -> list[Pair]:
    """Look on a wide grid, then ever closer around the best of every target."""
    root = math.sqrt(trials.servers)
    wide = [(float(q), root * float(s)) for q in Q0 for s in STRETCHES]
    figures = _measured(trials, wide, tail, COARSE)
    near = _around(_cheapest(figures, targets, 1), NEAR)
    figures = _measured(trials, near, tail, FINE)
    nearer = _around(_cheapest(figures, targets, 1), NEARER)
    figures |= _measured(trials, nearer, tail, FINE)
    figures = _measured(trials, _cheapest(figures, targets, SHORTLIST), tail, FINEST)
    # Of many servers the figures are simulated: one more look would only pick the luckiest.
    return _cheapest(figures, targets, FINALISTS if trials.servers <= FEW_SERVERS else 1)


def _around(pairs: list[Pair], steps: Floats) -> list[Pair]:
    shifts = steps.tolist()
    return [(q + a, ell * math.exp(b)) for q, ell in pairs for a in shifts for b in shifts]


def _measured(trials: Trials, pairs: list[Pair], tail: float, number: int) -> dict[Pair, Pair]:
    """Measure every different table once."""
    distinct = {trials.price_table(pair, tail): pair for pair in pairs}
    measured = trials.prices(list(distinct.values()), number, tail)
    return dict(zip(distinct.values(), measured, strict=True))


def _cheapest(figures: dict[Pair, Pair], targets: list[Target], count: int) -> list[Pair]:
    """Return so many of the best for every target, each once."""
    best = [
        pair
        for target in targets
        for pair in sorted(figures, key=lambda pair: target.merit(*figures[pair]))[:count]
    ]
    return list(dict.fromkeys(best))


def _best_loads(trials: Trials, judges: list[Judge]) -> tuple[Chosen, ...]:
    """Choose the design load for every judge."""
    family = StaticFamily(trials)
    found = [(judge, family.best(judge)) for judge in judges]
    return tuple(
        Chosen(_price(judge), (best.design_load,), best.performance)
        for judge, best in found
        if best is not None
    )
