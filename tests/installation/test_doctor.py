"""`moldable doctor` says what works here, and finds what is broken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

from moldable.installation import checks
from moldable.installation.versions import requirements, versions

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DOCTOR = "import sys; sys.argv = ['moldable', 'doctor', '--json']\nfrom moldable.cli import main\n"
# Numba looks for a folder in which it can keep compiled kernels; there is none.
NO_CACHE = "from numba.core import caching; caching.CacheImpl._locator_classes = []\n"
LISTED = """
try:
    main()
except SystemExit:
    engines = ("ray", "distributed", "executorlib", "submitit")
    print([name for name in engines if name in sys.modules])
"""


def answer(before: str = "", **environment: str) -> tuple[int, dict[str, dict]]:
    """Run the command in a process of its own; return its exit code and the checks by name."""
    result = subprocess.run(
        [sys.executable, "-c", before + DOCTOR + "main()"],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    found = json.loads(result.stdout)
    assert found["works"] is (result.returncode == 0)
    return result.returncode, {check["name"]: check for check in found["checks"]}


def program(folder: Path, name: str, text: str) -> None:
    """Write a shell script that stands for a program."""
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def test_this_installation_works(run):
    result = run("doctor", "--json")
    assert result.returncode == 0, result.stdout
    found = json.loads(result.stdout)
    assert list(found) == ["works", "versions", "machine", "environment", "checks"]
    assert found["versions"]["numba"] == version("numba")
    assert [check for check in found["checks"] if check["state"] == "problem"] == []
    essential = [check["name"] for check in found["checks"] if check["essential"]]
    assert essential == ["packages", "optimum", "compiler", "kernel cache"]


def test_the_text_has_a_line_for_each_check(run):
    found = json.loads(run("doctor", "--json").stdout)
    text = run("doctor", columns=200).stdout
    assert text.splitlines()[0] == f"moldable {version('moldable')}"
    for check in found["checks"]:
        line = next(line for line in text.splitlines() if line.startswith(f" {check['name']} "))
        assert {"ok": " ok ", "absent": " - ", "problem": " PROBLEM "}[check["state"]] in line
    assert "moldable doctor --json" in text


def test_packages_of_extras_are_found_but_not_imported():
    result = subprocess.run(
        [sys.executable, "-c", DOCTOR + LISTED], capture_output=True, text=True, check=True
    )
    assert result.stdout.splitlines()[-1] == "[]"


def test_extras_and_requirements_are_those_of_the_project():
    found = requirements()
    assert set(found) == {"", *PROJECT["optional-dependencies"]}
    for extra, packages in found.items():
        listed = PROJECT["optional-dependencies"].get(extra, PROJECT["dependencies"])
        assert set(packages) == {text.partition(">=")[0].partition("[")[0] for text in listed}


def test_an_extra_that_is_not_installed_says_how_to_install_it():
    (found,) = checks.extra_checks({"plot": ("numpy", "no-such-package")})
    assert found.state == "absent"
    assert found.detail == "no-such-package not installed; pip install 'moldable[plot]'"


@pytest.mark.parametrize(
    ("package", "broken"),
    [("numpy", {"optimum", "compiler", "kernel cache"}), ("numba", {"compiler", "kernel cache"})],
)
def test_a_package_that_cannot_be_imported_is_a_problem(package, broken):
    code, found = answer(f"import sys; sys.modules[{package!r}] = None\n")
    assert code == 1
    assert {name for name, check in found.items() if check["state"] == "problem"} == broken
    assert "pip install --force-reinstall moldable" in found["compiler"]["detail"]


def test_a_required_package_that_is_missing_is_a_problem():
    found = checks.packages_check(("numpy", "no-such-package"))
    assert (found.state, found.essential) == ("problem", True)
    assert found.detail.startswith("no-such-package not installed; run: pip install")


def test_a_cache_that_cannot_be_written_is_a_problem():
    code, found = answer(NO_CACHE)
    assert code == 1
    assert found["compiler"]["state"] == "ok"
    assert found["kernel cache"]["detail"] == (
        "no folder can be written to; set NUMBA_CACHE_DIR to one"
    )


def test_the_folder_of_the_cache_is_named(tmp_path):
    code, found = answer(NUMBA_CACHE_DIR=str(tmp_path / "cache"), HOME=str(tmp_path))
    assert code == 0
    assert found["kernel cache"]["detail"].startswith("~/cache/")


def test_interpreted_kernels_are_reported_but_work():
    code, found = answer(NUMBA_DISABLE_JIT="1")
    assert code == 0
    assert found["compiler"]["state"] == "problem"
    assert "NUMBA_DISABLE_JIT is set" in found["compiler"]["detail"]


def test_a_container_with_less_time_than_cpus_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(checks, "CPU_LIMIT", tmp_path / "cpu.max")
    assert checks.cores_check().state == "ok"
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert checks.cores_check().state == "ok"
    (tmp_path / "cpu.max").write_text("50000 100000\n")
    found = checks.cores_check()
    assert found.state == "problem"
    assert found.detail.endswith("the container gets the time of 0.5; pass --threads 1")
    usable = len(os.sched_getaffinity(0))
    assert found.detail.startswith(f"{usable} of {os.cpu_count()} CPUs may be used")


def test_the_runtime_folder_is_looked_at_but_not_made(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    found = checks.runtime_check()
    assert found.state == "ok"
    assert found.detail.endswith("will be made when it is needed")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "moldable").mkdir(mode=0o700)
    assert checks.runtime_check().detail.endswith("moldable is private")
    (tmp_path / "moldable").chmod(0o755)
    found = checks.runtime_check()
    assert found.state == "problem"
    assert "other users can use it (make it private with chmod 700)" in found.detail


def test_slurm_without_any_program_is_absent(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert checks.slurm_check().state == "absent"
    assert checks.browser_check().state == "absent"


def test_a_half_installed_slurm_is_a_problem(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    program(tmp_path, "sbatch", "exit 0")
    found = checks.slurm_check()
    assert found.state == "problem"
    assert found.detail.startswith("squeue, sinfo, scontrol not in PATH")


@pytest.mark.parametrize(
    ("script", "state", "detail"),
    [
        ("echo slurm-wlm 22.05.8", "ok", "slurm-wlm 22.05.8; the controller answers"),
        ("exit 1", "absent", "Slurm is installed, but no controller answers"),
        ("exec sleep 60", "absent", "Slurm is installed, but no controller answers"),
    ],
)
def test_slurm_is_asked_for_its_controller(tmp_path, monkeypatch, script, state, detail):
    for name in ("squeue", "sinfo", "scontrol", "sbatch"):
        program(tmp_path, name, script)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    if "sleep" in script:
        monkeypatch.setattr(checks, "LONGEST", 0.2)
    found = checks.slurm_check()
    assert (found.state, found.detail) == (state, detail)


def test_a_browser_that_does_not_start_is_a_problem(tmp_path, monkeypatch):
    program(tmp_path, "chromium", "exit 1")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert checks.browser_check().state == "problem"
    program(tmp_path, "chromium", "echo Chromium 156.0 built on Debian")
    assert checks.browser_check().detail == "Chromium 156.0"


def test_versions_are_those_of_the_packages(run_process):
    lines = run_process("--version").stdout.splitlines()
    assert lines[0] == f"moldable {version('moldable')}"
    packages = [f"{name} {version(name)}" for name in ("numpy", "numba", "scipy")]
    assert lines[1:] == [", ".join([f"python {sys.version.split()[0]}", *packages])]
    assert versions()["scipy"] == version("scipy")
