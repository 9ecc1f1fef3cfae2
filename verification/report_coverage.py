"""Coverage of the intervals of `moldable live report` for clusters that queue, against exact means.

Between 92 and 99 % of the intervals of 300 simulated logs must contain the exact answer. The last
log is short compared with the time over which waits are correlated: there, 80 % are enough.
"""

from __future__ import annotations

from collections.abc import Iterator

from live.clusters import Remembered, journal
from moldable import Scenario, evaluate
from moldable.live.report.observed import Observed
from moldable.policies import queue_value_policy
from verification.named_curves import SUBLINEAR
from verification.verdict import Verdict

RUNS = 300
MOST = 99.0
CLUSTERS = (
    (0.5, 20, 5_000, 92.0),
    (0.8, 20, 5_000, 92.0),
    (0.8, 64, 20_000, 92.0),
    (0.9, 20, 5_000, 80.0),
)
"""Load, servers and jobs of a log, and the least coverage in per cent."""


def experiments() -> Iterator[Verdict]:
    """Judge every figure on every cluster."""
    for load, servers, jobs, least in CLUSTERS:
        scenario = Scenario.single(SUBLINEAR, load, servers, waiting="unlimited")
        policy = queue_value_policy(scenario)
        queueing, quick = evaluate(scenario, policy).queueing, Remembered(policy)
        (rate,) = (each.arrival_rate for each in scenario.workload.classes)
        truth = {
            "arrival rate": rate,
            "mean wait": queueing.mean_wait,
            "wait probability": queueing.wait_probability,
        }
        hits = dict.fromkeys(truth, 0)
        for seed in range(RUNS):
            seen = Observed(scenario, grace=0.0)
            for entry in journal(scenario, quick, jobs, seed):
                seen.add(entry)
            seen.finish()
            found = (seen.arrival_rate(0), seen.mean_wait(0), seen.wait_probability(0))
            for name, each in zip(truth, found, strict=True):
                low, high = each.interval
                hits[name] += low <= truth[name] <= high
        for name, count in hits.items():
            share = 100.0 * count / RUNS
            what = f"load {load}, {servers} servers, {jobs} jobs, {name}"
            print(f"  {what}: {share:.1f} %")
            off = max(least - share, share - MOST, 0.0)
            yield Verdict(f"{what}: per cent outside {least:g} to 99", off, 0.0)
