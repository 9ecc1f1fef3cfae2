"""Tuned policies with few waiting places and a limit on blocking, against the optimum under it.

The limits lie between the blocking of one server for each job and that of the even price.
"""

from __future__ import annotations

from collections.abc import Iterator

from moldable import Scenario, evaluate, tune
from verification.named_curves import SUBLINEAR
from verification.verdict import Verdict

LOADS, PLACES, SHARES = (0.7, 0.9), (1, 3, 10), (0.3, 0.7)
WORST = {8: 2.5, 16: 1.0}
"""Per cent above the optimum, by servers."""


def experiments() -> Iterator[Verdict]:
    """Print a line for each system and limit, and judge the worst of each number of servers."""
    for servers, worst in WORST.items():
        found = [
            excess
            for load in LOADS
            for places in PLACES
            for excess in _excesses(Scenario.single(SUBLINEAR, load, servers, waiting=places))
        ]
        what = f"tuned policies on {servers} servers under a limit, per cent above the optimum"
        yield Verdict(what, max(found), worst)


def _excesses(scenario: Scenario) -> Iterator[float]:
    ends = sorted(evaluate(scenario, name).blocking.value for name in ("fixed:1", "even-price"))
    for share in SHARES:
        limit = ends[0] + share * (ends[1] - ends[0])
        tuned = tune(scenario, max_blocking=limit, seed=1)
        best = tuned.optimum.mean_response_time
        excess = 100.0 * (tuned.performance.queueing.mean_response_time / best - 1.0)
        used = 100.0 * tuned.performance.blocking / limit
        case = f"n = {scenario.servers}, load {scenario.load}, {scenario.waiting} places"
        print(
            f"  {case}, limit {limit:.4g}: {excess:.2f} % above, {used:.1f} % of the limit is used",
            flush=True,
        )
        yield excess
