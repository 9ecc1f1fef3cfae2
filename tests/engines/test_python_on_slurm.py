"""Python functions as jobs of a real Slurm, through submitit and executorlib."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from engines.agent_process import start_agent
from engines.daemons import wait_for
from engines.test_python_engines import (
    LOOPBACK,
    PROGRAMS,
    ROOT,
    installed,
    require,
    write_plan_of_page,
)
from executor_conformance import peak
from executor_tasks import LONGEST, die, fail, nap
from moldable import Greedy, Scenario
from moldable.live import MoldableExecutor
from moldable.live.slurm.service import Settings
from moldable.policies.fixed_width import FixedWidth

SERVERS = 16
CURVE = [1, 1.8, 2.5, 3, 3.4]
SHOWN = "size 30 on 2 servers\n"

# executorlib warns of keys that it passes on, and uses pydantic in a deprecated way.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{begin}")
    for begin in ("The following keys are not", "`pydantic", "Support for class-based")
]


@pytest.fixture(autouse=True)
def _jobs_find_the_tasks(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests"), prepend=os.pathsep)


@pytest.fixture
def on_submitit(tmp_path, monkeypatch):
    submitit = installed("submitit")
    # Seconds for which submitit looks for the result of a job that died.
    monkeypatch.setattr(submitit.Job, "_results_timeout_s", 1)
    jobs = submitit.AutoExecutor(tmp_path / "jobs", cluster="slurm")
    jobs.update_parameters(timeout_min=5)
    return jobs


@pytest.fixture
def on_executorlib(tmp_path):
    require("pysqa")
    executorlib = installed("executorlib")
    program = PROGRAMS["executorlib_on_slurm"]
    (template,) = re.findall(r'TEMPLATE = """\\\n(.*?)"""', program, re.DOTALL)
    options = {"partition": "main", "submission_template": template}
    cache = str(tmp_path / "cache")
    with executorlib.SlurmClusterExecutor(cache_directory=cache, resource_dict=options) as cluster:
        yield cluster


@pytest.mark.parametrize("system", ["submitit", "executorlib"])
def test_tasks_are_jobs_of_their_width_and_servers_are_never_exceeded(large_nodes, request, system):
    cluster = request.getfixturevalue(f"on_{system}")
    before = {row.split()[0] for row in queue(large_nodes)}
    scenario = Scenario.single(CURVE, 0.5, SERVERS, waiting="unlimited")
    with MoldableExecutor(Greedy(), SERVERS, cluster, scenario=scenario) as executor:
        futures = [executor.submit(nap, 0.5) for _ in range(5)]  # the same call, five times
        failed = executor.submit(fail)
        runs = [future.result(LONGEST) for future in futures]
        assert type(failed.exception(LONGEST)) is LookupError
        assert executor.idle == SERVERS
    assert len({run[0] for run in runs}) == 5
    assert 5 < peak(runs) <= SERVERS
    assert all(run[3] == str(run[2]) for run in runs)
    jobs = [row.split() for row in queue(large_nodes) if row.split()[0] not in before]
    assert [job[1:] for job in jobs[:5]] == [[str(run[2]), "1"] for run in runs]


def queue(cluster):
    """Return the number, CPUs and nodes of each job, also of those that have ended."""
    return cluster.run("squeue", "-h", "-t", "all", "-S", "i", "-o", "%i %C %D").splitlines()


@pytest.mark.usefixtures("small_nodes")  # with accounting
def test_a_task_of_submitit_whose_job_dies_is_lost(on_submitit):
    scenario = Scenario.single([1.0], 0.5, 4, waiting="unlimited")
    with MoldableExecutor(FixedWidth(1), 4, on_submitit, scenario=scenario) as executor:
        lost, other = executor.submit(die), executor.submit(nap, 0)
        assert "has not produced any output" in str(lost.exception(LONGEST))
        assert other.result(LONGEST)[2] == 1
        assert executor.idle == 4


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with the plan of the page."""
    monkeypatch.chdir(tmp_path)
    write_plan_of_page(tmp_path)
    return tmp_path


def printed(*words):
    result = subprocess.run(words, capture_output=True, text=True, timeout=LONGEST, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_job_steps_of_an_allocation_run_the_tasks_of_executorlib(large_nodes, folder):
    require("executorlib")
    program = PROGRAMS["on_executorlib"].replace("SingleNodeExecutor", "SlurmJobExecutor")
    (folder / "program.py").write_text(program.replace(", hostname_localhost=True", ""))
    words = ("salloc", "--quiet", "-N1", "-n4", sys.executable, "-c", LOOPBACK, "program.py")
    assert printed(*words) == SHOWN
    assert large_nodes.idle_cpus() == 64


def test_the_program_that_submits_through_executorlib_runs(large_nodes, folder):
    require("pysqa")
    (folder / "program.py").write_text(PROGRAMS["executorlib_on_slurm"])
    assert printed(sys.executable, "program.py") == SHOWN
    assert [row.split()[1:] for row in queue(large_nodes)][-1] == ["2", "1"]


def test_the_agent_sets_the_width_of_a_job_of_submitit(large_nodes, folder):
    require("submitit")
    (folder / "program.py").write_text(PROGRAMS["submitit_on_slurm"])
    log = folder / "agent.log"
    agent = start_agent(Settings(folder / "plan.json", poll=0.2), dict(os.environ), log)
    try:
        wait_for(lambda: log.exists() and "mode enforce" in log.read_text(), 20, log)
        # submitit complains that this cluster has no accounting.
        assert printed(sys.executable, "program.py").endswith(SHOWN)
    finally:
        agent.terminate()
        agent.join(60)
    assert "(solve) 2 of 4 idle" in log.read_text()
    last = large_nodes.run("squeue", "-h", "-t", "all", "-S", "-i", "-o", "%C %k").splitlines()[0]
    assert last.startswith("2 moldable:solve;shape=threads;width=2;")
