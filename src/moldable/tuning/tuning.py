"""Which two numbers make the price policy reach a target, at any n?

By the exact chain where it is small; else by trying many prices at once on common random numbers.
Blocking too rare for these is followed down its tail. The chosen price is judged apart.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from functools import partial
from typing import Final

from moldable.errors import ControlError
from moldable.evaluation.evaluate import check_request
from moldable.exact.states import MOST_STATES
from moldable.model.workload import Workload
from moldable.policies.price import PricePolicy
from moldable.simulation.simulate import check_seed_and_threads, fresh_seed
from moldable.system.performance import Performance
from moldable.tuning.judge import Judge
from moldable.tuning.knob import Knob, price_knob
from moldable.tuning.rare import rarest_within_time, within_rare_blocking
from moldable.tuning.refusals import (
    nearest_found,
    refuse_endless_sizes,
    refuse_impossible,
    unreached,
)
from moldable.tuning.search import Search
from moldable.tuning.shapes import EXPONENTIAL, tails_tried
from moldable.tuning.static_family import Static, StaticFamily, optimal_shares
from moldable.tuning.steps import Say, silent
from moldable.tuning.targets import HOPELESS, Target
from moldable.tuning.trials import FEW_SERVERS, Pair, Trials, one_pool, weights_do_not_count
from moldable.tuning.tuned import Tuned
from moldable.tuning.yardstick import AT_ONCE, best, fits

Settled = tuple[Knob[PricePolicy], Performance, bool]

POLISHED: Final = {True: 4, False: 2}
LOOKS: Final = {True: ((64, 7), (16, 9)), False: ((48, 5), (12, 7))}
"""The round whose number of jobs the neighbours of the best take; how many of all are then measured
again, and with the jobs of which round: in lock step (True), or one by one."""
FINALISTS: Final = 3
"""Tables that are judged, unless they are judged exactly."""
LEAST_BLOCKING: Final = 1e6
"""A price of blocked jobs, in mean sizes, beside which time hardly counts."""
NO_OPTIMUM: Final = (
    f"the true optimum is not known here: it needs exponential sizes and at most {MOST_STATES:,} "
    f"states"
)
NOT_CLOSELY: Final = (
    "the true optimum is not known here: the dynamic programme came to no close answer; it needs "
    "figures that numbers can tell apart and classes whose sizes do not differ a millionfold"
)


def tune(
    workload: Workload,
    servers: int,
    *,
    max_blocking: float | None = None,
    blocked_job_price: float | None = None,
    max_time: float | None = None,
    long_tail: bool | None = None,
    optimum: bool = False,
    precision: float = 0.01,
    seed: int | None = None,
    threads: int | None = None,
    progress: Say | None = None,
) -> Tuned:
    """Find the price policy that reaches a target; give exactly one.

    Args:
        workload: the classes, sharing one pool.
        servers: the size of the cluster.
        max_blocking: least mean execution time with at most this blocking.
        blocked_job_price: least (1 - blocking) x time + price x blocking, in mean sizes.
        max_time: least blocking with at most this mean execution time.
        long_tail: whether prices that fall ever more slowly are tried beside the exponential, which
            is twice the work; if not said, where it pays: for several classes, and curves that are
            not concave. Elsewhere it gains 0.1 %.
        optimum: whether the true optimum is computed where that takes minutes, too: up to five
            million states.
        precision: of simulated figures.
        seed: of simulations; a fresh one if not given.
        threads: of simulations; all cores by default.
        progress: called with the step that begins, in words.
    """
    say = progress or silent
    check_request("auto", precision)
    check_seed_and_threads(seed, threads)
    seed = fresh_seed() if seed is None else seed
    trials = Trials(one_pool(workload), servers, seed, threads)
    target = Target.of(max_blocking, blocked_job_price, max_time, trials.unit)
    judge = Judge(trials, target, precision)
    knob, answer, certified = _settled(
        judge, say, tails_tried(trials.workload, trials.servers, long_tail=long_tail)
    )
    return _beside_rivals(judge, knob, answer, say, certified=certified, optimum=optimum)


def _beside_rivals(
    judge: Judge,
    knob: Knob[PricePolicy],
    answer: Performance,
    say: Say,
    *,
    certified: bool,
    optimum: bool,
) -> Tuned:
    """Evaluate what the paper's scheme and the true optimum reach under the same target."""
    trials, target = judge.trials, judge.target
    workload, servers = trials.workload, trials.servers
    say("trying greedy(p*) for other loads")
    paper, static = optimal_shares(workload, servers), StaticFamily(trials).best(judge)
    say("computing the true optimum")
    states = MOST_STATES if optimum else AT_ONCE
    known = best(workload, servers, target, states)
    doubts = _doubts(judge, answer, static, certified=certified)
    if known is None and fits(workload, servers, states):
        doubts.append(NOT_CLOSELY)
    elif known is None and optimum:
        doubts.append(NO_OPTIMUM)
    return Tuned(
        **{"tail": None} | knob.policy.price.keys(),
        policy=knob.policy,
        thresholds=knob.policy.describe(workload, servers),
        performance=dataclasses.replace(answer, warnings=(*answer.warnings, *doubts)),
        greedy_p=None if paper is None else judge.evaluate(paper),
        static=static,
        optimum=known,
        target=target.asked,
        precision=judge.precision,
        seed=None if trials.exact else trials.seed,
        certified=certified,
    )


def _settled(judge: Judge, say: Say, tails: Sequence[float]) -> Settled:
    """Find the best price that keeps the limit; the last is whether it is certified."""
    trials, target = judge.trials, judge.target
    system = trials.workload, trials.servers
    say("looking for the least possible blocking")
    refuse_endless_sizes(trials)
    refuse_impossible(*system, target)
    found, refused = _judged(judge, target, say, tails)
    if target.max_blocking is not None and not target.rare and not any(one[2] for one in found):
        # Just above the least blocking of the family only a search for that very least finds it.
        rarest = Target.of(None, LEAST_BLOCKING, None, trials.unit)
        found += _judged(judge, rarest, say, tails)[0]
    if not found:
        raise unreached(*system, target, refused, say)
    knob, answer, certified = min(found, key=lambda one: (not one[2], target.merit_of(one[1])))
    if target.merit_of(answer) >= HOPELESS and (not judge.blind or judge.refuted(answer)):
        raise unreached(*system, target, nearest_found(target, answer), say)
    return knob, answer, certified


def _judged(
    judge: Judge, aim: Target, say: Say, tails: Sequence[float]
) -> tuple[list[Settled], str]:
    """Judge what searches for an aim find, a price of each tail; say why if there is none."""
    found, refused = [], ""
    for tail in tails:
        step = say if math.isinf(tail) else partial(_say_with, say, tail)
        try:
            rounds = candidates(judge.trials, aim, step, tail)
        except ControlError as error:
            refused = refused or error.message
            continue
        step("judging the best prices")
        found += [judge.settle(finalists, slope) for finalists, slope in rounds]
    return found, refused


def _say_with(say: Say, tail: float, step: str) -> None:
    say(f"tail {tail:g}: {step}")


def candidates(
    trials: Trials, target: Target, say: Say = silent, tail: float = EXPONENTIAL
) -> list[tuple[list[Knob[PricePolicy]], float | None]]:
    """Return the likeliest prices, those to be settled together in one list.

    Beside each list is the slope of blocking there, if it was followed.
    """
    rare, aim = target.rare and not trials.exact, target if trials.exact else target.countable()
    measure, key = partial(trials.prices, tail=tail), partial(trials.price_table, tail=tail)
    search = Search(measure, aim, key, say)
    pair = search.run(math.sqrt(trials.servers), repeat=not trials.exact)
    if rare:
        say("following blocking down its tail")
        found = within_rare_blocking(trials, pair, tail, target)
        # To settle one takes long, unless it is exact.
        return [([knob], slope) for knob, slope in found[: FINALISTS if trials.solvable else 1]]
    if target.max_time is not None:
        rarest = rarest_within_time(trials, pair, tail, target)
        if rarest is not None:
            return [([rarest], None)]
    if trials.servers > FEW_SERVERS:
        return [([price_knob(pair, tail, trials.servers)], None)]
    finalists = _finalists(trials, search, pair, say)
    return [([price_knob(each, tail, trials.servers) for each in finalists], None)]


def _finalists(trials: Trials, search: Search, pair: Pair, say: Say) -> list[Pair]:
    """Return the best prices on few servers, near the one that was found or anywhere."""
    if trials.exact:
        say("trying all prices")
        search.cover(math.sqrt(trials.servers))
        return search.ranked()[:FINALISTS]
    say("measuring the best prices again")
    search.polish(*pair, POLISHED[trials.in_lock_step])
    search.look_again(LOOKS[trials.in_lock_step])
    # Exact figures tell which of those around the limit keep it.
    return search.around_limit() if trials.solvable else search.ranked()[:FINALISTS]


def _doubts(
    judge: Judge,
    answer: Performance,
    static: Static | None,
    *,
    certified: bool,
) -> list[str]:
    """Say why a limit is not certified, and whether a simpler policy would be better."""
    doubts, target = weights_do_not_count(judge.trials.workload), judge.target
    if not certified and judge.blind:
        doubts.append(
            f"for these sizes blocking as rare as {target.max_blocking:g} was carried on from what "
            f"can be counted: it cannot be certified"
        )
    elif not certified:
        doubts.append("the limit is met, but not at the far end of the interval")
    if static is not None and target.merit_of(static.performance) < target.merit_of(answer):
        doubts.append(
            f"greedy(p*) for load {static.design_load:.4g} is better here: use "
            f"greedy-p:{static.design_load!r}"
        )
    return doubts
