"""The kinds of jobs of a log: a kind is a class and the requested number of servers.

Each kind is a `JobClass` whose curve has only the widths that its jobs may run on, so that every
policy decides about them as about any other class.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, final

import numpy as np

from moldable.arrays import Floats, Ints
from moldable.errors import WorkloadError, shortened
from moldable.model.scenario import Scenario
from moldable.model.speedup import SpeedUp
from moldable.model.workload import JobClass, Workload
from moldable.traces.request_curves import RequestCurve
from moldable.traces.trace import Trace

MOST_WIDTHS: Final = 30_000_000
"""Widths of all kinds together; each takes some tens of bytes."""
ROUNDING: Final = 1e-9
"""Shares of a request that are whole servers but for rounding count as whole."""


@final
@dataclass(frozen=True)
class RequestKinds:
    """The kinds of jobs of a trace.

    Attributes:
        names: name of the class of each kind.
        requests: servers that its jobs asked for.
        of_job: kind of each job of the trace.
        jobs: number of jobs of each kind.
        mean_sizes: their mean run time times the speed-up at the request.
        curves: speed-ups at the allowed widths.
        whole_curves: speed-ups at all widths up to the widest.
        span: time from the first submission to the last.
    """

    names: tuple[str, ...]
    requests: Ints
    of_job: Ints
    jobs: Ints
    mean_sizes: Floats
    curves: tuple[SpeedUp, ...]
    whole_curves: tuple[SpeedUp, ...]
    span: float

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def classes(self) -> tuple[JobClass, ...]:
        """The kinds as classes with the allowed widths, each with a name of its own."""
        return tuple(
            JobClass(
                f"{name} on {request}", float(jobs) / max(self.span, 1.0), curve, float(mean_size)
            )
            for name, request, jobs, curve, mean_size in zip(
                self.names, self.requests, self.jobs, self.curves, self.mean_sizes, strict=True
            )
        )

    @cached_property
    def stretches(self) -> tuple[Ints, Ints, Ints, Floats]:
        """The narrowest and widest width of each kind, and execution times by width.

        Times are relative to the time on the requested servers, from the narrowest width of a kind
        to its widest; the third array is the position of the first. Not allowed widths have 0. At
        the requested width the ratio is exactly 1, so that recorded times are reproduced exactly.
        """
        least = np.array([int(curve.widths[0]) for curve in self.curves], dtype=np.int64)
        most = np.array([int(curve.widths[-1]) for curve in self.curves], dtype=np.int64)
        first = np.concatenate(([0], np.cumsum(most - least + 1))).astype(np.int64)
        stretch = np.zeros(int(first[-1]))
        for kind, curve in enumerate(self.curves):
            speed = self.whole_curves[kind][int(self.requests[kind])]
            stretch[first[kind] + curve.widths - least[kind]] = speed / curve.speedups
        return least, most, first[:-1], stretch

    def scenario(self, servers: int) -> Scenario:
        """Return the kinds as a scenario with an unlimited queue and the rates of the log."""
        return Scenario(Workload(self.classes), servers, waiting=math.inf, time_unit="seconds")


def request_kinds(
    trace: Trace, curves: Sequence[RequestCurve], servers: int, least: float, most: float
) -> RequestKinds:
    """Return the kinds of a trace.

    Args:
        trace: the jobs, none wider than the cluster.
        curves: of each class.
        servers: of the cluster.
        least: narrowest width as a share of the request.
        most: widest width as a multiple of the request.
    """
    pairs = np.stack([trace.job_class, trace.servers])
    found, of_job, jobs = np.unique(pairs, axis=1, return_inverse=True, return_counts=True)
    of_job = of_job.reshape(-1)
    widest = np.minimum(np.floor(most * found[1] + ROUNDING), servers).astype(np.int64)
    _refuse_many_widths(int(widest.sum()))
    whole = [
        _whole_curve(trace.classes[place], curves[place], request, wide, count)
        for (place, request), wide, count in zip(
            found.T.tolist(), widest.tolist(), jobs.tolist(), strict=True
        )
    ]
    narrowest = np.ceil(least * found[1] - ROUNDING)
    allowed = [
        _limited(curve, max(1, int(low)), int(high))
        for curve, low, high in zip(whole, narrowest, widest, strict=True)
    ]
    speeds = [curve[int(request)] for curve, request in zip(whole, found[1], strict=True)]
    totals = np.bincount(of_job, weights=trace.run_time, minlength=jobs.size)
    return RequestKinds(
        names=tuple(trace.classes[place] for place in found[0]),
        requests=found[1],
        of_job=of_job,
        jobs=jobs,
        mean_sizes=totals / jobs * np.array(speeds),
        curves=tuple(allowed),
        whole_curves=tuple(whole),
        span=trace.span,
    )


def rigid_kinds(kinds: RequestKinds) -> RequestKinds:
    """Return the same kinds, each with the requested width alone."""
    curves = tuple(
        _limited(curve, int(request), int(request))
        for curve, request in zip(kinds.whole_curves, kinds.requests, strict=True)
    )
    return replace(kinds, curves=curves)


def _whole_curve(name: str, curve: RequestCurve, request: int, widest: int, jobs: int) -> SpeedUp:
    found = curve.at(request, max(request, widest))
    if request not in found.widths:
        raise WorkloadError(
            f"class {name!r}: curve {curve.text} has no width {request}, on which {jobs} jobs of "
            f"the log ran; it has {shortened(found.widths.tolist())}: give a curve with that "
            f"width, or a model such as amdahl:0.95, which has all widths"
        )
    return found.up_to(max(request, widest))


def _limited(curve: SpeedUp, low: int, high: int) -> SpeedUp:
    inside = (curve.widths >= low) & (curve.widths <= high)
    return SpeedUp(dict(zip(curve.widths[inside].tolist(), curve.speedups[inside], strict=True)))


def _refuse_many_widths(widths: int) -> None:
    if widths > MOST_WIDTHS:
        raise WorkloadError(
            f"the kinds of jobs, classes with their numbers of servers, have {widths:,} widths "
            f"together, but at most {MOST_WIDTHS:,} are kept; count whole nodes instead of cores, "
            f"or put jobs into fewer classes"
        )
