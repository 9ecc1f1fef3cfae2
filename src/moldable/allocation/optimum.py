"""Problem (P) of the paper: the optimal shares of widths for one class at vanishing blocking.

The solution is the frontier read at 1/load, in units of the mean size. Reading a prepared
`Frontier` takes microseconds whatever its length, if all its widths fit on the servers; dense
vectors and the certificate are computed on demand.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from moldable.allocation.certificate import Certificate, certify
from moldable.allocation.frontier import Frontier, Mix, frozen
from moldable.arrays import Floats, Ints
from moldable.base_result import Result, Row
from moldable.checks import checked_int
from moldable.errors import InfeasibleError, WorkloadError, shortened
from moldable.model.assumptions import ROUNDING
from moldable.model.scenario import checked_load
from moldable.model.spelling import Curve, as_speedup


@final
@dataclass(frozen=True, repr=False)
class Optimum(Result):
    """The solution of (P): how many servers jobs should get at this load.

    Attributes:
        frontier: the widths worth using.
        load: arrival rate x mean size / servers.
        servers: the number of servers, where it is known.
        mix: the one or two widths used, and the share of jobs given each.

    Examples:
        >>> optimum([1, 1.8, 2.5], 0.9).support
        (2,)
    """

    frontier: Frontier
    load: float
    servers: int | None
    mix: Mix

    @property
    def widths(self) -> Ints:
        """The allowed widths, the index of every dense vector here."""
        return self.frontier.speedup.widths

    @property
    def support(self) -> tuple[int, ...]:
        """The widths used, I*: one, or two neighbours on the frontier."""
        return self.mix.support

    @property
    def i1(self) -> int:
        """The narrowest width used."""
        return self.mix.support[0]

    @property
    def i2(self) -> int:
        """The widest width used."""
        return self.mix.support[-1]

    @property
    def mean_execution_time(self) -> float:
        """D*, in mean sizes."""
        return self.mix.time

    @property
    def busy_fraction(self) -> float:
        """The fraction of servers kept busy."""
        return min(self.load * self.mix.server_time, 1.0)

    @cached_property
    def probabilities(self) -> Floats:
        """p*: the share of jobs given each allowed width."""
        return frozen(self.mix.spread(self.widths))

    @cached_property
    def scaled_jobs(self) -> Floats:
        """y*: jobs running at each allowed width, per server."""
        return frozen(self.probabilities * self.load / self.frontier.speedup.speedups)

    @property
    def dominated_widths(self) -> Ints:
        """Allowed widths that are never worth using in (P), at any load."""
        return self.frontier.dominated_widths

    @property
    def shadow_price(self) -> float:
        """Time saved per further unit of server-time; 0 when capacity is slack."""
        return -self.frontier.slope_right(self.mix) + 0.0

    @property
    def time_saved_by_one_server(self) -> float | None:
        """The rate at which D* falls as servers are added; None if n is unknown."""
        return None if self.servers is None else self.shadow_price / (self.servers * self.load)

    @property
    def time_added_per_load(self) -> float:
        """The rate at which D* grows with the load; infinite at the largest feasible load."""
        slack = self.busy_fraction < 1.0 - ROUNDING
        return 0.0 if slack else -self.frontier.slope_left(self.mix) / self.load**2

    @property
    def unique(self) -> bool:
        """Whether no other choice of shares is as good (within 1e-12)."""
        return not self.ties

    @cached_property
    def ties(self) -> tuple[int, ...]:
        """Widths among which jobs could be moved without loss; empty if the solution is unique."""
        if self.load * self.mix.server_time < 1.0 - ROUNDING:
            speedup = self.frontier.speedup
            ties = speedup.widths[speedup.speedups >= speedup.speedups.max() * (1.0 - ROUNDING)]
        else:
            ties = _on_one_line(self.frontier, self.mix)
        return tuple(ties.tolist()) if ties.size > len(self.mix.support) else ()

    @property
    def why_not_unique(self) -> str | None:
        """The reason in words, or None."""
        if not self.ties:
            return None
        names = shortened(self.ties)
        if self.busy_fraction < 1.0 - ROUNDING:
            return f"widths {names} are equally fast and capacity is slack; the narrowest is used"
        return f"widths {names} lie on one edge of the frontier; neighbours of the load are used"

    @cached_property
    def certificate(self) -> Certificate:
        """The multipliers that prove optimality."""
        return certify(
            self.widths,
            self.frontier.speedup.speedups,
            self.scaled_jobs,
            offered=self.load,
            cost=1.0 / self.load,
            theta0=self.shadow_price / self.load,
            busy=self.load * self.mix.server_time,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists, ready for JSON."""
        return {
            "widths": self.widths.tolist(),
            "probabilities": self.probabilities.tolist(),
            "scaled_jobs": self.scaled_jobs.tolist(),
            "support": list(self.support),
            "mean_execution_time": self.mean_execution_time,
            "busy_fraction": self.busy_fraction,
            "unique": self.unique,
            "shadow_price": self.shadow_price,
            "time_saved_by_one_server": self.time_saved_by_one_server,
            "dominated_widths": self.dominated_widths.tolist(),
            "certificate": self.certificate.to_dict(),
            "inputs": self.inputs(),
        }

    def inputs(self) -> dict[str, Any]:
        """Return the curve, the load and the number of servers, ready for JSON."""
        curve = zip(self.widths.tolist(), self.frontier.speedup.speedups.tolist(), strict=True)
        return {
            "speedup": {str(width): speedup for width, speedup in curve},
            "load": self.load,
            "servers": self.servers,
        }

    def table(self) -> list[Row]:
        """Return a row for each allowed width."""
        on_frontier = np.isin(self.widths, self.frontier.widths)
        columns = (self.frontier.speedup.speedups, self.probabilities, self.scaled_jobs)
        rows = zip(self.widths.tolist(), *map(np.ndarray.tolist, columns), on_frontier, strict=True)
        names = ("width", "speedup", "share", "jobs_per_server", "on_frontier")
        return [dict(zip(names, (*row[:-1], bool(row[-1])), strict=True)) for row in rows]

    def __repr__(self) -> str:
        shares = ", ".join(
            f"{width}: {share:.6g}"
            for width, share in zip(self.support, self.mix.shares, strict=True)
        )
        return (
            f"Optimum(load={self.load:.6g}, shares={{{shares}}}, "
            f"mean_execution_time={self.mean_execution_time:.6g}, "
            f"busy_fraction={self.busy_fraction:.6g}, shadow_price={self.shadow_price:.6g})"
        )


def optimum(curve: Curve | Frontier, load: float, *, servers: int | None = None) -> Optimum:
    """Solve (P): the shares of widths with the least mean execution time at vanishing blocking.

    Args:
        curve: a speed-up curve, a list of speed-ups or text such as "amdahl:0.95:64"; or a prepared
            frontier if it is used many times.
        load: arrival rate x mean size / servers.
        servers: the number of servers; widths above it are left out.

    Examples:
        >>> answer = optimum([1, 1.8, 2.5, 3, 3.4], load=0.8)
        >>> answer.support, round(answer.mean_execution_time, 4)
        ((3, 4), 0.375)
    """
    if servers is not None:
        servers = checked_int(servers, "servers", WorkloadError)
    frontier = _fitting_frontier(curve, servers)
    load = checked_load(load)
    if not frontier.reaches(1.0 / load):
        raise InfeasibleError(
            f"{load:.12g} is too high: the largest feasible load of this curve is "
            f"{frontier.largest_load:.12g}, all jobs on width {frontier.widths[0]}; "
            f"add servers or send fewer jobs",
            "load",
        )
    return Optimum(frontier, load, servers, frontier.read(1.0 / load))


def _fitting_frontier(curve: Curve | Frontier, servers: int | None) -> Frontier:
    """Return the frontier of the widths that fit on this many servers."""
    speedup = curve.speedup if isinstance(curve, Frontier) else as_speedup(curve)
    fits = speedup if servers is None else speedup.up_to(servers)
    return curve if isinstance(curve, Frontier) and fits is speedup else Frontier.of(fits)


def _on_one_line(frontier: Frontier, mix: Mix) -> Ints:
    """Return the frontier widths on the line through the mix that could replace it.

    Rounding can turn collinear points into vertices, so the line is extended by one edge on either
    side and tested there with the tolerance of the frontier, in (width, speed-up), where it is well
    conditioned. A width used alone can be replaced only if the line has widths on both sides.
    """
    corners, w, faster = frontier.corners, frontier.widths, 1.0 / frontier.time
    alone = w[mix.position : mix.position + 1]
    right = int(np.searchsorted(corners, mix.position, side="right"))
    left = right - 1
    if len(mix.support) == 1 and corners[left] == mix.position:
        if left == 0 or right == corners.size:
            return alone
        left -= 1  # the chord that skips this corner
    a, b = int(corners[left]), int(corners[right])
    slope = (faster[b] - faster[a]) / (w[b] - w[a])
    low, high = corners[max(left - 1, 0)], corners[min(right + 1, corners.size - 1)]
    near = np.arange(low, high + 1)
    off = np.abs(faster[near] - faster[a] - slope * (w[near] - w[a]))
    found = near[off <= ROUNDING * faster[near]]
    return alone if len(mix.support) == 1 and mix.position not in found else w[found]
