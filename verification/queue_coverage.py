"""Coverage of the confidence intervals of clusters that queue, against exact answers.

Between 92 and 98 % of 300 intervals must contain the exact answer, at loads 0.5, 0.8 and 0.9.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from moldable import Scenario, evaluate, simulate
from verification.named_curves import SUBLINEAR
from verification.verdict import Verdict

RUNS = 300
LEAST, MOST = 92.0, 98.0
JOBS = {0.5: 20_000, 0.8: 40_000, 0.9: 120_000}
FIGURES = ("mean_response_time", "mean_wait", "wait_probability", "queue_length")


def experiments() -> Iterator[Verdict]:
    """Judge every figure at every load."""
    for load, jobs in JOBS.items():
        scenario = Scenario.single(SUBLINEAR, load, 10, waiting=math.inf)
        exact = evaluate(scenario, "even-price").queueing
        hits = dict.fromkeys(FIGURES, 0)
        for seed in range(RUNS):
            run = simulate(scenario, "even-price", jobs=jobs, replications=32, seed=seed)
            for name in FIGURES:
                low, high = getattr(run.queueing, name).interval
                hits[name] += low <= getattr(exact, name) <= high
        for name, count in hits.items():
            share = 100.0 * count / RUNS
            print(f"  load {load}, {name}: {share:.1f} %")
            off = max(LEAST - share, share - MOST)
            yield Verdict(f"load {load}, {name}: per cent outside 92 to 98", max(off, 0.0), 0.0)
