"""One task of an executor, from its submission to its end."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, final

from moldable.errors import MoldableError
from moldable.live.decisions import Instruction
from moldable.live.task import Call
from moldable.model.waiting import written_waiting
from moldable.model.workload import JobClass


class Blocked(MoldableError):  # noqa: N818 - what happened to the task; nothing is wrong
    """A task that was blocked: it got no servers, and no waiting place was free."""


@final
@dataclass(slots=True, eq=False)
class Submission:
    """A call that was submitted to an executor.

    Attributes:
        job_class: its class.
        function: what is called.
        arguments: its arguments.
        options: its keyword arguments.
        submitted: when it was submitted.
        job: its number, as text; "": none yet.
        future: what the caller got.
        width: servers granted; 0: none yet.
        started: when it was started; 0: not yet.
    """

    job_class: JobClass
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: dict[str, Any]
    submitted: float
    job: str = ""
    future: Future[Any] = field(default_factory=Future)
    width: int = 0
    started: float = 0.0

    def call(self) -> Call:
        """Return what the worker calls."""
        return Call(self.width, self.function, self.arguments, self.options)


def blocked(instruction: Instruction, places: float) -> Blocked:
    """Return the exception of a task that was blocked."""
    return Blocked(
        f"a task of class {instruction.job_class!r} found {instruction.idle} idle servers and none "
        f"of {written_waiting(places)} waiting places free, so it was blocked; submit it again "
        f"later, or make a plan with more waiting places"
    )
