"""Reading job logs: time and memory, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

from benchmarks.table import PEAK_MIB, Row

ROWS = 1_000_000
HEADER = (
    "JobID|JobIDRaw|JobName|User|Account|Partition|State|Submit|Eligible|Start|End|ElapsedRaw|"
    "Elapsed|NCPUS|AllocCPUS|ReqCPUS|AllocNodes|AllocTRES|ReqTRES|NodeList|Timelimit|ExitCode|"
    "Reserved|Priority|Flags|Comment|AdminComment|SubmitLine"
)
ARCHIVE = Path(__file__).resolve().parents[2] / "shared" / "data" / "KTH-SP2-1996-2.1-cln.swf.gz"
READ = f"""
import json, sys, time
from moldable.traces import read_trace, summarise
started = time.process_time()
trace = read_trace(sys.argv[1], class_by=sys.argv[2])
read = time.process_time() - started
summarise(trace)
all_of_it = time.process_time() - started
print(json.dumps([len(trace), read, all_of_it, {PEAK_MIB}]))
"""


def rows() -> list[Row]:
    """Read logs of sacct and, where it is present, one of the Parallel Workloads Archive."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for steps in (0, 2):
            path = Path(folder) / f"{steps}.txt"
            write_log(path, steps)
            jobs, read, all_of_it, peak = measured(path, "name:^[a-z]+")
            what = f"sacct, {ROWS:,} rows, {jobs:,} jobs"
            found += [
                Row(f"{what}: read", f"{read:.1f} s", "below 20 s", read < 20.0),
                Row(f"{what}: read and summarise", f"{all_of_it:.1f} s", ""),
                Row(f"{what}: peak memory", f"{peak:.0f} MiB", "below 1,000 MiB", peak < 1000.0),
            ]
    if ARCHIVE.is_file():
        jobs, read, _, _ = measured(ARCHIVE, "user")
        found.append(Row(f"KTH-SP2, {jobs:,} jobs: read", f"{read:.2f} s", "below 2 s", read < 2.0))
    return found


def write_log(path: Path, steps: int) -> None:
    """Write as many rows as ROWS: jobs, each with this number of steps."""
    begin = datetime(2026, 1, 1)  # noqa: DTZ001 - local time, as sacct writes it
    with path.open("w") as file:
        file.write(HEADER + "\n")
        for job in range(ROWS // (1 + steps)):
            submit = begin + timedelta(seconds=30 * job)
            start, run, width = submit + timedelta(seconds=job % 997), 60 + job % 5000, 1 + job % 16
            end = start + timedelta(seconds=run)
            clock = f"{run // 3600:02d}:{run // 60 % 60:02d}:{run % 60:02d}"
            tres = f"billing={width},cpu={width},gres/gpu={width},node=1"
            row = (
                f"|{job}|train{job % 50}|user{job % 300}|lab|main|COMPLETED|{submit.isoformat()}|"
                f"{submit.isoformat()}|{start.isoformat()}|{end.isoformat()}|{run}|{clock}|{width}|"
                f"{width}|{width}|1|{tres}|{tres}|n1|1-00:00:00|0:0|00:00:00|4294901757|"
                f"SchedBackfill|||sbatch -n {width} --wrap run\n"
            )
            names = (str(job), *(f"{job}.{step}" for step in ("batch", "0")[:steps]))
            file.writelines(name + row for name in names)


def measured(path: Path, rule: str) -> tuple[int, float, float, float]:
    """Return jobs, CPU seconds of reading and of all, and the peak memory in MiB."""
    words = [sys.executable, "-c", READ, str(path), rule]
    result = subprocess.run(words, capture_output=True, text=True, check=True)
    jobs, read, all_of_it, peak = json.loads(result.stdout)
    return jobs, read, all_of_it, peak


if __name__ == "__main__":
    for row in rows():
        print(row.markdown())
