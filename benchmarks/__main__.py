"""Run every benchmark, print the tables and write them to RESULTS.md."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks import (
    chain,
    control,
    division,
    explorer,
    live,
    live_report,
    logs,
    long_curve,
    queueing,
    replay,
    simulation,
    start_up,
)
from benchmarks.table import machine, write

SECTIONS = {
    f"{division.CLASSES:,} classes x {division.WIDTHS} widths: optimal division": division.rows,
    "A curve with 1,000,000 widths": long_curve.rows,
    "Job logs, CPU time and memory": logs.rows,
    "Live decisions, CPU time, moldable run, and the Slurm agent": live.rows,
    "The journal of a live cluster, CPU time and memory": live_report.rows,
    "Start-up, median wall clock": start_up.rows,
    "The explorer (1, 1.8, 2.5, 3, 3.4 on 16 servers) in Chromium, wall clock": explorer.rows,
    "One loss model (n = 4000, linear, load 1 - 0.1/sqrt(n)), one core": simulation.peers,
    "How the simulator scales": simulation.scaling,
    "One cluster with a queue (n = 4000, 1, 1.8, 2.5, 3, 3.4, even price), one core": queueing.rows,
    "A job log, replayed": replay.rows,
    "Exact chains and formulas": chain.rows,
    "Tuning and the trade-off (1, 1.8, 2.5, 3, 3.4 at load 0.8), wall clock": control.rows,
}


def main() -> int:
    """Return 1 if a target was missed."""
    parts = [f"# Benchmarks\n\nMade by `make bench` in one run on: {machine()}.\n"]
    print(parts[0])
    for title, rows in SECTIONS.items():
        print(f"measuring: {title} ...", file=sys.stderr, flush=True)
        parts.append(write(title, rows()))
        print(parts[-1], flush=True)
    report = "\n".join(parts)
    (Path(__file__).parent / "RESULTS.md").write_text(report)
    return 1 if "**no**" in report else 0


if __name__ == "__main__":
    sys.exit(main())
