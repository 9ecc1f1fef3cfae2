"""Rigid jobs: each class has one width and is blocked unless it is free.

The multi-rate loss model of telephony: J. S. Kaufman, "Blocking in a shared resource environment",
IEEE Transactions on Communications 29, 1981; J. W. Roberts, "A service system with heterogeneous
user requirements", Performance of Data Communications Systems, 1981.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

from moldable.checks import whole
from moldable.errors import PolicyError, shortened
from moldable.model.workload import JobClass, Workload
from moldable.policies.class_entries import (
    classes_of,
    entry_of,
    refuse_other_classes,
    refuse_unknown_width,
)
from moldable.policies.policy_table import Policy, PolicyTable


@final
@dataclass(frozen=True, eq=False)
class Rigid(Policy):
    """Give each class its one width or nothing.

    Args:
        widths: the width of each class, by name; may be left out where every class has only one.
    """

    widths: Mapping[str, int] = field(default_factory=dict)
    strict = True

    def __post_init__(self) -> None:
        widths = {
            name: whole(width, f"rigid: class {name!r}: width", PolicyError)
            for name, width in classes_of(self.widths, "rigid").items()
        }
        object.__setattr__(self, "widths", widths)

    def decide(self, job_class: JobClass, idle: int) -> Mapping[int, float]:  # noqa: ARG002
        """Wish for the class's width."""
        return {self._width(job_class): 1.0}

    def reach(self, job_class: JobClass, servers: int) -> int:
        """From the width on, it is granted."""
        return min(self._width(job_class), servers)

    def tabulate(self, workload: Workload, pools: tuple[int, ...]) -> PolicyTable:
        """Tabulate the policy; every class it names must be there."""
        refuse_other_classes(workload, self.widths, self.name)
        return super().tabulate(workload, pools)

    @property
    def name(self) -> str:
        """What such jobs are called."""
        return "rigid"

    def _width(self, job_class: JobClass) -> int:
        if self.widths:
            width = entry_of(job_class, self.widths, self.name, "width")
            refuse_unknown_width(self.name, job_class, width)
            return width
        allowed = job_class.speedup.widths.tolist()
        if len(allowed) > 1:
            raise PolicyError(
                f"rigid: class {job_class.name!r} has the widths {shortened(allowed)}, but a rigid "
                f"job has one; name it, Rigid({{{job_class.name!r}: {allowed[-1]}}}), or give the "
                f"class a curve with one width"
            )
        return int(allowed[0])
