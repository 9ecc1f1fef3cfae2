"""Which two numbers make the price policy reach a target, at any n?

By the exact chain where it is small; else by trying many prices at once on common random numbers.
Blocking too rare for these is followed down its tail. The chosen price is judged apart.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Final, final

from moldable.control.judge import SLOPE_ROUND, Judge, Knob
from moldable.control.search import LOWEST_Q, Search
from moldable.control.static_family import Static, best_static, optimal_shares
from moldable.control.steps import Say, silent
from moldable.control.tail import turned_down
from moldable.control.targets import HOPELESS, SEARCHED, Target
from moldable.control.trials import FEW_SERVERS, Pair, Trials
from moldable.control.yardstick import AT_ONCE, Best, best, least_possible_blocking
from moldable.errors import ControlError
from moldable.evaluation import check_request
from moldable.performance import Performance
from moldable.policies.policy_file import policy_data
from moldable.policies.price import PricePolicy
from moldable.simulation.simulate import check_seed_and_threads, fresh_seed
from moldable.workload import Workload

POLISHED: Final = 3
LOOKS: Final = (48, 5), (12, 7)
"""The round whose number of jobs the neighbours of the best take; how many of all are then measured
again, and with the jobs of which round."""
FINALISTS: Final = 3
"""Tables that are judged."""
SHIFT: Final = 0.05
"""By how many square roots of n a price is shifted, in servers, to see what q0 does."""
STRIDE: Final = 0.3
"""The same, to see how a tail goes on."""
FARTHEST: Final = 100.0
"""Values of q0 beyond which no price changes a decision."""
WORTH_A_WAIT: Final = 300_000
"""States of a programme, some seconds long, that says whether any policy keeps a limit."""
BINDING: Final = 0.3
"""Share of its limit that blocking reaches where the limit matters."""


@final
@dataclass(frozen=True)
class Tuned:
    """A price policy that reaches a target.

    Attributes:
        q0: of its price exp(q0 - idle/ell).
        ell: of its price.
        policy: itself.
        thresholds: its decisions in words.
        performance: how it performs, with intervals.
        greedy_p: how greedy(p*) performs; None if the cluster cannot carry the load.
        static: the best greedy(p) for another load under the same target; None if none was found.
        optimum: what no policy can better, where that is known at once.
        certified: whether the limit is kept exactly, or at the far end of the 95 % interval; True
            if there is none to keep.
        limited: whether there is a limit to keep.
    """

    q0: float
    ell: float
    policy: PricePolicy
    thresholds: str
    performance: Performance
    greedy_p: Performance | None
    static: Static | None
    optimum: Best | None
    certified: bool
    limited: bool

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        own = self.performance.to_dict()
        static = None
        if self.static is not None:
            static = {
                "design_load": self.static.design_load,
                **_two(self.static.performance),
            }
        figures = (
            "blocking",
            "blocking_interval",
            "mean_execution_time",
            "mean_execution_time_interval",
        )
        return {
            "q0": self.q0,
            "ell": self.ell,
            "thresholds": self.thresholds,
            **{name: own[name] for name in figures},
            "greedy_p": None if self.greedy_p is None else _two(self.greedy_p),
            "static": static,
            "optimum": None if self.optimum is None else self.optimum.to_dict(),
            "certified": self.certified,
            "policy": policy_data(self.policy),
            "method": self.performance.method,
            "warnings": list(self.performance.warnings),
            "provenance": dict(self.performance.provenance),
        }


def _two(answer: Performance) -> dict[str, float]:
    return {
        "blocking": answer.blocking.value,
        "mean_execution_time": answer.mean_execution_time.value,
    }


def tune(
    workload: Workload,
    servers: int,
    *,
    max_blocking: float | None = None,
    blocked_job_price: float | None = None,
    max_time: float | None = None,
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
    knob, answer, certified = _settled(judge, say)
    say("trying greedy(p*) for other loads")
    paper, static = optimal_shares(workload, servers), best_static(trials, judge)
    say("computing the true optimum")
    return Tuned(
        **knob.policy.price.keys(),
        policy=knob.policy,
        thresholds=knob.policy.describe(workload, servers),
        performance=_with_doubts(judge, answer, static, certified=certified),
        greedy_p=None if paper is None else judge.evaluate(paper),
        static=static,
        optimum=best(workload, servers, target),
        certified=certified,
        limited=target.limit is not None,
    )


def _settled(judge: Judge, say: Say) -> tuple[Knob[PricePolicy], Performance, bool]:
    """Find the best price that keeps the limit; the last is whether it is certified."""
    trials, target = judge.trials, judge.target
    system = trials.workload, trials.servers
    say("looking for the least possible blocking")
    impossible = _impossible(*system, target, AT_ONCE)
    if impossible:
        raise ControlError(impossible)
    try:
        finalists, slope = candidates(trials, target, say)
    except ControlError as error:
        raise _unreached(*system, target, str(error)) from None
    say("judging the best prices")
    knob, answer, certified = judge.settle(finalists, slope)
    if target.merit_of(answer) >= HOPELESS and not judge.blind:
        raise _unreached(*system, target, _nearest(target, answer))
    return knob, answer, certified


def candidates(
    trials: Trials, target: Target, say: Say = silent
) -> tuple[list[Knob[PricePolicy]], float | None]:
    """Return the likeliest prices, and the slope of blocking there if it was followed."""
    rare, aim = target.rare and not trials.exact, target if trials.exact else target.countable()
    search = Search(trials.prices, aim, trials.price_table, say)
    pair = search.run(math.sqrt(trials.servers), repeat=not trials.exact)
    if rare and target.max_blocking is not None:
        say("following blocking down its tail")
        knob, slope = _rare(trials, pair, target.max_blocking)
        return [knob], slope
    if trials.servers > FEW_SERVERS:
        return [_knob(pair, trials.servers)], None
    say("measuring the best prices again")
    search.polish(*pair, POLISHED)
    finalists = search.best_tried(FINALISTS, LOOKS)
    return [_knob(each, trials.servers) for each in finalists], None


def _rare(trials: Trials, pair: Pair, limit: float) -> tuple[Knob[PricePolicy], float]:
    """Go on from a price whose blocking can be counted to one whose blocking is too rare."""
    root = math.sqrt(trials.servers)
    if trials.prices([pair], SLOPE_ROUND)[0][0] < BINDING * SEARCHED:
        pair = LOWEST_Q, root  # anything reaches what can be counted: begin with the widest jobs
    knob = _knob(pair, trials.servers)
    return turned_down(trials, knob, STRIDE * root / pair[1], SEARCHED, limit)


def _knob(pair: Pair, servers: int) -> Knob[PricePolicy]:
    q0, ell = pair

    def build(q0: float) -> PricePolicy:
        return PricePolicy.exponential(min(max(q0, -FARTHEST), FARTHEST), ell)

    return Knob(q0, build, SHIFT * math.sqrt(servers) / ell)


def _with_doubts(
    judge: Judge, answer: Performance, static: Static | None, *, certified: bool
) -> Performance:
    """Add why a limit is not certified, and whether a simpler policy would be better."""
    doubts, target = [], judge.target
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
            f"greedy-p:{static.design_load:.4g}"
        )
    return dataclasses.replace(answer, warnings=(*answer.warnings, *doubts))


def _unreached(workload: Workload, servers: int, target: Target, why: str) -> ControlError:
    """Say why a limit was not reached, and whether any policy could."""
    say_no = _impossible(workload, servers, target, WORTH_A_WAIT)
    return ControlError(say_no or why)


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
