"""How far is one tuned price for two and three classes from the best of all policies?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from moldable import JobClass, SpeedUp, Workload
from moldable.exact.states import MOST_STATES
from moldable.tuning.yardstick import fits
from verification.gap_table import (
    ANY,
    EXPONENTIAL,
    LOADS,
    PRICES,
    SHAPES,
    TUNED,
    Gaps,
    Table,
    add_each,
    by_shape,
    gaps,
)
from verification.named_curves import CIFAR
from verification.verdict import Verdict

SEEN_THROUGH = 0.8
"""The load at which the best tables of several classes are looked for."""
Tables = dict[str, Table]


@dataclass(frozen=True)
class Several:
    """Several classes on one cluster."""

    name: str
    workload: Workload
    servers: int
    load: float

    def __str__(self) -> str:
        return f"{self.name}, load {self.load}, n = {self.servers}"


def experiments() -> Iterator[Verdict]:
    """Judge two and three classes, on as many servers as the programme can take.

    The tuned policy is asked for the same as on single curves, over the same loads and prices. At
    one load, which is judged alone, too, the best tables by idle servers are looked for; that takes
    long. Their own median is above what is asked there, so that prices fail it as well; how close
    they come to these tables is judged beside it (`price_sight` shows what they lack).
    """
    builders = {"two classes": two_classes, "three classes": three_classes}
    tables, there = measured(each for name in builders for each in sized(name, builders[name]))
    for shape in (TUNED, EXPONENTIAL):
        table, which = tables[shape], f"several classes, {shape}"
        yield Verdict(f"{which}: median gap", table.median(), 2e-3)
        yield Verdict(f"{which}: worst gap at prices from 4", table.worst(*PRICES[1:]), 1e-2)
        yield Verdict(f"{which}: worst gap at price 2", table.worst(2.0), 3e-2)
        at_one = f"{which}, load {SEEN_THROUGH}"
        yield Verdict(f"{at_one}: median gap", there[shape].median(), 2e-3)
        above = median_above(there[shape], there[ANY])
        yield Verdict(f"{at_one}: median above the best table found", above, 5e-4)


def measured(systems: Iterable[Several]) -> tuple[Tables, Tables]:
    """Return the gaps of all systems by shape, and those at the load where tables are sought."""
    tables, there, listed = by_shape(), by_shape(), list(systems)
    with ThreadPoolExecutor(2) as pool:
        for system, rows in zip(listed, pool.map(_gaps_of, listed), strict=True):
            add_each(tables, str(system), rows)
            if system.load == SEEN_THROUGH:
                for shape, row in zip(SHAPES, rows, strict=True):
                    there[shape].rows[str(system)] = row
    print(f"  any table, load {SEEN_THROUGH}: median {100 * there[ANY].median():.3f} %", flush=True)
    return tables, there


def median_above(table: Table, floor: Table) -> float:
    """Return the median by which the rows are above those of another table, in their order."""
    rows, floors = (np.array(list(one.rows.values())) for one in (table, floor))
    return float(np.median(rows - floors))


def sized(
    name: str, build: Callable[[int, float], Workload], states: int = MOST_STATES
) -> Iterator[Several]:
    """Return the classes on the most servers with at most so many states, at each load."""
    servers = 10
    while fits(build(servers + 1, 1.0), servers + 1, states):
        servers += 1
    for load in LOADS:
        yield Several(name, build(servers, load), servers, load)


def two_classes(servers: int, load: float = 0.8) -> Workload:
    """Curves of different concavity, half of the load each."""
    half = 0.5 * load * servers
    training = JobClass("training", half, CIFAR)
    batch = JobClass("batch", 0.5 * half, SpeedUp([1, 1.9, 2.7]), mean_size=2.0)
    return Workload((training, batch))


def three_classes(servers: int, load: float = 0.8) -> Workload:
    """Three curves, one of them linear; they share the load as 3 to 3 to 2."""
    part = load * servers / 8.0
    training = JobClass("training", 3.0 * part, SpeedUp([1, 1.699, 2.345]))
    batch = JobClass("batch", 1.5 * part, SpeedUp.linear(2), mean_size=2.0)
    short = JobClass("short", 4.0 * part, SpeedUp([1, 1.6]), mean_size=0.5)
    return Workload((training, batch, short))


def _gaps_of(system: Several) -> list[Gaps]:
    shapes = len(SHAPES) if system.load == SEEN_THROUGH else 2
    return gaps(system.workload, system.servers, shapes)
