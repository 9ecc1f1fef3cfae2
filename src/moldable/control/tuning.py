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
from moldable.control.judge import Judge
from moldable.control.knob import Knob, price_knob
from moldable.control.rare import rarest_within_time, within_rare_blocking
from moldable.control.search import Search
from moldable.control.static_family import Static, best_static, optimal_shares
from moldable.control.steps import Say, silent
from moldable.control.targets import HOPELESS, Target
from moldable.control.trials import FEW_SERVERS, Trials
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
WORTH_A_WAIT: Final = 300_000
"""States of a programme, some seconds long, that says whether any policy keeps a limit."""
NO_OPTIMUM: Final = (
    f"the true optimum is not known here: it needs exponential sizes and at most {MOST_STATES:,} "
    f"states, and figures that numbers can tell apart"
)


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
    impossible = _impossible(*system, target)
    if impossible:
        raise ControlError(impossible)
    found, refused = [], ""
    for tail in tails:
        step = say if math.isinf(tail) else partial(_say_with, say, tail)
        try:
            rounds = candidates(trials, target, step, tail)
        except ControlError as error:
            refused = refused or str(error)
            continue
        step("judging the best prices")
        found += [judge.settle(finalists, slope) for finalists, slope in rounds]
    if not found:
        raise _unreached(*system, target, refused)
    knob, answer, certified = min(found, key=lambda one: (not one[2], target.merit_of(one[1])))
    if target.merit_of(answer) >= HOPELESS and (not judge.blind or judge.refuted(answer)):
        raise _unreached(*system, target, _nearest(target, answer))
    return knob, answer, certified


def _say_with(say: Say, tail: float, step: str) -> None:
    say(f"tail {tail:g}: {step}")


def candidates(
    trials: Trials, target: Target, say: Say = silent, tail: float = math.inf
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
    say("measuring the best prices again")
    search.polish(*pair, POLISHED)
    finalists = search.best_tried(FINALISTS, LOOKS)
    return [([price_knob(each, tail, trials.servers) for each in finalists], None)]


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
    if target.max_time is None:
        least = least_possible_blocking(workload, servers, WORTH_A_WAIT)
    else:
        least = least_possible_time(workload, servers, WORTH_A_WAIT)
    if least is None or target.limit is None:
        return ControlError(why)
    if target.limit < least:
        return ControlError(_hopeless(servers, target, least))
    return ControlError(f"{why}; policies outside it go down to {least:.6g}")


def _nearest(target: Target, answer: Performance) -> str:
    nearest = f"blocking {answer.blocking}, mean execution time {answer.mean_execution_time}"
    asked = (
        f"max_blocking={target.max_blocking:g}"
        if target.max_blocking is not None
        else f"max_time={target.max_time:g}"
    )
    return (
        f"{asked} was not reached in this family; allow more, or add servers; the nearest found: "
        f"{nearest}"
    )


def _impossible(workload: Workload, servers: int, target: Target) -> str | None:
    """Say that no policy at all keeps the limit, if a programme shows it at once."""
    if target.max_blocking is None:
        return None
    least = least_possible_blocking(workload, servers, AT_ONCE)
    if least is None or target.max_blocking >= least:
        return None
    return _hopeless(servers, target, least)


def _hopeless(servers: int, target: Target, least: float) -> str:
    told = f"of any policy on {servers} servers is {rounded_up(least)}; allow"
    if target.max_time is not None:
        return (
            f"max_time={target.max_time:g} cannot be reached: the least mean execution time {told} "
            f"that much"
        )
    return (
        f"max_blocking={target.max_blocking:g} cannot be reached: the least blocking {told} that "
        f"much, or add servers"
    )


def rounded_up(figure: float) -> str:
    """Return four digits of a least value that is still reached."""
    digit = 10.0 ** (math.floor(math.log10(figure)) - 3)
    return f"{math.ceil(figure / digit) * digit:.4g}"
