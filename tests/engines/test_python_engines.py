"""The executor on Dask, Ray, executorlib and submitit, as they are installed by make engines."""

from __future__ import annotations

import importlib.util
import ipaddress
import os
import re
import secrets
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from executor_conformance import SERVERS, Conformance, scenario, wait_for
from executor_tasks import LONGEST, nap, until
from moldable import Greedy, Scenario, tune
from moldable.errors import PolicyError
from moldable.live import MoldableExecutor, write_plan
from moldable.live.backends import find_backend

ROOT = Path(__file__).parents[2]


def require(name):
    """Skip a test without its engine, or fail on the build server.

    The engine is not imported: Ray reads its environment only once, on import.
    """
    if importlib.util.find_spec(name) is None:
        reason = f"{name} is not installed; install it with: make engines"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)


def installed(name):
    require(name)
    return importlib.import_module(name)


@pytest.fixture(scope="module", autouse=True)
def _workers_find_the_tasks():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT / "tests"), prepend=os.pathsep)
        yield


# executorlib uses pydantic, where it is installed, in a deprecated way.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{begin}:DeprecationWarning")
    for begin in ("`pydantic", "Support for class-based")
]


class ListeningEngine(Conformance):
    def test_nothing_listens_beyond_this_machine(self, backend, tmp_path):
        go = tmp_path / "go"
        with MoldableExecutor(Greedy(), SERVERS, backend, scenario=scenario()) as executor:
            running = executor.submit(until, str(go), job_class="solver")
            wait_for(go.with_suffix(".started"))
            addresses = listening()
            go.touch()
            running.result(LONGEST)
        assert addresses
        assert all(address.is_loopback for address in addresses), addresses


def listening():
    """Return the addresses on which this process and its children listen."""
    found = set()
    for process in (own := psutil.Process(), *own.children(recursive=True)):
        with suppress(psutil.Error):
            sockets = process.net_connections("tcp")
            found |= {
                _address(each.laddr.ip) for each in sockets if each.status == psutil.CONN_LISTEN
            }
    return found


def _address(text):
    address = ipaddress.ip_address(text)
    return getattr(address, "ipv4_mapped", None) or address


@pytest.fixture(scope="module")
def dask_client():
    distributed = installed("distributed")
    dask = importlib.import_module("dask")
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(
            n_workers=SERVERS,
            threads_per_worker=1,  # threads of one process share the limits of libraries
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


class TestDask(ListeningEngine):
    @pytest.fixture
    def backend(self, dask_client):
        dask_client.wait_for_workers(SERVERS, LONGEST)  # one that died is started again
        return dask_client

    def test_workers_that_declare_their_servers_get_tasks_that_fit(self):
        distributed = installed("distributed")
        with (
            distributed.LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                resources={"server": 4},
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            backend = find_backend(client)
            assert (backend.servers, backend.most) == (8, 4)
            wide = Scenario.single({4: 4.0, 6: 6.0}, 0.5, 8, waiting="unlimited")
            with MoldableExecutor(Greedy(), backend=client, scenario=wide) as executor:
                # The widest width would fit into the cluster, but into no worker.
                assert {run[2] for run in executor.map(nap, [0.05] * 4)} == {4}


@pytest.fixture(scope="module")
def ray_environment(tmp_path_factory):
    """What Ray reads when it is imported."""
    token = tmp_path_factory.mktemp("ray") / "token"
    token.write_text(secrets.token_hex(32))
    token.chmod(0o600)
    return {
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # so that it listens on 127.0.0.1 only
        "RAY_gcs_server_port_wait_time_s": "120",  # on a busy machine
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token),  # not in the home folder
    }


@pytest.fixture(scope="module")
def connected_ray(ray_environment):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ray_environment.items():
            patch.setenv(name, value)
        ray = installed("ray")
        ray.init(
            num_cpus=SERVERS, include_dashboard=False, log_to_driver=False, logging_level="ERROR"
        )
        yield ray
        ray.shutdown()


class TestRay(ListeningEngine):
    @pytest.fixture
    def backend(self, connected_ray):
        return connected_ray

    def test_servers_that_ray_does_not_have_are_refused(self, connected_ray):
        with pytest.raises(PolicyError, match="servers=7, but there are only 6"):
            MoldableExecutor(Greedy(), 7, connected_ray, scenario=scenario(servers=7))


LOOPBACK = """
import runpy, sys
from executorlib.standalone.interactive.communication import SocketInterface
SocketInterface.bind_to_random_port = (
    lambda self: self._socket.bind_to_random_port("tcp://127.0.0.1")
)
runpy.run_path(sys.argv[1], run_name="__main__")
"""
"""Runs a program with executorlib listening on this machine only, not on all addresses."""


class TestExecutorlib(ListeningEngine):
    tasks = 6

    @pytest.fixture(autouse=True)
    def _listens_on_this_machine_only(self, monkeypatch):
        require("executorlib")
        monkeypatch.setattr(
            "executorlib.standalone.interactive.communication.SocketInterface.bind_to_random_port",
            lambda self: self._socket.bind_to_random_port("tcp://127.0.0.1"),
        )

    @pytest.fixture
    def backend(self):
        executorlib = installed("executorlib")
        with executorlib.SingleNodeExecutor(max_cores=SERVERS, hostname_localhost=True) as executor:
            yield executor

    def test_equal_tasks_run_each_even_with_a_cache_folder(self, tmp_path):
        require("h5py")
        executorlib = installed("executorlib")
        options = {"max_cores": SERVERS, "cache_directory": str(tmp_path / "cache")}
        with (
            executorlib.SingleNodeExecutor(hostname_localhost=True, **options) as cached,
            MoldableExecutor(Greedy(), SERVERS, cached, scenario=scenario()) as executor,
        ):
            runs = [executor.submit(nap, job_class="solver") for _ in range(2)]
            begun = {run.result(LONGEST)[0] for run in runs}
            again = executor.submit(nap, job_class="solver").result(LONGEST)[0]
        assert len(begun | {again}) == 3

    def test_a_cache_folder_without_h5py_is_refused(self, tmp_path, monkeypatch):
        executorlib = installed("executorlib")
        monkeypatch.setattr("moldable.live.backends.executorlib.find_spec", {}.get)
        with (
            executorlib.SingleNodeExecutor(max_cores=2, cache_directory=str(tmp_path)) as cached,
            pytest.raises(PolicyError, match=r"needs h5py; install it \(pip install"),
        ):
            find_backend(cached)


class TestSubmitit(Conformance):
    tasks = 6

    @pytest.fixture
    def backend(self, tmp_path, monkeypatch):
        submitit = installed("submitit")
        # Seconds for which submitit looks for the result of a process that died.
        monkeypatch.setattr(submitit.Job, "_results_timeout_s", 1)
        return submitit.AutoExecutor(tmp_path / "jobs", cluster="local")


PAGE = (ROOT / "docs" / "how-to" / "from-python.md").read_text()
PROGRAMS = dict(re.findall(r'```py title="(\w+)\.py"\n(.*?)```', PAGE, re.DOTALL))
ENGINES = ("dask", "ray", "executorlib", "submitit")


def write_plan_of_page(folder):
    (tasks,) = re.findall(r"```toml\n(# tasks.toml.*?)```", PAGE, re.DOTALL)
    (folder / "tasks.toml").write_text(tasks)
    tuned = tune(folder / "tasks.toml", seed=1)
    write_plan(folder / "plan.json", tuned.policy, tuned.performance)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the plan of the page."""
    folder = tmp_path_factory.mktemp("page")
    write_plan_of_page(folder)
    return folder


@pytest.mark.parametrize("engine", ENGINES)
def test_the_programs_of_the_documentation_run(engine, folder, ray_environment):
    require("distributed" if engine == "dask" else engine)
    program = folder / f"on_{engine}.py"
    program.write_text(PROGRAMS[f"on_{engine}"])
    result = subprocess.run(
        [sys.executable, *(["-c", LOOPBACK] if engine == "executorlib" else []), program.name],
        cwd=folder,
        env={**os.environ, **ray_environment},
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    assert (result.returncode, result.stdout) == (0, "size 30 on 2 servers\n"), result.stderr


def test_the_documentation_has_a_program_for_each_engine():
    on_slurm = {"submitit_on_slurm", "executorlib_on_slurm"}
    assert set(PROGRAMS) == {f"on_{engine}" for engine in ENGINES} | on_slurm
