"""One width for every job, whatever its class and however many servers are idle.

The static allocation that the paper's schemes improve on. Strict and with one class, it is Erlang's
loss system (A. K. Erlang, 1917) with floor(servers / width) slots.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from moldable.checks import checked_int
from moldable.errors import PolicyError
from moldable.model.workload import JobClass
from moldable.policies.policy import Policy
from moldable.policies.policy_table import refuse_unknown_width


@final
@dataclass(frozen=True)
class FixedWidth(Policy):
    """Request one width for every job.

    Args:
        width: the width; every class must allow it.
        strict: whether a job is blocked unless that many servers are idle, rather than getting
            fewer.

    Examples:
        >>> FixedWidth(3, strict=True).name
        'fixed width 3, strict'
    """

    width: int
    strict: bool = False
    ignores_idle = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", checked_int(self.width, "width", PolicyError))

    def decide(self, job_class: JobClass, idle: int) -> Mapping[int, float]:  # noqa: ARG002
        """Return the width."""
        refuse_unknown_width(self.name, job_class, self.width)
        return {self.width: 1.0}

    @property
    def name(self) -> str:
        """The width, and whether it is strict."""
        return f"fixed width {self.width}{', strict' if self.strict else ''}"
