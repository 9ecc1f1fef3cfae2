"""One curve of a million widths: time of its preparation and of each query."""

from __future__ import annotations

import time

from benchmarks.table import Row, best_seconds
from moldable import SpeedUp, optimum
from moldable.allocation import Frontier

QUERIES = 10_000


def rows() -> list[Row]:
    """Time the preparation and the queries."""
    curve = SpeedUp.amdahl(0.95, 1_000_000)
    started = time.process_time()
    frontier = Frontier.of(curve)
    prepared = time.process_time() - started
    loads = [0.01 + 0.9 * k / QUERIES for k in range(QUERIES)]

    def ask() -> None:
        for load in loads:
            answer = optimum(frontier, load)
            _ = answer.support, answer.mix.shares, answer.mean_execution_time

    query = best_seconds(ask, 5) / QUERIES
    return [
        Row("preparing 1,000,000 widths", f"{prepared:.2f} s", ""),
        Row(
            "support, shares and D* at one load",
            f"{1e6 * query:.1f} us",
            "below 20 us",
            query < 20e-6,
        ),
    ]
