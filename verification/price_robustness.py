"""What is left of a tuned table when the load or the sizes are not those it was tuned for?

More load or heavier tails cost it less than they cost fixed shares. But a width chosen by the idle
servers is a loop with a delay: jobs of almost one size return their servers together, and at large
n the table then swings between wide jobs and a full cluster.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from moldable import (
    Compared,
    Deterministic,
    Estimate,
    Exponential,
    MixedErlang,
    Pareto,
    Policy,
    Scenario,
    SizeLaw,
    Tuned,
    Workload,
    compare,
    greedy_p,
    tune,
)
from verification.named_curves import SUBLINEAR
from verification.verdict import Verdict

PLANNED = 0.8
EXCESSES = (1.0, 1.05, 1.1)
SIZES: dict[str, SizeLaw] = {
    "exponential": Exponential(),
    "Pareto 1.5": Pareto(1.5),
    "Erlang 16": MixedErlang((0.0,) * 15 + (1.0,)),
    "deterministic": Deterministic(),
}
SEED, PRECISION = 1, 0.03
SMALL, PRICE = 64, 8.0
LARGE, LIMIT = 4000, 0.001


@dataclass(frozen=True)
class Row:
    """The three policies in one world; differences are from the tuned table's figures."""

    what: str
    size: str
    excess: float
    tuned: Compared
    greedy_p: Compared
    static: Compared

    def print(self, price: float | None) -> None:
        """Print blocking and mean time of each, and the cost if jobs have a price."""
        cells = []
        for part in (self.tuned, self.greedy_p, self.static):
            found = part.performance
            cells.append(f"{found.blocking} / {found.mean_execution_time}")
            if price is not None:
                cells[-1] += f" / {cost(part, price):.4f}"
        print(f"  | {self.what} | {' | '.join(cells)} |", flush=True)


def experiments() -> Iterator[Verdict]:
    """A price for blocked jobs at n = 64; a limit on blocking at n = 4000."""
    tuned = tune(_world(SMALL, 1.0, Exponential()), SMALL, blocked_job_price=PRICE, seed=SEED)
    for row in _rows(tuned, SMALL):
        row.print(PRICE)
        for name, rival in (("greedy(p*)", row.greedy_p), ("the static", row.static)):
            saved = least_saved(row.tuned, rival, PRICE) / cost(rival, PRICE)
            yield Verdict(f"{row.what}: least saved against {name}, negated", -saved, 0)
    tuned = tune(_world(LARGE, 1.0, Exponential()), LARGE, max_blocking=LIMIT, seed=SEED)
    for row in _rows(tuned, LARGE):
        row.print(None)
        yield from _swinging(row) if row.size == "deterministic" else _steady(row)


def _steady(row: Row) -> Iterator[Verdict]:
    """Fewer are blocked than under greedy(p*), and than under the static where it is surprised."""
    yield Verdict(f"{row.what}: most blocking over greedy(p*)'s least", _over(row.greedy_p, row), 1)
    if row.excess > 1.0:
        yield Verdict(f"{row.what}: most blocking over the static's", _over(row.static, row), 1)
    else:
        later = -_ends(row.static.mean_execution_time_difference)[0]
        yield Verdict(f"{row.what}: most that the tuned is slower than the static", later, 0)


def _swinging(row: Row) -> Iterator[Verdict]:
    """Where all sizes are the same, the table is the worst of the three."""
    most = _ends(row.greedy_p.performance.blocking)[1]
    least = _ends(row.tuned.performance.blocking)[0]
    yield Verdict(f"{row.what}: greedy(p*)'s most blocking over the tuned's least", most / least, 1)


def _over(rival: Compared, row: Row) -> float:
    return _ends(row.tuned.performance.blocking)[1] / _ends(rival.performance.blocking)[0]


def cost(part: Compared, price: float) -> float:
    """Return the cost per arrival, (1 - blocking) x time + price x blocking."""
    blocking = part.performance.blocking.value
    return (1.0 - blocking) * part.performance.mean_execution_time.value + price * blocking


def least_saved(own: Compared, rival: Compared, price: float) -> float:
    """Return the least by which the rival costs more, both intervals of differences considered.

    With B blocking and T times, the difference of costs is exactly
    (1 - B_rival) (T_rival - T_own) + (price - T_own) (B_rival - B_own).
    """
    accepted = 1.0 - rival.performance.blocking.value
    worth = price - own.performance.mean_execution_time.value
    time = _ends(rival.mean_execution_time_difference)[0]
    return accepted * time + worth * _ends(rival.blocking_difference)[0]


def _rows(tuned: Tuned, servers: int) -> Iterator[Row]:
    planned = _world(servers, 1.0, Exponential())
    if tuned.static is None:
        raise AssertionError(servers)
    policies: dict[str, Policy | None] = {
        "tuned": tuned.policy,
        "greedy(p*)": greedy_p(Scenario(planned, servers)),
        "static": greedy_p(Scenario(planned, servers), tuned.static.design_load),
    }
    print(f"  n = {servers}: {tuned.thresholds}; design load {tuned.static.design_load:.4f}")
    for name, size in SIZES.items():
        for excess in EXCESSES:
            world = _world(servers, excess, size)
            found = compare(Scenario(world, servers), policies, precision=PRECISION, seed=SEED)
            what = f"n = {servers}, load {PLANNED * excess:.2f}, {name}"
            yield Row(what, name, excess, *found.policies)


def _world(servers: int, excess: float, size: SizeLaw) -> Workload:
    """Return the workload whose load is so many times the planned one."""
    (job_class,) = Scenario.single(SUBLINEAR, PLANNED * excess, servers).workload.classes
    return Workload((dataclasses.replace(job_class, size=size),))


def _ends(estimate: Estimate) -> tuple[float, float]:
    if estimate.interval is None:
        raise AssertionError(estimate)
    return estimate.interval
