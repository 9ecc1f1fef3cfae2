"""One check for each thing that commands rely on. No check changes anything or starts a server."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, final

from moldable.errors import MoldableError
from moldable.installation.versions import version_of
from moldable.live.folders import runtime_folder
from moldable.live.slurm.programs import PROGRAMS, run

State = Literal["ok", "absent", "problem"]
LONGEST: Final = 10.0
"""Seconds that another program gets to answer, also on a busy machine."""
REINSTALL: Final = "pip install --force-reinstall moldable"
BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")
CPU_LIMIT: Final = Path("/sys/fs/cgroup/cpu.max")
"""CPU time that a container may use, and the period, in microseconds."""


@final
@dataclass(frozen=True, slots=True)
class Check:
    """What was found.

    Args:
        name: what was checked.
        state: "absent" is for parts that nobody needs to install.
        detail: what was found, in words.
        essential: without it, no result can be computed.
    """

    name: str
    state: State
    detail: str
    essential: bool = False


def packages_check(packages: tuple[str, ...]) -> Check:
    """Look for the packages that moldable always needs."""
    missing = [package for package in packages if version_of(package) is None]
    if missing:
        reason = f"{', '.join(missing)} not installed; run: {REINSTALL}"
        return Check("packages", "problem", reason, essential=True)
    found = f"all {len(packages)} required packages are installed"
    return Check("packages", "ok", found, essential=True)


def optimum_check() -> Check:
    """Solve the example of the README, whose answer is known."""
    name = "optimum"
    try:
        from moldable.allocation.optimum import optimum

        support = optimum([1, 1.8, 2.5, 3, 3.4], 0.8).support
    except Exception as error:  # noqa: BLE001 - whatever a broken installation raises
        return Check(name, "problem", _reinstall(error), essential=True)
    if support != (3, 4):
        wrong = f"a test problem has the wrong solution {support}; install numpy again"
        return Check(name, "problem", wrong, essential=True)
    return Check(name, "ok", "a test problem has the right solution", essential=True)


def compiler_check() -> Check:
    """Compile a loop, and compare its result."""
    name = "compiler"
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in {"", "0"}:
        slow = "NUMBA_DISABLE_JIT is set, so simulations are much slower; unset it"
        return Check(name, "problem", slow)
    began = time.perf_counter()
    try:
        from moldable.kernels.compiler_check import compiled_total

        right = compiled_total(10) == sum(range(10))
    except Exception as error:  # noqa: BLE001 - the same
        return Check(name, "problem", _reinstall(error), essential=True)
    if not right:
        wrong = "compiled code gives wrong numbers; install numba again"
        return Check(name, "problem", wrong, essential=True)
    spent = time.perf_counter() - began
    found = f"numba was loaded and compiled a loop in {spent:.1f} s"
    return Check(name, "ok", found, essential=True)


def cache_check() -> Check:
    """Find the folder in which compiled kernels are kept."""
    name = "kernel cache"
    try:
        from moldable.kernels.ring_state import insert
    except Exception as error:  # noqa: BLE001 - the same
        reason = (
            "no folder can be written to; set NUMBA_CACHE_DIR to one"
            if "locator" in str(error)  # of numba, which looks for a folder
            else _reinstall(error)
        )
        return Check(name, "problem", reason, essential=True)
    stats = getattr(insert, "stats", None)
    if stats is None:
        return Check(name, "absent", "not used, because NUMBA_DISABLE_JIT is set")
    folder = Path(stats.cache_path)
    if folder.is_dir() and not os.access(folder, os.W_OK):
        reason = f"{_short(folder)} is read-only; set NUMBA_CACHE_DIR to a folder of yours"
        return Check(name, "problem", reason)
    return Check(name, "ok", _short(folder), essential=True)


def cores_check() -> Check:
    """Count the CPUs of the machine, and those that this process may use."""
    every = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else every
    limit = _cpu_limit()
    text = f"{usable} of {every} CPUs may be used"
    if limit is not None and limit < usable:
        fix = f"pass --threads {max(1, round(limit))}"
        return Check(
            "CPUs", "problem", f"{text}, but the container gets the time of {limit:g}; {fix}"
        )
    return Check("CPUs", "ok", text)


def runtime_check() -> Check:
    """Check the folder of `moldable run` and of the agent, without making it."""
    name = "runtime folder"
    try:
        folder = runtime_folder(make=False)
    except MoldableError as error:
        return Check(name, "problem", str(error).replace("choose another with --dir", "remove it"))
    if folder.exists():
        return Check(name, "ok", f"{_short(folder)} is private")
    if os.access(folder.parent, os.W_OK | os.X_OK):
        return Check(name, "ok", f"{_short(folder)} will be made when it is needed")
    reason = f"{_short(folder)} cannot be made; set XDG_RUNTIME_DIR to a folder of yours"
    return Check(name, "problem", reason)


def slurm_check() -> Check:
    """Look for Slurm's programs, and ask whether a controller answers."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if len(missing) == len(PROGRAMS):
        return Check("Slurm", "absent", "not in PATH; needed only by moldable slurm")
    if missing:
        reason = f"{', '.join(missing)} not in PATH; load Slurm's environment module"
        return Check("Slurm", "problem", reason)
    try:
        answers = run(["scontrol", "ping"], longest=LONGEST).code == 0
        version = run(["scontrol", "--version"], longest=LONGEST).text.strip() or "Slurm"
    except MoldableError:
        answers, version = False, "Slurm"
    if answers:
        return Check("Slurm", "ok", f"{version}; the controller answers")
    return Check("Slurm", "absent", f"{version} is installed, but no controller answers")


def browser_check() -> Check:
    """Look for Chromium, which tests of this project use."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        return Check("Chromium", "absent", "not in PATH; needed only by the tests of the project")
    try:
        result = subprocess.run(  # noqa: S603 - a list of words, no shell
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LONGEST,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return Check("Chromium", "problem", f"does not start ({type(error).__name__})")
    return Check("Chromium", "ok", result.stdout.partition(" built")[0].strip() or "installed")


def extra_checks(extras: Mapping[str, tuple[str, ...]]) -> list[Check]:
    """Look for the packages of each extra; none is imported, because that may take seconds."""
    return [_extra_check(extra, packages) for extra, packages in extras.items()]


def _extra_check(extra: str, packages: tuple[str, ...]) -> Check:
    found = {package: version_of(package) for package in packages}
    name = f"moldable[{extra}]"
    missing = [package for package, version in found.items() if version is None]
    if missing:
        install = f"pip install '{name}'"
        return Check(name, "absent", f"{', '.join(missing)} not installed; {install}")
    return Check(name, "ok", ", ".join(f"{package} {found[package]}" for package in packages))


def _cpu_limit() -> float | None:
    try:
        quota, period = CPU_LIMIT.read_text().split()
        return float(quota) / float(period)
    except (OSError, ValueError, ZeroDivisionError):  # "max", or no control groups
        return None


def without_home(text: str) -> str:
    """Write the home folder as ~: it may name its user, and bug reports are published."""
    home = os.path.expanduser("~")  # noqa: PTH111 - Path.home raises an error if there is none
    return text.replace(home, "~") if len(home) > 1 else text


def _short(path: Path) -> str:
    return without_home(str(path))


def _reinstall(error: Exception) -> str:
    reason = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {reason}; run: {REINSTALL}"
