"""Slurm's programs, run without a shell."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from moldable.errors import InputError, SlurmError, shown

LONGEST: Final = 60.0
"""Seconds after which a program counts as hanging, as when slurmctld does not answer."""
PROGRAMS: Final = ("squeue", "sinfo", "scontrol", "sbatch")
"""Programs that `moldable slurm` needs."""
_FILTERS: Final = ("SQUEUE_", "SINFO_", "SACCT_", "SCONTROL_")
"""Beginnings of variables with options of these programs, which would hide jobs or nodes."""


class Output(NamedTuple):
    """What a program printed, and its exit code."""

    code: int
    text: str
    errors: str


Runner = Callable[[Sequence[str], str | None], Output]
"""Runs a program, given its words and its standard input."""


def run(words: Sequence[str], text: str | None = None, longest: float = LONGEST) -> Output:
    """Run one of Slurm's programs; its times are seconds since 1970."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(_FILTERS)
    }
    spoken = {"SLURM_TIME_FORMAT": "%s", "LC_ALL": "C.UTF-8"}
    return _run(words, text, environment | spoken, longest)


def submit(words: Sequence[str]) -> Output:
    """Run sbatch in the environment of the user, which becomes that of the job."""
    return _run(words, None, dict(os.environ), LONGEST)


def _run(
    words: Sequence[str], text: str | None, environment: dict[str, str], longest: float
) -> Output:
    try:
        result = subprocess.run(  # noqa: S603 - a list of words, no shell
            list(words),
            input=text or "",
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=longest,
            check=False,
        )
    except FileNotFoundError:
        raise no_slurm(words[0]) from None
    except subprocess.TimeoutExpired:
        raise SlurmError(
            f"{words[0]} did not answer within {longest:g} s; check slurmctld with: scontrol ping"
        ) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in an argument
        raise SlurmError(f"{words[0]} cannot be run: {error}") from None
    return Output(result.returncode, result.stdout, result.stderr)


def checked(runner: Runner, words: Sequence[str], text: str | None = None) -> str:
    """Run a program that must succeed, and return what it printed."""
    found = runner(words, text)
    if found.code:
        reason = found.errors.strip() or f"exit code {found.code}"
        raise SlurmError(f"{words[0]} failed: {shown(reason, 300)}")
    return found.text


def require_slurm() -> None:
    """Refuse to go on without Slurm's programs."""
    for name in PROGRAMS:
        if shutil.which(name) is None:
            raise no_slurm(name)


def no_slurm(name: str) -> InputError:
    """Return the error about a program that is not there."""
    return InputError(
        f"{name} is not in PATH, so there is no Slurm here; run this on a login node of the "
        f"cluster, or load Slurm's environment module first"
    )
