"""The agent in a process of its own, which starts in milliseconds and can be killed."""

from __future__ import annotations

import multiprocessing
import os
import pwd
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from moldable.live.plan_file import read_plan
from moldable.live.slurm.programs import Output, run
from moldable.live.slurm.service import Settings, serve

_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(["engines.agent_process", "moldable.live.plan_file"])


def start_agent(
    settings: Settings,
    environment: Mapping[str, str],
    log: Path,
    *,
    user: str | None = None,
    dies_at: int | None = None,
) -> Any:
    """Start an agent; `dies_at` is the number of writes to jobs after which it is killed."""
    process = _SERVER.Process(target=_serve, args=(settings, dict(environment), log, user, dies_at))
    process.start()
    return process


def _serve(
    settings: Settings,
    environment: dict[str, str],
    log: Path,
    user: str | None,
    dies_at: int | None,
) -> None:
    with log.open("ab") as output:
        os.dup2(output.fileno(), 2)
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115 - until it ends
    os.environ.clear()
    os.environ.update(environment)
    if user is not None:
        read_plan(settings.plan)  # loads what the account may not be allowed to read
        account = pwd.getpwnam(user)
        os.setgroups([])
        os.setgid(account.pw_gid)
        os.setuid(account.pw_uid)
    serve(settings, run if dies_at is None else DyingRunner(dies_at))


class DyingRunner:
    """Runs programs until a number of jobs was written to, and then dies as by kill -9.

    A program that writes to several jobs is replaced by one that writes to the first of them.
    """

    def __init__(self, writes: int) -> None:
        self._left = writes

    def __call__(self, words: Sequence[str], text: str | None = None) -> Output:
        if words[0] != "scontrol" or not (text or words[1] == "release"):
            return run(words, text)
        lines = text.splitlines(keepends=True) if text else words[2].split(",")
        first = lines[: self._left]
        if text:
            found = run(words, "".join(first))
        elif first:
            found = run([*words[:2], ",".join(first)])
        self._left -= len(first)
        if not self._left:
            os.kill(os.getpid(), signal.SIGKILL)
        return found
