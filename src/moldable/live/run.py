"""Run a command on its share of the servers, among all commands of the user on this machine.

Each `moldable run` decides about its own job, under the lock of the ledger. The first of the queue
polls a few times a second; each of the others sleeps until the one before it has left the queue.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, final

from moldable.checks import checked_int
from moldable.errors import InputError, printable
from moldable.live.child import (
    CANNOT_RUN,
    HELD,
    NOT_FOUND,
    environment,
    start,
    wait_for_end,
)
from moldable.live.decisions import Instruction, Snapshot, WaitingJob, count_jobs, decide
from moldable.live.folders import runtime_folder
from moldable.live.journal import Journal, State
from moldable.live.kept_decisions import KeptDecisions
from moldable.live.ledger import LONGEST_COMMAND, Ledger, Record

BLOCKED: Final = 75
"""Exit code of a job that is blocked, EX_TEMPFAIL: try again later."""
POLL: Final = 0.04
"""Polling interval of the first waiting job, in seconds."""
_STDERR: Final = 2
"""The last of the descriptors of the standard files."""
CANCELLING: Final = frozenset({signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGKILL})


@final
@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of `moldable run`.

    Attributes:
        command: the command and its arguments.
        plan: plan file.
        job_class: name of the class; None where the plan has one.
        servers: servers of this machine; None: the CPUs that this process may use.
        folder: folder of the ledger; None: one in the user's runtime folder.
        no_wait: whether the job is blocked if it gets no servers at once.
        pin: whether the command runs on CPUs of its own.
        journal: journal of decisions; None: none is written.
    """

    command: tuple[str, ...]
    plan: Path
    job_class: str | None = None
    servers: int | None = None
    folder: Path | None = None
    no_wait: bool = False
    pin: bool = False
    journal: Path | None = None


def run(options: RunOptions) -> int:
    """Run a command on the servers that the policy gives it, and return its exit code.

    It is 75 if the job is blocked; 127 and 126, as in shells, if the command is not found or cannot
    be run; 128 + N if signal N ended it.
    """
    _open_standard_files()
    mask = {*signal.pthread_sigmask(signal.SIG_BLOCK, HELD)}
    try:
        request = _Request(options, mask)
        granted = request.obtain()
        return BLOCKED if granted is None else _carry_out(request, *granted)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def ledger_folder(folder: Path | None) -> Path:
    """Return the folder of the ledger, by default one in the user's runtime folder."""
    return runtime_folder() / "run" if folder is None else folder


@final
class _Request:
    """One job, from its submission until it gets servers."""

    def __init__(self, options: RunOptions, mask: set[int]) -> None:
        if not options.command[0]:
            raise InputError("the command is empty; write its name after --")
        self.options, self.mask = options, mask
        self.ledger = Ledger(ledger_folder(options.folder))
        self.plan = KeptDecisions(options.plan, self.ledger.plans)
        self.job_class = self.plan.class_name(options.job_class)
        self.cpus = sorted(os.sched_getaffinity(0))
        self.servers = self._servers()
        self.journal = Journal(options.journal)

    def obtain(self) -> tuple[Record, int] | None:
        """Return the job with its servers and the descriptor that holds them; None: blocked."""
        with self.ledger.locked():
            job, ahead = self._submitted()
            places = 0 if self.options.no_wait else self.plan.places
            if len(ahead) >= max(places, 1):
                self._block(job, idle=self._idle(), reason=f"{len(ahead)} jobs wait already")
                return None
            if not ahead:
                found, granted = self._decide(job, behind=0, places=places)
                if granted is not None:
                    return granted
                if found.action == "block":
                    self._block(job, idle=found.idle, reason="it gets no servers now")
                    return None
            file = self.ledger.add_waiting(job)
        try:
            return self._wait(job)
        finally:
            self.ledger.left_queue(job, file)

    def _wait(self, job: Record) -> tuple[Record, int]:
        if sys.stderr.isatty():
            _tell("waiting for servers (Ctrl-C to give up; moldable run --status lists the jobs)")
        while True:
            with self.ledger.locked():
                queue = self.ledger.waiting()
                position = self._position(job, queue)
                if position == 0:
                    granted = self._decide(job, behind=len(queue) - 1)[1]
                    if granted is not None:
                        return granted
            with self._signals_handled():
                if position > 0:
                    self.ledger.wait_for(queue[position - 1])
                else:
                    time.sleep(POLL)

    def _position(self, job: Record, queue: list[Record]) -> int:
        for position, waiting in enumerate(queue):
            if waiting.job == job.job:
                return position
        raise InputError(
            f"the record of job {job.job} was removed from {self.ledger.folder}; submit it again"
        )

    def _submitted(self) -> tuple[Record, list[Record]]:
        """Return the new job, and those that wait already."""
        ahead = self.ledger.waiting()
        for other in (*self.ledger.running(), *ahead):
            if other.servers != self.servers:
                raise InputError(
                    f"{self.servers}, but job {other.job} was started with --servers "
                    f"{other.servers}; jobs of one folder share their servers: give --servers "
                    f"{other.servers}, or use another folder with --dir",
                    "servers",
                )
        job = Record(
            job=self.ledger.next_job(),
            job_class=self.job_class,
            pid=os.getpid(),
            servers=self.servers,
            plan=self.plan.digest,
            submitted=time.time(),
            command=" ".join(self.options.command)[:LONGEST_COMMAND],
        )
        return job, ahead

    def _decide(
        self, job: Record, behind: int, places: float = float("inf")
    ) -> tuple[Instruction, tuple[Record, int] | None]:
        """Decide about the first job of the queue, and take its servers if it gets some."""
        running = self.ledger.running()
        held = count_jobs([(other.job_class, other.width) for other in running])
        snapshot = Snapshot(
            self.servers, held, waiting=(WaitingJob(job.job, job.job_class),), behind=behind
        )
        (found,) = decide(snapshot, self.plan, places=places)
        if found.action != "grant":
            return found, None
        cpus: tuple[int, ...] = ()
        if self.options.pin:
            taken = {cpu for other in running for cpu in other.cpus}
            cpus = tuple([cpu for cpu in self.cpus if cpu not in taken][: found.width])
        granted = replace(job, width=found.width, started=time.time(), cpus=cpus)
        file = self.ledger.add_running(granted)
        try:
            self.journal.decided(
                "granted",
                job.job,
                job.job_class,
                idle=found.idle,
                waiting=found.waiting,
                width=found.width,
                submitted=job.submitted,
                plan=job.plan,
                at=granted.started,
            )
        except InputError:
            os.close(file)
            raise
        return found, (granted, file)

    def _block(self, job: Record, *, idle: int, reason: str) -> None:
        self.journal.decided(
            "blocked",
            job.job,
            job.job_class,
            idle=idle,
            waiting=0,
            width=0,
            submitted=job.submitted,
            plan=job.plan,
        )
        _tell(f"blocked: {reason} ({idle} of {self.servers} servers idle); try again later")

    def _idle(self) -> int:
        return max(self.servers - sum(job.width for job in self.ledger.running()), 0)

    def _servers(self) -> int:
        """Return the servers of this machine; a plan for more is refused."""
        there, planned = len(self.cpus), self.plan.servers
        given = self.options.servers
        servers = there if given is None else checked_int(given, "servers", InputError)
        if planned > servers:
            raise InputError(
                f"{self.options.plan}: the plan is for {planned} servers, but there are {servers}; "
                f"plan for {servers} (moldable plan or tune with --servers {servers}), or "
                f"oversubscribe the machine with --servers {planned}"
            )
        if self.options.pin and servers > there:
            raise InputError(
                f"{servers}, but this process may use {there} CPUs, and --pin gives each server a "
                f"CPU of its own; leave out --pin, or give at most --servers {there}",
                "servers",
            )
        if given is None and planned < servers:
            _tell(
                f"note: the plan is for {planned} servers, but jobs may use all {servers} CPUs; "
                f"give --servers {planned} to use only as many as planned"
            )
        return servers

    @contextmanager
    def _signals_handled(self) -> Iterator[None]:
        """Let signals end the process while it waits."""
        signal.pthread_sigmask(signal.SIG_SETMASK, self.mask)
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_BLOCK, HELD)


def _carry_out(request: _Request, job: Record, lock: int) -> int:
    """Run the command of a job that has servers, and return the exit code."""
    command = request.options.command
    try:
        if job.cpus:
            os.sched_setaffinity(0, job.cpus)  # the command inherits it
        variables = environment(job.job, job.job_class, job.width, job.cpus)
        code = wait_for_end(start(command, variables, lock, request.mask))
    except (OSError, ValueError) as error:  # ValueError: a NUL in the command
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        _tell(f"{command[0]} cannot be run: {reason}")
        code = NOT_FOUND if isinstance(error, FileNotFoundError) else CANNOT_RUN
    state: State = "completed" if code == 0 else "cancelled" if -code in CANCELLING else "failed"
    with _noted():  # before its servers can be granted again
        request.journal.ended(
            job.job,
            job.job_class,
            width=job.width,
            started=job.started or job.submitted,
            state=state,
            plan=job.plan,
        )
    with _noted():
        request.ledger.ended(job, lock)
    return code if code >= 0 else 128 - code


def _open_standard_files() -> None:
    """Open the standard files that the caller has closed; the command does not inherit them.

    A file of the ledger would otherwise become the output of the command.
    """
    while (file := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        pass
    os.close(file)
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115 - until the process ends


@contextmanager
def _noted() -> Iterator[None]:
    """Turn errors after the end of the command into notes: its exit code matters more."""
    try:
        yield
    except InputError as error:
        _tell(f"note: {error}")


def _tell(text: str) -> None:
    sys.stderr.write(f"moldable: {printable(text)}\n")
    sys.stderr.flush()
