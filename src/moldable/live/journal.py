"""The journal of decisions: one JSON object on each line.

A line is appended with one write, so several processes can share a journal, and a reader sees
whole lines except perhaps the last one. The fields are described in docs/reference/live-files.md.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, final

from moldable.checks import checked_path
from moldable.errors import InputError, shown
from moldable.text_files import open_input

Decided = Literal["granted", "blocked", "observed", "advised"]
State = Literal["completed", "failed", "cancelled", "lost"]
DECISIONS: Final = ("granted", "blocked", "observed", "advised")
STATES: Final = ("completed", "failed", "cancelled", "lost")
LONGEST_LINE: Final = 2**16
MOST: Final = 10**15
"""Upper bound of times and counts, so that their sums keep enough digits."""
# O_NONBLOCK: opening a pipe would otherwise wait for its reader.
_FLAGS: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "time": (int, float),
    "event": (str,),
    "job": (str,),
    "class": (str,),
    "idle": (int,),
    "waiting": (int,),
    "width": (int,),
    "submitted": (int, float),
    "started": (int, float),
    "state": (str,),
    "plan": (str,),
}


@final
@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a journal; times are seconds since 1970 (UTC).

    Attributes:
        time: when it happened.
        event: "granted", "blocked", "ended", or "observed" and "advised" if the decision was not
            carried out.
        job: identifier of the job.
        job_class: name of its class.
        width: servers that it got; 0: none.
        plan: digest of the plan.
        idle: idle servers at the decision; None when it ended.
        waiting: jobs behind it at the decision; None when it ended.
        submitted: when it was submitted; None when it ended.
        started: when it had started; None at the decision.
        state: how it ended: "completed", "failed", "cancelled" or "lost"; None at the decision.
    """

    time: float
    event: str
    job: str
    job_class: str
    width: int
    plan: str
    idle: int | None = None
    waiting: int | None = None
    submitted: float | None = None
    started: float | None = None
    state: str | None = None

    def line(self) -> bytes:
        """Return the line of a journal."""
        found: dict[str, Any] = {"time": self.time, "event": self.event}
        found |= {"job": self.job, "class": self.job_class}
        if self.event == "ended":
            found |= {"width": self.width, "started": self.started, "state": self.state}
        else:
            found |= {"idle": self.idle, "waiting": self.waiting, "width": self.width}
            found |= {"submitted": self.submitted}
        return (json.dumps({**found, "plan": self.plan}, allow_nan=False) + "\n").encode()


@final
class Journal:
    """Appends to a journal.

    Args:
        path: its file, created if it does not exist; None: nothing is written.

    Examples:
        >>> journal = Journal("decisions.jsonl")
        >>> journal.decided("granted", "17", "solver", idle=5, waiting=2, width=4, submitted=0.0,
        ...     plan="3f2a")
        >>> next(read_journal("decisions.jsonl")).width
        4
    """

    def __init__(self, path: Path | str | None) -> None:
        self._path = None
        if path is not None:
            checked_path(path)
            self._path = Path(path)
            os.close(self._opened(self._path))  # an error now, not after the first decision

    def decided(
        self,
        event: Decided,
        job: str,
        job_class: str,
        *,
        idle: int,
        waiting: int,
        width: int,
        submitted: float,
        plan: str,
        at: float | None = None,
    ) -> None:
        """Write a decision; `at` is its time, by default now."""
        now = time.time() if at is None else at
        self.write(
            Entry(now, event, job, job_class, width, plan, idle, waiting, submitted=submitted)
        )

    def ended(
        self,
        job: str,
        job_class: str,
        *,
        width: int,
        started: float,
        state: State,
        plan: str,
        at: float | None = None,
    ) -> None:
        """Write the end of a job; `at` is its time, by default now."""
        now = time.time() if at is None else at
        self.write(Entry(now, "ended", job, job_class, width, plan, started=started, state=state))

    def write(self, entry: Entry) -> None:
        """Write an entry."""
        if self._path is None:
            return
        file = self._opened(self._path)
        try:
            _write_line(file, entry.line())
        except OSError as error:
            raise _unwritable(self._path, error) from None
        finally:
            os.close(file)

    @staticmethod
    def _opened(path: Path) -> int:
        # It is opened for each line, so that a journal can be rotated.
        try:
            file = os.open(path, _FLAGS, 0o600)
        except OSError as error:
            raise _unwritable(path, error) from None
        if stat.S_ISFIFO(os.fstat(file).st_mode):  # its reader could keep all jobs waiting
            os.close(file)
            raise InputError(f"journal {path} is a pipe; choose a regular file")
        return file


def read_journal(path: Path | str) -> Iterator[Entry]:
    """Yield the lines of a journal, one at a time; errors name the line.

    A last line without a newline is left out if it is not complete: a writer may have died.
    "-" is standard input.

    Examples:
        >>> Journal("decisions.jsonl").ended("17", "solver", width=4, started=0.0,
        ...     state="completed", plan="3f2a")
        >>> [entry.state for entry in read_journal("decisions.jsonl")]
        ['completed']
    """
    path = checked_path(path)
    with open_input(path) as file:
        number = 0
        while line := file.readline(LONGEST_LINE):
            number += 1
            if not line.strip():
                continue
            try:
                yield _entry(line)
            except InputError as error:
                if not line.endswith(b"\n") and len(line) < LONGEST_LINE:
                    return
                raise InputError(f"{path}, line {number}: {error}") from None


def _entry(line: bytes) -> Entry:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError("not a JSON object; correct or remove the line") from None
    if not isinstance(data, dict):
        raise InputError(f"{shown(data)} is not a JSON object; correct or remove the line")
    ended = data.get("event") == "ended"
    own = ("started", "state") if ended else ("idle", "waiting", "submitted")
    for key in ("time", "event", "job", "class", "width", "plan", *own):
        value = data.get(key)
        if not isinstance(value, _TYPES[key]) or isinstance(value, bool) or not _valid(key, value):
            raise InputError(
                f"{key}={shown(value)} is missing or not valid; see docs/reference/live-files.md"
            )
    return Entry(
        data["time"],
        data["event"],
        data["job"],
        data["class"],
        data["width"],
        data["plan"],
        **{key: data[key] for key in own},
    )


def _valid(key: str, value: Any) -> bool:
    if key == "event":
        return value == "ended" or value in DECISIONS
    if key == "state":
        return value in STATES
    return isinstance(value, str) or 0 <= value < MOST


def _write_line(file: int, content: bytes) -> None:
    written = os.write(file, content)
    if written < len(content):  # a full disk; the next line must not follow half a line
        os.ftruncate(file, os.fstat(file).st_size - written)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _unwritable(path: Path, error: OSError) -> InputError:
    reason = (error.strerror or str(error)).lower()
    return InputError(f"journal {path} cannot be written: {reason}; choose another file")
