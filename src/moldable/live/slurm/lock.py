"""One agent for each cluster and user: a locked file that describes the running agent."""

from __future__ import annotations

import fcntl
import json
import os
import re
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self, final

from moldable.errors import InputError
from moldable.live.folders import runtime_folder

PRIVATE = 0o600


@final
@dataclass(frozen=True, slots=True)
class AgentInfo:
    """What other commands of the same user need to know about the running agent.

    Attributes:
        process: its process id.
        mode: observe, advise, enforce or loss.
        shape: the shape of jobs that name none.
        partition: the partition that it decides for.
        plan: the digest of its plan.
        classes: the classes of its plan.
    """

    process: int
    mode: str
    shape: str
    partition: str
    plan: str
    classes: tuple[str, ...]


@final
class AgentLock:
    """The lock of the agent, held until it is closed or the process ends for whatever reason."""

    def __init__(self, cluster: str, info: AgentInfo) -> None:
        path = _path(cluster)
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise InputError(f"lock {path} cannot be used: {reason}; remove it") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._file)
            found = running_agent(cluster)
            process = "" if found is None else f" (process {found.process})"
            raise InputError(
                f"an agent of yours is already running on cluster {cluster}{process}; stop it "
                f"first, or both would decide about the same jobs"
            ) from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, json.dumps(asdict(info)).encode(), 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)


def running_agent(cluster: str) -> AgentInfo | None:
    """Return the description of this user's running agent; None if there is none."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        file = os.open(_path(cluster), os.O_RDONLY | os.O_CLOEXEC)
        try:
            if _is_free(file):
                return None
            data = json.loads(os.pread(file, 2**20, 0))
            return AgentInfo(**{**data, "classes": tuple(data["classes"])})
        finally:
            os.close(file)
    return None


def _is_free(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    fcntl.flock(file, fcntl.LOCK_UN)
    return True


def _path(cluster: str) -> Path:
    return runtime_folder() / f"slurm-agent-{re.sub(r'[^A-Za-z0-9_.-]', '_', cluster)}"
