"""A `concurrent.futures.Executor` whose tasks get the servers that a policy grants."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, final

from moldable.live.admission import Admission
from moldable.live.backends import find_backend
from moldable.live.decision_record import DecisionRecord
from moldable.live.given_plan import Given, checked_servers, live_plan
from moldable.live.submission import Submission
from moldable.live.task_flow import TaskFlow
from moldable.model.scenario import ScenarioOrFile

P = ParamSpec("P")
T = TypeVar("T")


@final
class MoldableExecutor(Executor):
    """Run functions in parallel, each on the number of servers that a policy grants it.

    Tasks start first come, first served. The policy decides when a task can start; inside the
    function, `moldable.live.width()` is the number of servers granted. A task that is blocked has
    the exception `Blocked`. The executor counts the servers itself: it does not know what else runs
    on the back end.

    Args:
        policy: a plan, its file, a result of `plan` or `tune`, or a policy together with
            `scenario`. A policy with a method `observe`, such as `LearningPolicy`, is given every
            entry of the journal.
        servers: number of servers; by default those of the plan.
        backend: what runs the tasks: a Dask client, the module `ray`, an executor of executorlib or
            submitit, or an object of your own with the methods of `Backend`. By default
            processes on this machine.
        scenario: for a policy without a plan: its classes and waiting places.
        journal: file to which a line is appended for each decision and each end of a task.
        seed: for policies that draw widths at random.

    Examples:
        >>> import math
        >>> jobs = JobClass("jobs", arrival_rate=1.0, speedup=[1, 1.8, 2.5])
        >>> scenario = Scenario(Workload([jobs]), servers=4, waiting="unlimited")
        >>> with MoldableExecutor(Greedy(), servers=4, scenario=scenario) as executor:
        ...     print(executor.submit(math.factorial, 5).result())
        ...     print(list(executor.map(math.sqrt, [1, 4, 9])))
        120
        [1.0, 2.0, 3.0]
    """

    def __init__(
        self,
        policy: Given,
        servers: int | None = None,
        backend: object = None,
        *,
        scenario: ScenarioOrFile | None = None,
        journal: Path | str | None = None,
        seed: int = 0,
    ) -> None:
        self._plan = live_plan(policy, scenario)
        found = find_backend(backend, servers)
        self._servers = checked_servers(self._plan, servers, found.servers)
        places = self._plan.scenario.waiting
        admission = Admission(
            self._plan.policy, self._servers, places=places, seed=seed, most=found.most
        )
        record = DecisionRecord(journal, self._plan.digest, self._plan.policy)
        self._tasks = TaskFlow(admission, found, record)
        self._process = os.getpid()

    @property
    def servers(self) -> int:
        """Number of servers."""
        return self._servers

    @property
    def idle(self) -> int:
        """Number of servers that no task holds."""
        return self._tasks.idle

    @property
    def waiting(self) -> int:
        """Number of tasks that wait for servers."""
        return self._tasks.waiting

    def submit(  # type: ignore[override]
        self, fn: Callable[..., T], /, *args: Any, job_class: str | None = None, **kwargs: Any
    ) -> Future[T]:
        """Schedule the call `fn(*args, **kwargs)` and return its future.

        Args:
            fn: function, called in a worker.
            args: its arguments.
            job_class: class of the task; it may be left out where there is one class.
            kwargs: its keyword arguments.
        """
        found = self._plan.job_class(job_class)
        if os.getpid() != self._process:
            raise RuntimeError("this executor belongs to the parent process; create another here")
        return self._tasks.submit(Submission(found, fn, args, kwargs, time.time()))

    def map(
        self,
        fn: Callable[..., T],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
        job_class: str | None = None,
    ) -> Iterator[T]:
        """Submit a call for each element of the iterables, and return the results in their order.

        Args:
            fn: function, called in workers.
            iterables: its arguments.
            timeout: seconds after which iterating raises `TimeoutError`.
            chunksize: ignored; every call is a task.
            job_class: class of the tasks.
        """
        one = _OneClass(self, job_class)
        return Executor.map(one, fn, *iterables, timeout=timeout, chunksize=chunksize)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 - as in the standard library
        """Accept no more tasks.

        Args:
            wait: return when all tasks have ended.
            cancel_futures: cancel the tasks that wait for servers.
        """
        self._tasks.close(wait=wait, cancel=cancel_futures)


@final
class _OneClass(Executor):
    """Submits tasks of one class; the standard `map` can only call `submit(fn, *args)`."""

    def __init__(self, executor: MoldableExecutor, job_class: str | None) -> None:
        self._executor, self._job_class = executor, job_class

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        return self._executor.submit(fn, *args, job_class=self._job_class, **kwargs)
