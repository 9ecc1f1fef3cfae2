"""Daemons that are started for tests and stopped by their recorded process ids."""

from __future__ import annotations

import os
import pwd
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from random import SystemRandom

PATIENCE = 15.0
"""Seconds in which a daemon must end without being killed."""
FIRST_PORT, BLOCK = 10_000, 100
BUSY = 5.0
"""How much longer everything may take on a busy machine."""


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


def wait_for(is_done: Callable[[], object], seconds: float, what: str | Path) -> None:
    """Wait until something is done; a failure shows the log file, if `what` is one.

    Args:
        is_done: is asked again and again.
        seconds: in which it is done on an idle machine.
        what: is being waited for.
    """
    ends = time.monotonic() + BUSY * seconds
    while not is_done():
        if time.monotonic() > ends:
            text = what.read_text() if isinstance(what, Path) else what
            raise AssertionError(f"timed out after {BUSY * seconds:g} s: {text}")
        time.sleep(0.05)


def as_account(user: str | None) -> list[str]:
    """Return the beginning of a command line that runs the rest under another account."""
    if user is None:
        return []
    account = pwd.getpwnam(user)
    return ["setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]


def reserve_ports(count: int) -> tuple[socket.socket, list[int]]:
    """Return ports of the loopback interface, and the socket that reserves them while it is open.

    They lie below those that the system gives to connections, in blocks. A block belongs to the
    process that has bound its first port.
    """
    above = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    blocks = list(range(FIRST_PORT, above - BLOCK, BLOCK))
    SystemRandom().shuffle(blocks)
    for first in blocks:
        if (owner := _bound(first)) is None:
            continue
        others = [_bound(port) for port in range(first + 1, first + 1 + count)]
        for each in filter(None, others):
            each.close()
        if all(others):
            return owner, list(range(first + 1, first + 1 + count))
        owner.close()
    raise AssertionError(f"no block of {count} ports is free")


def _bound(port: int) -> socket.socket | None:
    """Return a socket with a port; None if the port is in use."""
    found = socket.socket()
    try:
        found.bind(("127.0.0.1", port))
    except OSError:
        found.close()
        return None
    return found
