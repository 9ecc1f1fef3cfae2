"""Do the classes and widths that a policy names exist?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

import numpy as np

from moldable.errors import PolicyError, nearest, shortened, shown
from moldable.model.workload import JobClass, Workload

T = TypeVar("T")


def classes_of(entries: Mapping[str, T], policy: str) -> Mapping[str, T]:
    """Return what a policy holds for its classes, or refuse what is not a mapping of names."""
    if not isinstance(entries, Mapping):
        raise PolicyError(
            f"{policy}: {shown(entries)} is not a mapping; write {{'name of class': ...}}"
        )
    return entries


def entry_of(job_class: JobClass, entries: Mapping[str, T], policy: str, what: str) -> T:
    """Return what a policy holds for a class, or say that it holds nothing."""
    if job_class.name not in entries:
        raise PolicyError(
            f"{policy} has no {what} for class {job_class.name!r}; "
            f"it knows {', '.join(entries) or 'no class at all'}: add one"
        )
    return entries[job_class.name]


def refuse_other_classes(workload: Workload, named: Iterable[str], policy: str) -> None:
    """Refuse a policy that names a class the workload does not have: likely a slip."""
    known = [job_class.name for job_class in workload.classes]
    for name in named:
        if name not in known:
            raise PolicyError(
                f"{policy} names class {name!r}, which the workload does not have; "
                f"{nearest(name, known)}"
            )


def refuse_unknown_width(policy: str, job_class: JobClass, width: int) -> None:
    """Refuse a width that the class's curve does not have."""
    widths = job_class.speedup.widths
    at = int(np.searchsorted(widths, width))
    if at == widths.size or widths[at] != width:
        raise PolicyError(
            f"{policy}: class {job_class.name!r} has no width {width}; "
            f"choose one of its widths: {shortened(widths.tolist())}"
        )
