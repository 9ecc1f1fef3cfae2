"""The process of a job: its environment, its start, its signals and its end.

The command runs in the process group and on the terminal of `moldable run`. Signals that a process
sends to `moldable run` are passed on. Those of the terminal, such as Ctrl-C, reach the command
directly and are not sent twice.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Collection, Mapping, Sequence
from typing import Final

PASSED_ON: Final = frozenset(
    {
        *(signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGALRM),
        *(signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH),
    }
)
HELD: Final = PASSED_ON | {signal.SIGCHLD}
"""Signals that are waited for, instead of being handled."""
LOOK: Final = 0.5
"""Seconds after which the command is checked even without a signal."""
NOT_FOUND: Final = 127
CANNOT_RUN: Final = 126
"""Exit codes of shells for commands that are not found and that cannot be run."""
THREADS: Final = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"),
    *("NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS"),
)
"""Environment variables that numerical libraries read when they start."""
_CHANGED_BY_PYTHON: Final = (signal.SIGPIPE, signal.SIGXFSZ)
"""Signals that Python ignores, and that commands expect to end them."""


def environment(job: str, job_class: str, width: int, cpus: Sequence[int]) -> dict[str, str]:
    """Return the environment of a job with this many servers."""
    own = {"MOLDABLE_JOB": job, "MOLDABLE_CLASS": job_class, "MOLDABLE_WIDTH": str(width)}
    if cpus:
        own["MOLDABLE_CPUS"] = ",".join(map(str, cpus))
    return {**os.environ, **own, **dict.fromkeys(THREADS, str(width))}


def start(
    command: Sequence[str], variables: Mapping[str, str], lock: int, mask: Collection[int]
) -> int:
    """Start a command that inherits a locked descriptor, and return its process.

    Args:
        command: the command, found as a shell would find it, and its arguments.
        variables: its environment.
        lock: the descriptor.
        mask: signals that the command blocks.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # if it is ignored, exit codes are lost
    os.set_inheritable(lock, True)  # noqa: FBT003 - its only form
    return os.posix_spawnp(
        command[0], list(command), variables, setsigmask=mask, setsigdef=_CHANGED_BY_PYTHON
    )


def wait_for_end(process: int) -> int:
    """Pass signals on until a process ends; return its exit code, or minus the signal.

    The signals in `HELD` must be blocked.
    """
    while True:
        # Another thread, of a library say, may get SIGCHLD instead, hence the time limit.
        received = signal.sigtimedwait(HELD, LOOK)
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if received is None or received.si_signo == signal.SIGCHLD:
            continue
        if received.si_code <= 0:  # sent by a process, not by the terminal
            os.kill(process, received.si_signo)
