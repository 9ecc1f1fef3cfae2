"""The tasks of an executor, from their submission to their end."""

from __future__ import annotations

import threading
import time
from collections import deque
from concurrent.futures import Future
from functools import partial
from typing import Any, final

from moldable.live.admission import Admission
from moldable.live.backends import Backend
from moldable.live.decision_record import DecisionRecord
from moldable.live.decisions import Instruction
from moldable.live.journal import State
from moldable.live.submission import Submission, blocked
from moldable.live.task import Outcome


@final
class TaskFlow:
    """Admits tasks, hands those that were granted servers to a back end, and completes futures.

    Its methods may be called from any thread.

    Args:
        admission: decides.
        backend: runs the tasks.
        record: is told every decision and every end.
    """

    def __init__(self, admission: Admission, backend: Backend, record: DecisionRecord) -> None:
        self._admission, self._backend, self._record = admission, backend, record
        self._lock = threading.Lock()
        self._ended = threading.Condition(self._lock)
        self._tasks: dict[str, Submission] = {}
        self._granted: deque[Submission] = deque()
        self._number = 0
        self._starting = self._closed = False

    @property
    def idle(self) -> int:
        """Number of servers that no task holds."""
        with self._lock:
            return self._admission.idle

    @property
    def waiting(self) -> int:
        """Number of tasks that wait for servers."""
        with self._lock:
            return self._admission.waiting

    def submit(self, task: Submission) -> Future[Any]:
        """Decide about a new task, start it if it is granted servers, and return its future."""
        with self._lock:
            if self._closed:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._number += 1
            task.job = str(self._number)
            self._tasks[task.job] = task
            refused = self._arrive(task)
        if refused is not None:
            self._complete(task, error=refused)
        task.future.add_done_callback(partial(self._withdraw, task))
        self._start_granted()
        return task.future

    def close(self, *, wait: bool, cancel: bool) -> None:
        """Accept no more tasks.

        Args:
            wait: return when all tasks have ended.
            cancel: cancel the tasks that wait for servers.
        """
        with self._lock:
            self._closed = True
            waiting = list(self._tasks.values()) if cancel else []
            cancelled = [task for task in waiting if self._admission.withdraw(task.job)]
        for task in cancelled:
            self._cancel(task)
        self._start_granted()  # an interrupt may have left some
        with self._lock:
            while wait and self._tasks:
                self._ended.wait()
            idle = not self._tasks
        if idle:
            self._backend.close()

    def _arrive(self, task: Submission) -> Exception | None:
        """Decide about a new task, and return why it is not run; the lock is held."""
        try:
            instruction = self._admission.arrive(task.job, task.job_class)
        except Exception as error:  # noqa: BLE001 - the policy's, and so that of the task
            return error
        self._note(task, instruction)
        return (
            blocked(instruction, self._admission.places) if instruction.action == "block" else None
        )

    def _note(self, task: Submission, instruction: Instruction) -> None:
        """Record what was decided about a task; the lock is held."""
        if instruction.action == "wait":
            return
        if instruction.action == "grant":
            task.width = instruction.width
            self._granted.append(task)
        self._record.decided(instruction, task.submitted)

    def _start_granted(self) -> None:
        """Hand granted tasks to the back end, in their order, from one thread at a time."""
        while True:
            with self._lock:
                if self._starting or not self._granted:
                    return
                self._starting = True
                task = self._granted.popleft()
            try:
                self._start(task)
            finally:
                with self._lock:
                    self._starting = False

    def _start(self, task: Submission) -> None:
        task.started = time.time()
        if not task.future.set_running_or_notify_cancel():
            self._release(task, "cancelled")
            self._forget(task)
            return
        try:
            running = self._backend.start(task.call(), task.width)
        except BaseException as error:
            self._end(task, "failed", error=error)
            if not isinstance(error, Exception):
                raise
        else:
            running.add_done_callback(partial(self._collect, task))

    def _collect(self, task: Submission, running: Future[Outcome]) -> None:
        """Take the outcome of a task from the back end."""
        try:
            outcome = running.result()
        except BaseException as error:  # noqa: BLE001 - the back end's, for example a lost worker
            self._end(task, "lost", error=error)
        else:
            state: State = "completed" if outcome.error is None else "failed"
            self._end(task, state, outcome.value, outcome.error)
        self._start_granted()

    def _end(
        self,
        task: Submission,
        state: State,
        value: object = None,
        error: BaseException | None = None,
    ) -> None:
        self._release(task, state)
        self._complete(task, value, error)

    def _release(self, task: Submission, state: State) -> None:
        """Take back the servers of a task, and decide about the tasks that wait."""
        with self._lock:
            self._admission.end(task.job)
            self._record.ended(task.job, task.job_class.name, task.width, task.started, state)
        self._decide()

    def _decide(self) -> None:
        """Grant servers to waiting tasks, as long as the policy does."""
        while True:
            with self._lock:
                head = self._admission.head()
                if head is None:
                    return
                task = self._tasks[head]
                try:
                    instruction = self._admission.next()
                except Exception as error:  # noqa: BLE001 - the policy's; the others go on
                    refused = error
                else:
                    if instruction is None or instruction.action == "wait":
                        return
                    self._note(task, instruction)
                    continue
            self._complete(task, error=refused)

    def _withdraw(self, task: Submission, future: Future[Any]) -> None:
        """Free the waiting place of a task that was cancelled."""
        if not future.cancelled():
            return
        with self._lock:
            first = self._admission.head() == task.job
            if not self._admission.withdraw(task.job):
                return  # it was granted servers, which are freed when its turn to start comes
        future.set_running_or_notify_cancel()
        self._forget(task)
        if first:
            self._decide()
            self._start_granted()

    def _cancel(self, task: Submission) -> None:
        """Cancel a task that is neither waiting nor granted servers."""
        task.future.cancel()
        task.future.set_running_or_notify_cancel()
        self._forget(task)

    def _complete(
        self, task: Submission, value: object = None, error: BaseException | None = None
    ) -> None:
        """Complete a future. Callbacks run here, and whatever they raise the task is forgotten."""
        try:
            if not task.future.running() and not task.future.set_running_or_notify_cancel():
                return
            if error is None:
                task.future.set_result(value)
            else:
                task.future.set_exception(error)
        finally:
            self._forget(task)

    def _forget(self, task: Submission) -> None:
        with self._lock:
            self._tasks.pop(task.job, None)
            self._ended.notify_all()
            last = self._closed and not self._tasks
        if last:
            # Callbacks may run on a thread of the back end, which cannot wait for itself.
            threading.Thread(target=self._backend.close, name="moldable-close").start()
