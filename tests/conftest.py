"""Fixtures of all tests: hypothesis profiles, the data folder, and running the command."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from browser import Browser, chromium
from commands import run_alone, run_here

ROOT = Path(__file__).resolve().parent.parent
FIRST = {"test_slurm_stress", "test_slurm_admin_documentation", "test_notebooks", "test_fuzz"}
"""Files that take long for their number of tests."""
LONGEST = 300.0
"""Seconds after which a command counts as hanging, also on slow machines."""

settings.register_profile(
    "moldable",
    deadline=None,  # the machine is noisy; time is measured by the benchmarks
    derandomize=True,  # the same examples on every machine
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("moldable")

# A shell starts background jobs with SIGINT ignored, and the commands that tests interrupt would
# inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)  # after the order was made random
def pytest_collection_modifyitems(items) -> None:
    """Begin with files of few long tests, and go on with those of many tests."""
    count = Counter(item.path for item in items)
    items.sort(key=lambda item: (item.path.stem not in FIRST, -count[item.path], str(item.path)))


@pytest.fixture(scope="session", autouse=True)
def _own_runtime_folder(tmp_path_factory) -> Iterator[None]:
    """Keep the jobs of tests apart from those of the user, and from other tests in parallel."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("session")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _short_rounds() -> Iterator[None]:
    """Let simulations that run until they are precise begin with a twentieth of the usual jobs."""
    with pytest.MonkeyPatch.context() as patch:
        module = importlib.import_module("moldable.simulation.simulate")
        patch.setattr(module, "ROUND_JOBS", module.ROUND_JOBS // 20)
        yield


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of published data that are not part of the project; tests skip without it."""
    folder = Path(os.environ.get("MOLDABLE_DATA", ROOT.parent / "shared" / "data"))
    if not (folder / "representative_curves.json").is_file():
        pytest.skip(f"no measured curves in {folder}; set MOLDABLE_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def real_curves(real_data) -> list[dict]:
    """Published curves that are not part of the project; tests that need them skip without."""
    return json.loads((real_data / "representative_curves.json").read_text())


@pytest.fixture
def run():
    """Run the command in this process.

    Tests of signals, pipes, terminals and start-up use `run_process` instead.
    """

    def run_command(
        *arguments: str, cwd: Path = ROOT, columns: int = 100
    ) -> subprocess.CompletedProcess[str]:
        return run_here(arguments, cwd, columns)

    return run_command


@pytest.fixture(scope="session")
def run_process():
    """Run the command in a separate process, as a user would."""

    def run_command(
        *arguments: str, cwd: Path = ROOT, columns: int = 100
    ) -> subprocess.CompletedProcess[str]:
        return run_alone(("moldable", *arguments), cwd, columns, LONGEST)

    return run_command


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium; without one tests are skipped, or fail on the build server."""
    program = chromium()
    if program is None:
        reason = "Chromium is not installed; install it with: make engines"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with Browser(program) as found:
        yield found
