"""CPU time of the Slurm agent with 1,000 waiting jobs, on a private Slurm."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.table import Row
from moldable import Greedy, Scenario, evaluate
from moldable.live.plan_file import write_plan

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from engines.daemons import wait_for
from engines.private_slurm import PrivateSlurm, missing

NODES, WAITING = 64, 1_000
WARM_UP, SECONDS = 5.0, 30.0
MOST = 0.1
"""Target, as a share of a core."""
WHAT = f"agent with {WAITING:,} waiting jobs, one look a second: share of a core"


def rows() -> list[Row]:
    """Run `moldable slurm agent` while no job can start; needs Slurm (`make engines`)."""
    reason = missing()
    if reason is not None:
        return [Row(WHAT, "not measured", reason)]
    with PrivateSlurm(NODES, 1) as cluster:
        _fill(cluster)
        share = _share(cluster)
    return [Row(WHAT, f"{100 * share:.1f} %", f"below {100 * MOST:.0f} %", share < MOST)]


def _fill(cluster: PrivateSlurm) -> None:
    """Occupy all nodes, and submit the jobs that wait."""
    cluster.run("sbatch", f"-n{NODES}", "-o/dev/null", "--wrap=sleep 3600")
    cluster.wait_for_idle(0)
    words = ("-H", "-o/dev/null", "--comment=moldable:jobs", f"--array=1-{WAITING}")
    cluster.run("sbatch", *words, "--wrap=true")


def _share(cluster: PrivateSlurm) -> float:
    """Return the CPU time of the agent and of Slurm's programs that it runs, over the time."""
    scenario = Scenario.single([1, 1.8, 2.5, 3, 3.4], 0.8, NODES, waiting="unlimited")
    folder = cluster.home("root")
    write_plan(folder / "plan.json", Greedy(), evaluate(scenario, "fixed:1"))
    words = cluster.moldable("slurm", "agent", "--plan", str(folder / "plan.json"))
    environment = {**cluster.environment, "XDG_RUNTIME_DIR": str(folder)}
    log = folder / "log"
    with (
        log.open("wb") as errors,
        subprocess.Popen(words, env=environment, stderr=errors) as process,
    ):
        try:
            wait_for(lambda: "mode enforce" in log.read_text(), log)
            time.sleep(WARM_UP)
            begun, used = time.monotonic(), _cpu_seconds(process.pid)
            time.sleep(SECONDS)
            share = (_cpu_seconds(process.pid) - used) / (time.monotonic() - begun)
        finally:
            process.terminate()
    text = log.read_text()
    if process.returncode or len(text.splitlines()) != 2:  # more than its start and its end
        raise RuntimeError(f"the agent failed: {text}")
    return share


def _cpu_seconds(process: int) -> float:
    """Return the CPU time of a process and of its children that have ended."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
