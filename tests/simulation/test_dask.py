"""A real Dask scheduler and two real workers, one of which is killed in the middle of a run."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from distributed import Client

from moldable import JobClass, Scenario, SpeedUp, Workload, simulate
from moldable.sizes import Lognormal

WORKLOAD = Workload((JobClass("jobs", 32.0, SpeedUp([1, 1.8, 2.5]), size=Lognormal(1.0)),))
QUIET = {"DASK_DISTRIBUTED__ADMIN__LOG_LENGTH": "0"}


def launch(*words):
    command = [str(Path(sys.executable).with_name("dask")), *words]
    return subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **QUIET},
        start_new_session=True,
    )


def wait_for(process, pattern):
    for line in process.stderr:
        found = re.search(pattern, line)
        if found:
            return found.group(1)
    raise AssertionError("it ended without the expected line")


@pytest.fixture
def cluster():
    """Start a scheduler and two workers on loopback, and stop them whatever happens."""
    scheduler = launch("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    processes = [scheduler]
    try:
        address = wait_for(scheduler, r"Scheduler at:\s+(tcp://\S+)")
        for _ in range(2):
            worker = launch(
                "worker",
                address,
                "--nthreads",
                "1",
                "--no-nanny",
                "--no-dashboard",
                "--host",
                "127.0.0.1",
            )
            wait_for(worker, r"(Registered to)")
            processes.append(worker)
        yield address, processes[1:]
    finally:
        for process in processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            process.stderr.close()


@pytest.mark.filterwarnings("ignore")
def test_dask_gives_the_same_numbers_and_survives_a_killed_worker(cluster):
    address, workers = cluster
    options = {"jobs": 150_000, "replications": 32, "seed": 9}
    alone = simulate(Scenario(WORKLOAD, 40), **options)
    killed = []

    def kill_one(done, planned):
        assert planned == 32
        if done and not killed:
            os.killpg(workers[0].pid, signal.SIGKILL)
            killed.append(time.monotonic())

    with Client(address, timeout=60, set_as_default=False) as client:
        executor = client.get_executor(pure=False)
        spread = simulate(Scenario(WORKLOAD, 40), executor=executor, progress=kill_one, **options)
    assert killed
    assert workers[0].wait() == -signal.SIGKILL
    assert spread.blocking == alone.blocking
    assert spread.mean_execution_time == alone.mean_execution_time
    assert spread.provenance["replications"] == 32


@pytest.mark.filterwarnings("ignore")
def test_the_command_line_takes_a_dask_address(cluster, run):
    address, _ = cluster
    queue = ("--waiting", "unlimited", "--policy", "even-price")
    system = ("--servers", "40", "--load", "0.8", "--speedup", "1,1.8,2.5", "--seed", "3", "--json")
    size = ("--size", "lognormal:1", "--jobs", "5000", "--replications", "8")
    waiting = ("mean_wait", "mean_response_time", "wait_probability", "queue_length")
    spread = tuple(f"{name}_interval" for name in waiting)
    quantiles = ("wait_quantiles", "response_quantiles")
    for more, figures in ((), ("blocking",)), (queue, (*waiting, *spread, *quantiles)):
        there = run("simulate", *system, *size, *more, "--dask", address)
        assert there.returncode == 0, there.stderr
        here = run("simulate", *system, *size, *more)
        found, alone = json.loads(there.stdout), json.loads(here.stdout)
        assert [found[name] for name in figures] == [alone[name] for name in figures]
        assert alone[figures[0]] > 0.0
