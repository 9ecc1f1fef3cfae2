"""The running and waiting jobs on this machine: one locked file for each, no daemon.

The file of a running job is locked by the processes of the job, which inherit its descriptor, so
that the job leaves the ledger when the last of them ends, even after kill -9. Files without a lock
are removed by the first process that sees them. Everything is read and changed under one more lock.

All files are in a private folder. Their content is checked nevertheless: what cannot be understood
is an error, because it may stand for servers that are in use.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, final

from moldable.errors import InputError, shown
from moldable.live.folders import private_folder

MOST_BYTES: Final = 2**16
LONGEST_COMMAND: Final = 4096
"""Characters of a command that are recorded."""
_DIGITS: Final = 12
_DAMAGED: Final = 10 ** (_DIGITS - 1)
"""Numbers of jobs from here on are not reached by counting."""


@final
@dataclass(frozen=True, slots=True)
class Record:
    """A job in the ledger; times are seconds since 1970.

    Attributes:
        job: its identifier, a number that grows and the process.
        job_class: name of its class.
        pid: process that waits for it.
        servers: servers of the machine, according to this job.
        plan: digest of its plan.
        submitted: when it was submitted.
        command: the command, shortened if it is long.
        width: servers that it holds; 0 while it waits.
        started: when it got them; None while it waits.
        cpus: CPUs that its processes run on; empty if they were not chosen.
    """

    job: str
    job_class: str
    pid: int
    servers: int
    plan: str
    submitted: float
    command: str
    width: int = 0
    started: float | None = None
    cpus: tuple[int, ...] = ()

    @property
    def number(self) -> int:
        """Its place in the order of arrival."""
        return int(self.job.partition("-")[0])


@final
class Ledger:
    """The running and the waiting jobs of a folder.

    Args:
        folder: created if it does not exist; it must be private to the user.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = private_folder(folder)
        self._running = private_folder(folder / "running")
        self._waiting = private_folder(folder / "waiting")
        self.plans = private_folder(folder / "plans")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock under which the ledger is read and changed.

        Signals wait meanwhile: a process that Ctrl-Z stopped here would keep all others waiting.
        """
        with _reported(self._lock):
            file = os.open(self._lock, _FLAGS | os.O_RDWR | os.O_CREAT, 0o600)
        mask: set[int] | None = None
        try:
            with _reported(self._lock):
                fcntl.flock(file, fcntl.LOCK_EX)
            mask = {*signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())}
            yield
        finally:
            os.close(file)
            if mask is not None:
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    @property
    def _lock(self) -> Path:
        return self.folder / "lock"

    def next_job(self) -> str:
        """Return the identifier of a new job, numbered in the order of arrival."""
        counter = self.folder / "last"
        with _reported(counter):
            file = os.open(counter, _FLAGS | os.O_RDWR | os.O_CREAT, 0o600)
            try:
                last = os.read(file, _DIGITS).strip()
                # The number may be lost on a full disk, so it must also exceed those of all known
                # jobs.
                known = [_number(name) for part in self._parts for name in _names(part)]
                kept = int(last) if last.isdigit() and int(last) < _DAMAGED else 0
                number = max(kept, *known, 0) + 1
                os.pwrite(file, f"{number:0{_DIGITS}}".encode(), 0)
            finally:
                os.close(file)
        return f"{number}-{os.getpid()}"

    @property
    def _parts(self) -> tuple[Path, Path]:
        return self._running, self._waiting

    def running(self) -> list[Record]:
        """Return the jobs that hold servers; files of jobs that have ended are removed."""
        return list(self._live(self._running))

    def waiting(self) -> list[Record]:
        """Return the waiting jobs in the order of arrival; files of those that left are removed."""
        return list(self._live(self._waiting))

    def add_running(self, record: Record) -> int:
        """Record a job that got servers; it holds them while the returned descriptor is open."""
        return self._add(self._running, record)

    def add_waiting(self, record: Record) -> int:
        """Record a job that waits, as long as the returned descriptor is open."""
        return self._add(self._waiting, record)

    def left_queue(self, record: Record, file: int) -> None:
        """Remove a job from the queue, which wakes the one behind it."""
        with suppress(OSError):
            self._path(self._waiting, record).unlink(missing_ok=True)
        os.close(file)

    def ended(self, record: Record, file: int) -> None:
        """Return the servers of a job, unless one of its processes still runs."""
        os.close(file)
        with self.locked():
            self._sweep(self._path(self._running, record))

    def wait_for(self, record: Record) -> None:
        """Return when a waiting job has left the queue, for whatever reason."""
        path = self._path(self._waiting, record)
        try:
            file = os.open(path, _FLAGS | os.O_RDONLY)
        except FileNotFoundError:
            return
        try:
            fcntl.flock(file, fcntl.LOCK_SH)
        finally:
            os.close(file)

    def _add(self, folder: Path, record: Record) -> int:
        path = self._path(folder, record)
        with _reported(path):
            file = os.open(path, _FLAGS | os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                content = json.dumps(asdict(record)).encode()
                if os.write(file, content) < len(content):
                    _refuse_full_disk()
            except BaseException:
                os.close(file)
                path.unlink(missing_ok=True)
                raise
        return file

    @staticmethod
    def _path(folder: Path, record: Record) -> Path:
        return folder / record.job

    def _live(self, folder: Path) -> Iterator[Record]:
        with _reported(folder):
            names = sorted(_names(folder), key=_number)
        for name in names:
            found = self._sweep(folder / name)
            if found is not None:
                yield found

    @staticmethod
    def _sweep(path: Path) -> Record | None:
        """Return the record of a file that is locked; remove it if it is not."""
        with _reported(path):
            try:
                file = os.open(path, _FLAGS | os.O_RDONLY | os.O_NONBLOCK)
            except FileNotFoundError:
                return None
            try:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    regular = stat.S_ISREG(os.fstat(file).st_mode)
                    return _record(path, os.read(file, MOST_BYTES) if regular else b"")
                path.unlink(missing_ok=True)
            finally:
                os.close(file)
        return None


_FLAGS: Final = os.O_CLOEXEC | os.O_NOFOLLOW


def _names(folder: Path) -> list[str]:
    """Return the names of the files that are records; others are left alone."""
    return [name for name in os.listdir(folder) if _number(name) > 0]  # noqa: PTH208 - names only


def _number(name: str) -> int:
    number, _, pid = name.partition("-")
    valid = number.isascii() and number.isdigit() and len(number) <= _DIGITS
    return int(number) if valid and pid.isascii() and pid.isdigit() else 0


def _record(path: Path, content: bytes) -> Record:
    try:
        data = json.loads(content)
        found = Record(**data | {"cpus": tuple(data["cpus"])})
    except (ValueError, TypeError, KeyError, RecursionError):
        raise _damaged(path, content) from None
    if not _is_valid(found) or found.job != path.name:
        raise _damaged(path, content)
    return found


def _is_valid(record: Record) -> bool:
    counts: tuple[Any, ...] = (record.width, record.servers, record.pid, *record.cpus)
    times = (record.submitted, 0 if record.started is None else record.started)
    texts = (record.job, record.job_class, record.plan, record.command)
    return (
        all(type(count) is int and 0 <= count < 10**15 for count in counts)
        and all(type(time) in {int, float} and 0 <= time < float("inf") for time in times)
        and all(isinstance(text, str) for text in texts)
        and record.width <= record.servers
    )


def _damaged(path: Path, content: bytes) -> InputError:
    return InputError(
        f"{path} is locked by a running process, but is not a record of a job: "
        f"{shown(content)}; end that process, or use another folder with --dir"
    )


def _refuse_full_disk() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextmanager
def _reported(path: Path) -> Iterator[None]:
    """Turn errors of the operating system into errors that name the file."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"{path} cannot be used: {reason}; choose another --dir") from None
