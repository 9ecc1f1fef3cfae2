"""Fixtures of all tests: hypothesis profiles, the data folder, and running the command."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from moldable.cli import main

ROOT = Path(__file__).resolve().parent.parent
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


@pytest.fixture(scope="session")
def real_curves() -> list[dict]:
    """Published curves that are not part of the project; tests that need them skip without."""
    folder = Path(os.environ.get("MOLDABLE_DATA", ROOT.parent / "shared" / "data"))
    path = folder / "representative_curves.json"
    if not path.is_file():
        pytest.skip(f"no measured curves at {path}; set MOLDABLE_DATA to their folder")
    return json.loads(path.read_text())


@pytest.fixture
def run():
    """Run the command in this process, which avoids importing everything each time.

    Tests of signals, pipes, terminals and start-up use `run_process` instead.
    """

    def run_command(
        *arguments: str, cwd: Path = ROOT, columns: int = 100
    ) -> subprocess.CompletedProcess[str]:
        out, err, code = io.StringIO(), io.StringIO(), 0
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.setattr(sys, "argv", ["moldable", *arguments])
            patch.setattr(os, "_exit", sys.exit)
            patch.setenv("COLUMNS", str(columns))
            patch.setenv("NO_COLOR", "1")
            patch.chdir(cwd)
            try:
                main()
            except SystemExit as ended:
                code = ended.code or 0
        return subprocess.CompletedProcess(
            ["moldable", *arguments], code, out.getvalue(), err.getvalue()
        )

    return run_command


@pytest.fixture(scope="session")
def run_process():
    """Run the command in a separate process, as a user would."""

    def run_command(
        *arguments: str, cwd: Path = ROOT, columns: int = 100
    ) -> subprocess.CompletedProcess[str]:
        command = [str(Path(sys.executable).with_name("moldable")), *arguments]
        environment = {**os.environ, "COLUMNS": str(columns), "NO_COLOR": "1"}
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            cwd=cwd,
            env=environment,
            timeout=LONGEST,
            check=False,
        )

    return run_command
