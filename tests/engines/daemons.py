"""Daemons that are started for tests and stopped by their recorded process ids."""

from __future__ import annotations

import os
import pwd
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

PATIENCE = 60.0
"""Seconds in which a daemon must end without being killed."""
LONGEST = 120.0
"""Seconds after which something counts as hanging, also on slow machines."""


class Daemons:
    """Running daemons by name; their output is in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: dict[str, subprocess.Popen] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._processes

    def start(self, name: str, words: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start a daemon in the foreground of a session of its own."""
        with (self._folder / f"{name}.out").open("ab") as output:
            self._processes[name] = subprocess.Popen(
                list(words),
                env=dict(environment),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def stop(self, *names: str) -> None:
        """Ask daemons to end, and kill the sessions of those that do not."""
        processes = [self._processes.pop(name) for name in names]
        for process in processes:
            process.terminate()
        ends = time.monotonic() + PATIENCE
        for process in processes:
            try:
                process.wait(max(0.0, ends - time.monotonic()))
            except subprocess.TimeoutExpired:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def close(self) -> None:
        """Stop all of them: those that were started last together, MUNGE at the end."""
        names = list(self._processes)
        self.stop(*reversed(names[1:]))
        self.stop(*names[:1])


def wait_for(is_done: Callable[[], object], what: str | Path, *, seconds: float = LONGEST) -> None:
    """Wait until something is done; a failure shows the log file, if `what` is one."""
    ends = time.monotonic() + seconds
    while not is_done():
        if time.monotonic() > ends:
            text = what.read_text() if isinstance(what, Path) else what
            raise AssertionError(f"timed out after {seconds:g} s: {text}")
        time.sleep(0.05)


def as_account(user: str | None) -> list[str]:
    """Return the beginning of a command line that runs the rest under another account."""
    if user is None:
        return []
    account = pwd.getpwnam(user)
    return ["setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]


class Ports:
    """Ports of the loopback interface that are kept for one user until they are given back.

    They are below the range from which the system takes ports for others. Its first port, which
    stays bound, keeps the block from other processes that run these tests.
    """

    FIRST, LAST, BLOCK = 10_000, 32_000, 128

    def __init__(self, count: int) -> None:
        assert count < self.BLOCK
        blocks = range(self.FIRST, self.LAST, self.BLOCK)
        start = secrets.randbelow(len(blocks))  # `random` is seeded alike in all workers
        for first in (*blocks[start:], *blocks[:start]):
            self._lock = _bound(first)
            if self._lock is None:
                continue
            self.numbers = list(range(first + 1, first + 1 + count))
            if all(map(_is_free, self.numbers)):
                return
            self._lock.close()
        raise AssertionError(f"no {count} ports in a row are free")

    def close(self) -> None:
        """Give the ports back."""
        self._lock.close()


def _bound(port: int) -> socket.socket | None:
    """Return a socket with this port; None if it is in use."""
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # also after recent connections
    try:
        found.bind(("127.0.0.1", port))
        found.listen()
    except OSError:
        found.close()
        return None
    return found


def _is_free(port: int) -> bool:
    found = _bound(port)
    if found is not None:
        found.close()
    return found is not None
