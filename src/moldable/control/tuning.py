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

from moldable.chain.states import MOST_STATES
from moldable.control.judge import SLOPE_ROUND, Judge, Knob
from moldable.control.search import LOWEST_Q, Search
from moldable.control.static_family import Static, best_static, optimal_shares
from moldable.control.steps import Say, silent
from moldable.control.tail import turned_down
from moldable.control.targets import HOPELESS, SEARCHED, Target
from moldable.control.trials import FEW_SERVERS, Pair, Trials, priced
from moldable.control.tuned import Tuned
from moldable.control.yardstick import (
    AT_ONCE,
    best,
    least_possible_blocking,
    least_possible_time,
)
from moldable.errors import ControlError
from moldable.evaluation import check_request
from moldable.performance import Performance
from moldable.policies.price import PricePolicy
from moldable.simulation.simulate import check_seed_and_threads, fresh_seed
from moldable.workload import Workload

POLISHED: Final = 2
LOOKS: Final = (48, 5), (12, 7)
"""The round whose number of jobs the neighbours of the best take; how many of all are then measured
again, and with the jobs of which round."""
FINALISTS: Final = 3
"""Tables that are judged."""
TAILS: Final = (math.inf, 2.0)
"""The exponential's, and the one tried beside it if long tails are allowed: of 1 to 8 the best."""
SHIFT: Final = 0.05
"""By how many square roots of n a price is shifted, in servers, to see what q0 does."""
STRIDE: Final = 0.3
"""The same, to see how a tail goes on."""
FARTHEST: Final = 100.0
"""Values of q0 beyond which no price changes a decision."""
WORTH_A_WAIT: Final = 300_000
"""States of a programme, some seconds long, that says whether any policy keeps a limit."""
NO_OPTIMUM: Final = (
    f"the true optimum is not known here: it needs exponential sizes and at most {MOST_STATES:,} "
    f"states, and figures that numbers can tell apart"
)
BINDING: Final = 0.3
"""Share of its limit that blocking reaches where the limit matters."""


def tune(
    workload: Workload,
    servers: int,
    *,
    max_blocking: float | None = None,
    blocked_job_price: float | None = None,
    max_time: float | None = None,
    long_tail: bool = False,
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
        long_tail: whether prices that fall ever more slowly are tried beside the exponential:
            twice the work for 0.1 % on concave curves, and several per cent on super-linear ones.
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
    if workload.sharing != "pool":
        raise ControlError("one price serves classes that share a pool; these own servers")
    seed = fresh_seed() if seed is None else seed
    trials = Trials(workload, servers, seed, threads)
    target = Target.of(max_blocking, blocked_job_price, max_time, trials.unit)
    judge = Judge(trials, target, precision)
    tails = TAILS if long_tail else TAILS[:1]
    knob, answer, certified = _settled(judge, say, tails)
    say("trying greedy(p*) for other loads")
    paper, static = optimal_shares(workload, servers), best_static(trials, judge)
    say("computing the true optimum")
    known = best(workload, servers, target, MOST_STATES if optimum else AT_ONCE)
    doubts = _doubts(judge, answer, static, certified=certified, tails=tails)
    if optimum and known is None:
        doubts.append(NO_OPTIMUM)
    return Tuned(
        **{"tail": None} | knob.policy.price.keys(),
        policy=knob.policy,
        thresholds=knob.policy.describe(workload, servers),
        performance=dataclasses.replace(answer, warnings=(*answer.warnings, *doubts)),
        greedy_p=None if paper is None else judge.evaluate(paper),
        static=static,
        optimum=known,
        certified=certified,
        limited=target.limit is not None,
    )


def _settled(
    judge: Judge, say: Say, tails: Sequence[float]
) -> tuple[Knob[PricePolicy], Performance, bool]:
    """Find the best price that keeps the limit; the last is whether it is certified."""
    trials, target = judge.trials, judge.target
    system = trials.workload, trials.servers
    say("looking for the least possible blocking")
    impossible = _impossible(*system, target, AT_ONCE)
    if impossible:
        raise ControlError(impossible)
    found, refused = [], ""
    for tail in tails:
        step = say if math.isinf(tail) else partial(_say_with, say, tail)
        try:
            finalists, slope = candidates(trials, target, step, tail)
        except ControlError as error:
            refused = refused or str(error)
            continue
        step("judging the best prices")
        found.append(judge.settle(finalists, slope))
    if not found:
        raise _unreached(*system, target, refused)
    knob, answer, certified = min(found, key=lambda one: (not one[2], target.merit_of(one[1])))
    if target.merit_of(answer) >= HOPELESS and not judge.blind:
        raise _unreached(*system, target, _nearest(target, answer))
    return knob, answer, certified


def _say_with(say: Say, tail: float, step: str) -> None:
    say(f"tail {tail:g}: {step}")


def candidates(
    trials: Trials, target: Target, say: Say = silent, tail: float = math.inf
) -> tuple[list[Knob[PricePolicy]], float | None]:
    """Return the likeliest prices, and the slope of blocking there if it was followed."""
    rare, aim = target.rare and not trials.exact, target if trials.exact else target.countable()
    measure, key = partial(trials.prices, tail=tail), partial(trials.price_table, tail=tail)
    search = Search(measure, aim, key, say)
    pair = search.run(math.sqrt(trials.servers), repeat=not trials.exact)
    if rare and target.max_blocking is not None:
        say("following blocking down its tail")
        knob, slope = _rare(trials, pair, tail, target.max_blocking)
        return [knob], slope
    if trials.servers > FEW_SERVERS:
        return [_knob(pair, tail, trials.servers)], None
    say("measuring the best prices again")
    search.polish(*pair, POLISHED)
    finalists = search.best_tried(FINALISTS, LOOKS)
    return [_knob(each, tail, trials.servers) for each in finalists], None


def _rare(trials: Trials, pair: Pair, tail: float, limit: float) -> tuple[Knob[PricePolicy], float]:
    """Go on from a price whose blocking can be counted to one whose blocking is too rare."""
    root = math.sqrt(trials.servers)
    if trials.prices([pair], SLOPE_ROUND, tail)[0][0] < BINDING * SEARCHED:
        pair = LOWEST_Q, root  # anything reaches what can be counted: begin with the widest jobs
    knob = _knob(pair, tail, trials.servers)
    return turned_down(trials, knob, STRIDE * root / pair[1], SEARCHED, limit)


def _knob(pair: Pair, tail: float, servers: int) -> Knob[PricePolicy]:
    q0, ell = pair

    def build(q0: float) -> PricePolicy:
        return priced(min(max(q0, -FARTHEST), FARTHEST), ell, tail)

    return Knob(q0, build, SHIFT * math.sqrt(servers) / ell)


def _doubts(
    judge: Judge,
    answer: Performance,
    static: Static | None,
    *,
    certified: bool,
    tails: Sequence[float],
) -> list[str]:
    """Say why a limit is not certified, and whether a simpler policy would be better."""
    doubts, target = [], judge.target
    if not certified and judge.blind:
        doubts.append(
            f"for these sizes blocking as rare as {target.max_blocking:g} was carried on from what "
            f"can be counted: it cannot be certified"
        )
    elif not certified:
        doubts.append("the limit is met, but not at the far end of the interval")
    classes, servers = judge.trials.workload.classes, judge.trials.servers
    bent = [c.name for c in classes if not c.speedup.up_to(servers).is_concave()]
    if bent and len(tails) == 1:
        doubts.append(
            f"the speed-up of {', '.join(bent)} is not concave: a price that falls ever more "
            f"slowly may do better by some per cent; try --long-tail (long_tail=True)"
        )
    if static is not None and target.merit_of(static.performance) < target.merit_of(answer):
        doubts.append(
            f"greedy(p*) for load {static.design_load:.4g} is better here: use "
            f"greedy-p:{static.design_load:.4g}"
        )
    return doubts


def _unreached(workload: Workload, servers: int, target: Target, why: str) -> ControlError:
    """Say why a limit was not reached, and whether any policy could."""
    if target.max_time is not None:
        say_no = _too_fast(workload, servers, target.max_time)
    else:
        say_no = _impossible(workload, servers, target, WORTH_A_WAIT)
    return ControlError(say_no or why)


def _too_fast(workload: Workload, servers: int, max_time: float) -> str | None:
    """Say that no policy at all is that fast, if a programme shows it."""
    least = least_possible_time(workload, servers, WORTH_A_WAIT)
    if least is None or max_time >= least:
        return None
    return (
        f"max_time={max_time:g} cannot be reached: the least mean execution time of any policy on "
        f"{servers} servers is {least:.4g}; allow more"
    )


def _nearest(target: Target, answer: Performance) -> str:
    nearest = f"blocking {answer.blocking}, mean execution time {answer.mean_execution_time}"
    asked = (
        f"max_blocking={target.max_blocking:g}"
        if target.max_blocking is not None
        else f"max_time={target.max_time:g}"
    )
    return f"{asked} was not reached in this family; the nearest found: {nearest}"


def _impossible(workload: Workload, servers: int, target: Target, states: int) -> str | None:
    """Say that no policy at all keeps the limit, if a programme of so many states shows it."""
    if target.max_blocking is None:
        return None
    least = least_possible_blocking(workload, servers, states)
    if least is None or target.max_blocking >= least:
        return None
    return (
        f"max_blocking={target.max_blocking:g} cannot be reached: the least blocking of any "
        f"policy on {servers} servers is {least:.4g}; allow more, or add servers"
    )
