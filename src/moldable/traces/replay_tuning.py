"""Tune a policy on the first part of a log."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Final

from moldable.errors import SimulationError
from moldable.policies.even_price import Q0, EvenPrice
from moldable.policies.greedy import Greedy
from moldable.policies.idle_share import IdleShare
from moldable.policies.policy import Policy
from moldable.traces.decision_rows import DecisionRows
from moldable.traces.replay_setting import ReplaySetting
from moldable.traces.schedule import Submissions, schedule

FEWEST: Final = 10
"""Jobs without which nothing can be learnt from the first part."""
PRICES: Final = (-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
"""Values of q0 that are tried."""
LENGTHS: Final = (1.0, 2.0, 4.0, 8.0)
"""Values of ell that are tried, in square roots of the number of servers."""
SAME: Final = 1.005
"""Ratio of mean response times below which they count as equal."""
KEPT, COPIES = 6, 4
"""Policies that are compared a second time, and the shifted copies on which they are."""


def tune_on_first_part(
    setting: ReplaySetting, report: Callable[[str], None] | None = None
) -> Policy:
    """Return the policy with the least mean response time on the jobs that are not judged.

    Tried are the even price with several parameters, the idle share, and the largest width that
    fits. Responses differ by chance as much as between good parameters, so the best few are
    compared again on shifted copies of the log. Of those that differ by less than half a per cent,
    the one with the least mean wait is taken.
    """
    jobs, *copies = setting.first_part(COPIES)
    if len(jobs) < FEWEST:
        raise SimulationError(
            f"the first part of the log has {len(jobs)} jobs, too few to tune a policy on; judge "
            f"from a later job (judged_from=0.5), or replay policies that are not tuned"
        )
    root = math.sqrt(setting.servers)
    candidates: list[Policy] = [EvenPrice(q0, each * root) for each in LENGTHS for q0 in PRICES]
    candidates += [EvenPrice(Q0, root), IdleShare(), Greedy()]
    found: dict[tuple[float, float], Policy] = {}  # equal schedules are kept once
    for tried, policy in enumerate(candidates, start=1):
        if report is not None:
            report(f"tuning: policy {tried} of {len(candidates)}")
        found.setdefault(_means(setting, policy, [jobs]), policy)
    if report is not None:
        report("tuning: comparing the best policies")
    finalists = [found[means] for means in sorted(found)[:KEPT]]
    again = {_means(setting, policy, [jobs, *copies]): policy for policy in finalists}
    least = min(response for response, _ in again)
    wait, mean = min((wait, mean) for mean, wait in again if mean <= SAME * least)
    return again[mean, wait]


def _means(
    setting: ReplaySetting, policy: Policy, copies: Sequence[Submissions]
) -> tuple[float, float]:
    """Return the mean response time and the mean wait over copies of the first part."""
    rows = DecisionRows(policy, setting.kinds, setting.servers, len(copies[0]))
    waits, responses = [], []
    for jobs in copies:
        found = schedule(jobs, rows, setting.options.discipline)
        waits.append(float((found.start - jobs.submit).mean()))
        responses.append(waits[-1] + float(found.run_time.mean()))
    return fmean(responses), fmean(waits)
