"""Private Slurms for the tests of the live side; a test that cannot have one says why."""

from __future__ import annotations

import json
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from engines.private_slurm import PrivateSlurm, missing
from moldable.files.policy_file import policy_data
from moldable.live.plan_file import LivePlan, read_plan
from moldable.live.slurm.agent import Agent
from moldable.live.slurm.client import SlurmClient
from moldable.live.slurm.shapes import SHAPES
from moldable.live.slurm.snapshot import Scope
from moldable.model.scenario import Scenario
from moldable.model.workload import JobClass, Workload
from moldable.policies.policy import Policy


def require_slurm(*, accounting: bool) -> None:
    reason = missing(accounting=accounting)
    if reason is not None and os.environ.get("CI"):
        pytest.fail(reason)
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def _small_nodes() -> Iterator[PrivateSlurm]:
    require_slurm(accounting=True)
    with PrivateSlurm(64, 1, accounting=True) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def _large_nodes() -> Iterator[PrivateSlurm]:
    require_slurm(accounting=False)
    with PrivateSlurm(4, 16, gpus=4) as cluster:
        yield cluster


@pytest.fixture
def new_cluster() -> Iterator[PrivateSlurm]:
    """A Slurm for one test, whose first job has the number 1."""
    require_slurm(accounting=False)
    with PrivateSlurm(64, 1) as cluster:
        yield cluster


def _entered(cluster: PrivateSlurm, monkeypatch: pytest.MonkeyPatch) -> Iterator[PrivateSlurm]:
    """Let programs that this process starts find the cluster."""
    logging.getLogger("moldable.slurm").setLevel(logging.DEBUG)
    runtime = tempfile.mkdtemp(dir=cluster.folder)
    for name, value in {**cluster.environment, "XDG_RUNTIME_DIR": runtime}.items():
        if name != "PYTHONPATH":  # where modules may find their tasks, since the cluster was made
            monkeypatch.setenv(name, value)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)  # jobs inherit what other tests have set
    yield cluster
    cluster.clear()
    shutil.rmtree(runtime, ignore_errors=True)


@pytest.fixture
def small_nodes(_small_nodes, monkeypatch) -> Iterator[PrivateSlurm]:
    """A Slurm of 64 nodes with one CPU each, and accounting."""
    yield from _entered(_small_nodes, monkeypatch)


@pytest.fixture
def large_nodes(_large_nodes, monkeypatch) -> Iterator[PrivateSlurm]:
    """A Slurm of 4 nodes with 16 CPUs and 4 fake GPUs each."""
    yield from _entered(_large_nodes, monkeypatch)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other accounts may read."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def make_plan(open_folder):
    """Write a plan file for classes with these curves, and read it."""

    def write(
        policy: Policy, servers: int, curves: Mapping[str, object] | None = None
    ) -> tuple[Path, LivePlan]:
        known = curves or {"solver": [1, 1.8, 2.5, 3, 3.4]}
        classes = [JobClass(name, 1.0, curve) for name, curve in known.items()]
        scenario = Scenario(Workload(classes), servers, waiting="unlimited")
        path = open_folder / "plan.json"
        data = {"policy": policy_data(policy), "scenario": scenario.to_dict(), "expected": {}}
        path.write_text(json.dumps(data))
        return path, read_plan(path)

    return write


@pytest.fixture
def make_agent():
    """Return an agent of this process, whose method `step` looks at the queue once."""

    def make(plan: LivePlan, shape: str = "tasks", user: str | None = "root", **others) -> Agent:
        client = SlurmClient(
            "main", **({"runner": others.pop("runner")} if "runner" in others else {})
        )
        return Agent(client, Scope(plan, SHAPES[shape], user), **others)

    return make
