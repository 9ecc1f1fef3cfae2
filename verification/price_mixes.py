"""Does one price serve classes whose curves and sizes differ much?"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from moldable import JobClass, SpeedUp, Workload
from verification.gap_table import ANY, EXPONENTIAL, PRICES, TUNED
from verification.named_curves import AMDAHL, LINEAR, SUBLINEAR
from verification.price_classes import SEEN_THROUGH, measured, median_above, sized
from verification.verdict import Verdict

STATES = 1_000_000
Mix = dict[str, tuple[SpeedUp, float]]
"""Curve and mean size of each class; all bring the same load."""
MIXES: tuple[Mix, ...] = (
    {"sub-linear": (SUBLINEAR, 1.0), "linear": (LINEAR, 2.0)},
    {"sub-linear": (SUBLINEAR, 1.0), "Amdahl": (AMDAHL, 2.0)},
    {"Amdahl": (AMDAHL, 1.0), "linear": (LINEAR, 2.0)},
    {"sub-linear": (SUBLINEAR, 1.0), "Amdahl": (AMDAHL, 2.0), "linear": (LINEAR, 0.5)},
)


def experiments() -> Iterator[Verdict]:
    """Ask of the concave curves that are measured alone what is asked of each of them."""
    systems = (each for mix in MIXES for each in sized(_name(mix), partial(mixed, mix), STATES))
    tables, there = measured(systems)
    tuned = tables[TUNED]
    print(f"  exponential alone: median {100 * tables[EXPONENTIAL].median():.3f} %", flush=True)
    yield Verdict("mixes, tuned: median gap", tuned.median(), 2e-3)
    yield Verdict("mixes, tuned: worst gap at prices from 4", tuned.worst(*PRICES[1:]), 1e-2)
    yield Verdict("mixes, tuned: worst gap at price 2", tuned.worst(2.0), 3e-2)
    above = median_above(there[TUNED], there[ANY])
    yield Verdict(f"mixes, load {SEEN_THROUGH}: median above the best table found", above, 1e-3)


def mixed(mix: Mix, servers: int, load: float) -> Workload:
    """Return the classes, which share the load evenly."""
    part = load * servers / len(mix)
    return Workload(
        tuple(
            JobClass(name, part / size, curve, mean_size=size)
            for name, (curve, size) in mix.items()
        )
    )


def _name(mix: Mix) -> str:
    return " and ".join(f"{name} (size {size:g})" for name, (_, size) in mix.items())
