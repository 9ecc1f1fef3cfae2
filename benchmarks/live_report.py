"""Reporting on the journal of a live cluster: time and memory, in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.table import PEAK_MIB, Row

LINES = 10_000_000
FEW = 1_000_000
SMALLEST_CLUSTER = 64
READ = f"""
import json, sys, time
from moldable.live.report import live_report
started = time.process_time()
report = live_report(sys.argv[1], sys.argv[2], grace=0.0)
used = time.process_time() - started
print(json.dumps([report.jobs, used, {PEAK_MIB}, list(report.warnings)]))
"""


def rows() -> list[Row]:
    """Report on a journal and on its first tenth: memory must not grow with the journal."""
    with tempfile.TemporaryDirectory() as folder:
        plan, long, short = (Path(folder) / name for name in ("plan.json", "long", "short"))
        _write(plan, long, LINES)
        with long.open("rb") as lines, short.open("wb") as file:
            file.writelines(line for _, line in zip(range(FEW), lines, strict=False))
        _, _, least, _ = measured(short, plan)
        jobs, seconds, most, warnings = measured(long, plan)
    what = f"journal of {LINES:,} lines, {jobs:,} jobs"
    return [
        Row(f"{what}: report, CPU time", f"{seconds:.0f} s", "below 120 s", seconds < 120.0),
        Row(
            f"{what}: peak memory ({least:.0f} MiB with a tenth of the lines)",
            f"{most:.0f} MiB",
            "at most 5 MiB more",
            most < least + 5.0,
        ),
        Row(f"{what}: warnings", f"{len(warnings)}", "none", not warnings),
    ]


def _write(plan: Path, path: Path, lines: int) -> None:
    """Write the plan and the journal of a cluster that is as planned."""
    from moldable import Scenario, evaluate  # noqa: PLC0415 - only where a journal is written
    from moldable.live.plan_file import read_plan, write_plan  # noqa: PLC0415
    from moldable.live.rehearsal import poisson_jobs, rehearse, write_journal  # noqa: PLC0415
    from moldable.policies import FixedWidth  # noqa: PLC0415

    scenario = Scenario.single([1, 1.8, 2.5], 0.7, SMALLEST_CLUSTER, waiting="unlimited")
    policy = FixedWidth(2)
    write_plan(plan, policy, evaluate(scenario, policy))
    jobs = poisson_jobs(scenario, lines // 2, seed=1)
    write_journal(path, rehearse(scenario, policy, jobs, read_plan(plan).digest))


def measured(log: Path, plan: Path) -> tuple[int, float, float, list[str]]:
    """Return jobs, CPU seconds, peak memory in MiB and the warnings."""
    words = [sys.executable, "-c", READ, str(log), str(plan)]
    result = subprocess.run(words, capture_output=True, text=True, check=True)
    jobs, seconds, peak, warnings = json.loads(result.stdout)
    return jobs, seconds, peak, warnings


if __name__ == "__main__":
    for row in rows():
        print(row.markdown())
