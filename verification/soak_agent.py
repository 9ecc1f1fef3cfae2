"""The Slurm agent under a light, steady stream of jobs on a private Slurm."""

from __future__ import annotations

import json
import random
import subprocess
import tempfile
import time
from pathlib import Path

from engines.daemons import wait_for
from engines.private_slurm import PrivateSlurm, missing
from moldable import Scenario, greedy_p
from moldable.files.policy_file import policy_data

SERVERS, INTERVAL, MEAN_SIZE = 8, 6.0, 30.0
CURVE = [1, 1.8, 2.5, 3]


class AgentSubject:
    """`moldable slurm agent` as users start it; `step` submits the jobs that are due."""

    name = "Slurm agent"

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)  # noqa: S311 - not secret
        self._due = time.monotonic()
        self._jobs = 0
        self._cluster = PrivateSlurm(SERVERS, 1)
        try:
            self._process = self._start(Path(tempfile.mkdtemp(dir=self._cluster.folder)))
        except BaseException:
            self._cluster.close()
            raise

    @staticmethod
    def missing() -> str | None:
        """Return why the agent cannot run here."""
        return missing()

    @property
    def process(self) -> int:
        """Process id of the agent."""
        return self._process.pid

    @property
    def work(self) -> str:
        """What was done."""
        lines = self._journal.read_text(encoding="utf-8").splitlines()
        events = [json.loads(line)["event"] for line in lines]
        granted, ended = events.count("granted"), events.count("ended")
        return f"{self._jobs} jobs submitted, {granted} granted, {ended} ended"

    def step(self) -> None:
        """Submit a job if one is due; fail if the agent has ended."""
        if self._process.poll() is not None:
            raise RuntimeError(f"the agent ended with code {self._process.returncode}")
        while self._due <= time.monotonic():
            self._due += self._rng.expovariate(1.0 / INTERVAL)
            self._submit(self._rng.expovariate(1.0 / MEAN_SIZE))

    def close(self) -> None:
        """End the agent and the cluster."""
        self._process.terminate()
        self._process.wait(30)
        self._cluster.close()

    def _start(self, folder: Path) -> subprocess.Popen[bytes]:
        scenario = Scenario.single(CURVE, 0.6, SERVERS, waiting="unlimited")
        plan, log = folder / "plan.json", folder / "agent.log"
        data = {"policy": policy_data(greedy_p(scenario)), "scenario": scenario.to_dict()}
        plan.write_text(json.dumps(data | {"expected": {}}), encoding="utf-8")
        self._journal = folder / "journal.jsonl"
        self._class = scenario.workload.classes[0].name
        words = ["slurm", "agent", "--plan", str(plan), "--journal", str(self._journal)]
        with log.open("wb") as output:
            process = subprocess.Popen(  # noqa: S603 - our own command
                self._cluster.moldable(*words),
                env={**self._cluster.environment, "XDG_RUNTIME_DIR": str(folder)},
                stdout=output,
                stderr=output,
            )
        wait_for(lambda: "mode enforce" in log.read_text(encoding="utf-8"), "the agent")
        return process

    def _submit(self, size: float) -> None:
        sleeps = " ".join(f"{w}) sleep {size / s:.3f};;" for w, s in enumerate(CURVE, start=1))
        script = f"case $SLURM_JOB_NUM_NODES in {sleeps} esac"
        self._cluster.run(
            *("sbatch", "--parsable", "-H", "-o/dev/null", f"--comment=moldable:{self._class}"),
            f"--wrap={script}",
        )
        self._jobs += 1
