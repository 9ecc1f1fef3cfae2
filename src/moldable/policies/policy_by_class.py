"""Base class of policies that hold an entry, such as a width, for each class by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Generic, TypeVar

from moldable.errors import PolicyError, shown, suggest
from moldable.model.workload import JobClass, Workload
from moldable.policies.policy import Policy
from moldable.policies.policy_table import PolicyTable

T = TypeVar("T")


class PolicyByClass(Policy, ABC, Generic[T]):
    """A policy whose decisions come from the entry of the job's class."""

    @property
    @abstractmethod
    def entries(self) -> Mapping[str, T]:
        """The entries by class name."""

    def checked_entries(self) -> Mapping[str, T]:
        """Return the entries, or refuse what is not a mapping of names."""
        if not isinstance(self.entries, Mapping):
            raise PolicyError(
                f"{self.name}: {shown(self.entries)} is not a mapping; "
                f"write {{'name of class': ...}}"
            )
        return self.entries

    def entry(self, job_class: JobClass, what: str) -> T:
        """Return the entry of a class; an error calls it `what`."""
        if job_class.name not in self.entries:
            raise PolicyError(
                f"{self.name} has no {what} for class {job_class.name!r}; "
                f"it knows {', '.join(self.entries) or 'no class at all'}: add one"
            )
        return self.entries[job_class.name]

    def tabulate(self, workload: Workload, pools: tuple[int, ...]) -> PolicyTable:
        """Tabulate the policy; every class that it names must exist."""
        known = [job_class.name for job_class in workload.classes]
        for name in self.entries:
            if name not in known:
                raise PolicyError(
                    f"{self.name} names class {name!r}, which the workload does not have; "
                    f"{suggest(name, known)}"
                )
        return super().tabulate(workload, pools)
