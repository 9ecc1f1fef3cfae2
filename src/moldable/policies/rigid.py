"""Rigid jobs: each class has one width and is blocked unless that many servers are idle.

The multi-rate loss model of telephony: J. S. Kaufman, "Blocking in a shared resource environment",
IEEE Transactions on Communications 29, 1981; J. W. Roberts, "A service system with heterogeneous
user requirements", Performance of Data Communications Systems, 1981.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

from moldable.checks import checked_int
from moldable.errors import PolicyError, shortened
from moldable.model.workload import JobClass
from moldable.policies.policy_by_class import PolicyByClass
from moldable.policies.policy_table import refuse_unknown_width


@final
@dataclass(frozen=True, eq=False)
class Rigid(PolicyByClass[int]):
    """Grant each class its one width or block the job.

    Args:
        widths: the width of each class, by name; may be left out where every class has only one.

    Examples:
        >>> Rigid({"jobs": 2}).with_classes(Scenario.single([1, 1.8], 0.8, 8)).grant("jobs", idle=1)
        0
    """

    widths: Mapping[str, int] = field(default_factory=dict, metadata={"key": "classes"})
    strict = True
    ignores_idle = True
    name = "rigid"

    def __post_init__(self) -> None:
        widths = {
            name: checked_int(width, f"rigid: class {name!r}: width", PolicyError)
            for name, width in self.checked_entries().items()
        }
        object.__setattr__(self, "widths", widths)

    @property
    def entries(self) -> Mapping[str, int]:
        """The widths."""
        return self.widths

    def decide(self, job_class: JobClass, idle: int) -> Mapping[int, float]:  # noqa: ARG002
        """Return the width of the class."""
        if self.widths:
            width = self.entry(job_class, "width")
            refuse_unknown_width(self.name, job_class, width)
            return {width: 1.0}
        allowed = job_class.speedup.widths.tolist()
        if len(allowed) > 1:
            raise PolicyError(
                f"rigid: class {job_class.name!r} has the widths {shortened(allowed)}, but a rigid "
                f"job has one; name it, Rigid({{{job_class.name!r}: {allowed[-1]}}}), or give the "
                f"class a curve with one width"
            )
        return {int(allowed[0]): 1.0}
