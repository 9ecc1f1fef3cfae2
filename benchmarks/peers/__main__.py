"""Run every peer with every size law it supports, and compare its blocking with the exact one."""

from __future__ import annotations

import math

from benchmarks.peers import model, priority_queue, with_ciw, with_line, with_simpy

# A few seconds of CPU each.
PEERS = (
    (with_simpy, 600_000),
    (with_ciw, 20_000),
    (with_line, 2_000_000),
    (priority_queue, 20_000_000),
)
# Standard deviation of the blocking x square root of the arrivals, estimated from replications.
SPREAD = {"exponential": 0.85, "deterministic": 0.78, "lognormal": 0.93}
# With sizes of infinite variance it decreases more slowly, like the fourth root.
PARETO_SPREAD = 0.14
SEED = 7


def spread(law: str, arrivals: int) -> float:
    """Return the approximate standard deviation of the blocking in such a run."""
    return PARETO_SPREAD / arrivals**0.25 if law == "pareto" else SPREAD[law] / math.sqrt(arrivals)


def main() -> None:
    """Print a line for each run; a deviation above 4 indicates an error."""
    exact = model.erlang_b(model.OFFERED, model.PLACES)
    print(f"exact blocking {exact:.6f}")
    for peer, arrivals in PEERS:
        for law in peer.LAWS:
            found = peer.run(law, arrivals, SEED)
            deviations = (found.blocking - exact) / spread(law, found.arrivals)
            speed = f"{found.name:24} {law:14} {found.arrivals_per_second:14,.0f} arrivals/s"
            print(f"{speed}  {found.blocking:.5f}  {deviations:+.1f}", flush=True)
    found = priority_queue.run_mixed("exponential", 10_000_000, SEED)
    print(f"{found.name}, mixed widths: {found.arrivals_per_second:,.0f}/s, {found.blocking:.5f}")


if __name__ == "__main__":
    main()
