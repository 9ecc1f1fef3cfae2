"""Run all checks, within about two seconds unless another program hangs."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any, Final, final

from moldable.installation import checks
from moldable.installation.checks import Check
from moldable.installation.versions import requirements, versions

VARIABLES: Final = (
    *("NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS"),
    *("XDG_RUNTIME_DIR", "SLURM_CONF", "LANG", "LC_ALL"),
)
"""Environment variables that change what works."""
# The order of the answer. Slurm and Chromium take time, but no time of the interpreter.
HERE: Final[tuple[Callable[[], Check], ...]] = (
    *(checks.optimum_check, checks.compiler_check, checks.cache_check),
    *(checks.cores_check, checks.runtime_check),
)
ELSEWHERE: Final[tuple[Callable[[], Check], ...]] = (checks.slurm_check, checks.browser_check)


@final
@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The state of an installation.

    Args:
        versions: of moldable, Python, and the packages that decide what works.
        machine: operating system, processor and C library.
        environment: variables that are set, and change what works.
        checks: what was found.
    """

    versions: dict[str, str | None]
    machine: dict[str, str]
    environment: dict[str, str]
    checks: tuple[Check, ...]

    @property
    def works(self) -> bool:
        """Whether results can be computed."""
        return not any(check.essential and check.state == "problem" for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return {"works": self.works, **asdict(self)}


def diagnose() -> Diagnosis:
    """Check this installation."""
    with ThreadPoolExecutor(len(ELSEWHERE)) as pool:
        waiting = [pool.submit(check) for check in ELSEWHERE]
        extras = requirements()
        here = [checks.packages_check(extras.pop("")), *(check() for check in HERE)]
        found = (*here, *(each.result() for each in waiting), *checks.extra_checks(extras))
    machine = {
        "system": f"{platform.system()} {platform.release()}",
        "processor": platform.machine(),
        "implementation": platform.python_implementation(),
        "libc": " ".join(platform.libc_ver()).strip(),
    }
    environment = {
        name: checks.without_home(os.environ[name]) for name in VARIABLES if name in os.environ
    }
    return Diagnosis(versions(), machine, environment, found)
