"""How wide should a job be if holding a server has a price, set by how many are idle?

Width i costs a job its time and the price of its servers for that long. Where the price is
constant, that is time_i + price * server-time_i, least at the frontier's vertex where the slope is
minus the price: at the shadow price the cheapest widths are those of the paper's optimum. Here the
price rises as servers run out, so that jobs are narrow while few are left.

Two forms of the rule, each with its best q0 and ell: cost per arrival above the true optimum's at
n = 30 and load 0.8, where a blocked job costs 2 / 4 / 8 / 32 mean sizes:

| curve | stepwise | present |
|---|---|---|
| 1, 1.8, 2.5, 3, 3.4 | 0.08 / 0.04 / 0.02 / 0.01 % | 0.09 / 0.01 / 0.00 / 0.01 % |
| Amdahl 0.95, d = 8 | 0.12 / 0.19 / 0.07 / 0.04 % | 0.21 / 0.29 / 0.16 / 0.14 % |
| linear, d = 5 | 0.65 / 0.01 / 0.05 / 0.11 % | 9.6 / 37 / 92 / 271 % |
| super-linear (NEMO on 1, 2, 4, 8 nodes) | 0.01 / 3.7 / 4.0 / 8.0 % | 1.6 / 14 / 48 / 176 % |

Stepwise is the default: it loses next to nothing where the other form is better, and keeps servers
back where the other cannot. At any one price a linear curve is cheapest at its widest width, so
"present" is greedy there; only a price that rises as the job takes its servers holds it back. On
super-linear curves a power law serves better than the exponential: 0.01 / 0.04 / 0.2 / 0.9 % on the
last row; `verification/price_forms.py` measures the forms and shapes again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Self, final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from moldable.arrays import Floats, Ints, Mask
from moldable.checks import whole
from moldable.errors import PolicyError, nearest
from moldable.model.assumptions import ROUNDING
from moldable.model.workload import JobClass, Workload
from moldable.policies.policy_table import (
    LARGEST_TABLE,
    Policy,
    PolicyTable,
    refuse_large_table,
)
from moldable.policies.prices import (
    ExponentialPrice,
    LongTailPrice,
    PowerLawPrice,
    Price,
    TabulatedPrice,
)
from moldable.policies.thresholds import Thresholds

FORMS: Final = ("stepwise", "present")
AT_ONCE: Final = 2**16
"""Prices that are summed at once: more would only leave the processor's cache."""
NOTHING: Final = 1e-17
"""Charges that no longer change a sum with 1."""


@final
@dataclass(frozen=True)
class PricePolicy(Policy):
    """Give a job the width at which its time and the price of its servers cost least.

    With z idle, width i costs time_i * (weight + what is charged for i servers); the narrowest of
    the cheapest is taken. Times are in units of the class's own mean size, which all widths share,
    so that one price serves classes of all sizes.

    Widths never fall as more servers are idle, whatever the curve: in the form "present" at any
    price, stepwise at every price that falls ever more slowly (p(z+1)/p(z) never falls), as the
    exponential, the long tail, the power law and the constant do. A price that drops from a cliff
    can make a job narrower just above it.

    Args:
        price: what a server costs by idle servers; the class methods build the usual ones.
        form: "stepwise" charges each further server at the idle count that it finds,
            p(z) + p(z-1) + ... + p(z-i+1); "present" charges all at the present one, i * p(z).
    """

    price: Price
    form: str = "stepwise"

    def __post_init__(self) -> None:
        if not isinstance(self.price, Price):
            raise PolicyError(
                f"price={self.price!r} is no price; build the policy with "
                f"PricePolicy.exponential(q0, ell), .long_tailed, .constant, .power_law or "
                f".from_prices"
            )
        if self.form not in FORMS:
            raise PolicyError(
                f"price: form {self.form!r} is unknown; {nearest(str(self.form), FORMS)}"
            )

    @classmethod
    def exponential(cls, q0: float, ell: float, form: str = "stepwise") -> Self:
        """Return the policy whose price is exp(q0 - idle/ell)."""
        return cls(ExponentialPrice(q0, ell), form)

    @classmethod
    def long_tailed(cls, q0: float, ell: float, tail: float, form: str = "stepwise") -> Self:
        """Return the policy whose price is exp(q0) * (1 + idle/(tail * ell))**-tail."""
        return cls(LongTailPrice(q0, ell, tail), form)

    @classmethod
    def constant(cls, price: float, form: str = "stepwise") -> Self:
        """Return the policy of one price, whatever is idle."""
        return cls(TabulatedPrice((price,)), form)

    @classmethod
    def power_law(cls, scale: float, exponent: float, form: str = "stepwise") -> Self:
        """Return the policy whose price is scale * (idle + 1)**-exponent."""
        return cls(PowerLawPrice(scale, exponent), form)

    @classmethod
    def from_prices(cls, prices: Iterable[float], form: str = "stepwise") -> Self:
        """Return the policy with these prices at 1, 2, ... idle; the last holds beyond."""
        return cls(TabulatedPrice.of(prices), form)

    def decide(self, job_class: JobClass, idle: int) -> Mapping[int, float]:
        """Take the narrowest of the cheapest widths."""
        narrowest = int(job_class.speedup.widths[0])
        return {next(iter(self.minimisers(job_class, idle)), narrowest): 1.0}

    def minimisers(self, job_class: JobClass, idle: int) -> tuple[int, ...]:
        """Return all widths that cost least, within rounding; none if none fits."""
        cheapest = _cheapest(self._costs(job_class, idle, idle))
        return tuple(job_class.speedup.widths[cheapest[0]].tolist())

    def reach(self, job_class: JobClass, servers: int) -> int:
        """Return the last idle count at which the width changes."""
        return self.positions(job_class, servers).size - 1

    def tabulate(self, workload: Workload, pools: tuple[int, ...]) -> PolicyTable:
        """Tabulate the policy, many idle counts at once."""
        rows = []
        for job_class, servers in zip(workload.classes, pools, strict=True):
            granted = self.positions(job_class, servers)
            table = np.zeros((granted.size, len(job_class.speedup)))
            fits = np.flatnonzero(granted >= 0)
            table[fits, granted[fits]] = 1.0
            rows.append(table)
        return PolicyTable(workload.classes, tuple(rows), self.name)

    def positions(self, job_class: JobClass, servers: int) -> Ints:
        """Return the place of the width among the class's, by idle servers from 0; -1 for none.

        The list ends where it no longer changes: its last entry holds for all that is beyond.
        """
        rows = min(self._settled(job_class), servers) + 1
        if rows > LARGEST_TABLE:
            raise PolicyError(
                f"policy {self.name} would need {rows} rows for class {job_class.name!r}, more "
                f"than {LARGEST_TABLE}: the price falls too slowly; make it fall faster"
            )
        # It is also the work that finding the cheapest widths takes.
        refuse_large_table(self.name, rows, len(job_class.speedup))
        granted = np.empty(rows, dtype=np.int64)
        most = min(int(job_class.speedup.widths[-1]), rows)
        step = max(1, AT_ONCE // most)
        for low in range(0, rows, step):
            cheapest = _cheapest(self._costs(job_class, low, min(low + step, rows) - 1))
            found = np.where(cheapest.any(axis=1), cheapest.argmax(axis=1), -1)
            granted[low : low + step] = found
        changes = np.flatnonzero(np.diff(granted))
        return granted[: changes[-1] + 2] if changes.size else granted[:1]

    def thresholds(self, workload: Workload, servers: int) -> Thresholds:
        """Return the same decisions as a table from idle servers to widths.

        Rows do not depend on the servers, so with reserved servers the cluster's size will do.
        """
        servers, tables = whole(servers, "servers", PolicyError), {}
        for job_class in workload.classes:
            widths, granted = job_class.speedup.widths, self.positions(job_class, servers).tolist()
            rows = {int(widths[0]): int(widths[0])}  # there nothing wider fits
            for idle, (before, after) in enumerate(pairwise(granted), start=1):
                if after != before:
                    rows[idle] = int(widths[after])
            tables[job_class.name] = rows
        return Thresholds(tables)

    def describe(self, workload: Workload, servers: int) -> str:
        """Say the decisions in words, such as "1 server from 1 idle, 2 from 4, 3 from 10"."""
        return self.thresholds(workload, servers).describe()

    @property
    def name(self) -> str:
        """The price, and the form if it is not the usual one."""
        return f"price, {self.price.name}{', present form' if self.form == 'present' else ''}"

    def _settled(self, job_class: JobClass) -> int:
        """Return an idle count from which the width cannot change.

        From there every charge is too small to make up for the time that any slower width
        loses, or the price has become constant at all that a job could take.
        """
        speedup = job_class.speedup
        widest = int(speedup.widths[-1])
        fastest = speedup.speedups.max()
        slower = speedup.speedups[speedup.speedups < fastest * (1.0 - ROUNDING)]
        lost = fastest / slower.max() * (1.0 - 2.0 * ROUNDING) - 1.0 if slower.size else 1.0
        level = job_class.weight * max(lost, NOTHING) / widest
        return self.price.settled(level) + widest

    def _costs(self, job_class: JobClass, low: int, high: int) -> Floats:
        """Return the cost of each width for idle counts low..high; infinite where it exceeds."""
        widths = job_class.speedup.widths
        idle = np.arange(low, high + 1)[:, np.newaxis]
        most = max(1, min(int(widths[-1]), high))
        counts = np.arange(low - most + 1, high + 1)
        prices = self.price.at(np.maximum(counts, 1))
        if self.form == "present":
            charges = prices[most - 1 :, np.newaxis] * widths
        else:
            taken = sliding_window_view(prices, most)[:, ::-1]
            charges = np.cumsum(taken, axis=1)[:, np.minimum(widths, most) - 1]
        costs = (job_class.weight + charges) / job_class.speedup.speedups
        return np.where(widths <= idle, costs, np.inf)


def _cheapest(costs: Floats) -> Mask:
    """Mark the widths that cost least in each row, within rounding."""
    least = costs.min(axis=1, keepdims=True)
    cheapest: Mask = np.isfinite(costs) & (costs <= least * (1.0 + ROUNDING))
    return cheapest
