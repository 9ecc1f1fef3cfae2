"""Tasks with which executors are tested. Workers import this module and little else."""

from __future__ import annotations

import os
import signal
import time
import uuid
from pathlib import Path

from moldable.live import width

LONGEST = 180.0
"""Seconds after which a task counts as hanging."""


def nap(seconds=0.1, after=None):
    """Return when the task ran, its width and the limit of OpenMP's threads.

    It ends when the file `after` is there, at the earliest after this many seconds.
    """
    start = time.monotonic()  # the same clock in all processes of a machine
    time.sleep(seconds)
    if after is not None:
        until(after)
    return start, time.monotonic(), width(), os.environ["OMP_NUM_THREADS"]


def meet(folder):
    """Return what `nap` does, when two tasks have begun that were given this folder."""
    start, ends = time.monotonic(), time.monotonic() + LONGEST
    (Path(folder) / uuid.uuid4().hex).touch()
    while len(os.listdir(folder)) < 2:  # noqa: PTH208 - names only
        if time.monotonic() > ends:
            raise TimeoutError(folder)
        time.sleep(0.02)
    return start, time.monotonic(), width(), os.environ["OMP_NUM_THREADS"]


def fail():
    raise LookupError("no such mesh")


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def until(path, timeout=LONGEST):
    """Run until a file is there."""
    Path(path).with_suffix(".started").touch()
    end = time.monotonic() + timeout
    while not Path(path).exists():
        if time.monotonic() > end:
            raise TimeoutError(path)
        time.sleep(0.02)
