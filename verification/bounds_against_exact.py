"""The paper's bounds against exact values: how loose they are, and where the lemmas fail.

`python -m verification.bounds_against_exact --write` updates the tables of
docs/results/bounds-against-exact.md; without the option it prints them.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from moldable import Regime, Scenario, SpeedUp, optimum
from moldable.exact.exact import stationary_law
from moldable.theory import Bounds, bounds
from verification.verdict import Verdict

LINEAR, SUB_LINEAR = SpeedUp.linear(5), SpeedUp([1, 1.8, 2.5, 3, 3.4])
REGIMES = {
    "0, 0.2": Regime(0.0, 0.2),
    "1/2, 0.1": Regime(1 / 2, 0.1),
    "2/3, 0.1": Regime(2 / 3, 0.1),
}
# If 5 does not divide n, some jobs get fewer servers: a gap in time also on the linear curve.
SERVERS = {
    "linear": (20, 103, 400, 1003, 4000, 4003, 20_000),
    "sub-linear": (20, 100, 400, 4000, 20_000),
}
# On the sub-linear curve at load 0.8 the chain has four widths.
FOUR_WIDTHS = (20, 40, 60, 100)
SETTINGS = [
    (curve, regime, FOUR_WIDTHS if (curve, regime) == ("sub-linear", "0, 0.2") else SERVERS[curve])
    for curve in ("linear", "sub-linear")
    for regime in REGIMES
]
CURVES = {"linear": LINEAR, "sub-linear": SUB_LINEAR}
PAGE = Path(__file__).parents[1] / "docs/results/bounds-against-exact.md"
MOST_SERVERS = 10**18


@dataclass(frozen=True)
class Exact:
    """The exact values that the bounds are compared with, at one n.

    Attributes:
        curve: its name.
        regime: alpha, beta.
        servers: n.
        support: the widths of the optimum.
        bound: the paper's bounds.
        distance: E||x - y*||.
        blocking: the blocking probability.
        time_gap: |E[D] - D*| in mean sizes.
        narrow_jobs: n E[sum of x_i, i < i1], at most 1 by the collapse lemma.
        drift: P(r > load + delta) with delta = 1/sqrt(n).
        drift_bound: its upper bound by the drift lemma.
    """

    curve: str
    regime: str
    servers: int
    support: tuple[int, ...]
    bound: Bounds
    distance: float
    blocking: float
    time_gap: float
    narrow_jobs: float
    drift: float
    drift_bound: float


def exact(curve: str, regime: str, servers: int) -> Exact:
    """Solve one setting exactly."""
    speedup, load = CURVES[curve], REGIMES[regime].load(servers)
    law = stationary_law(Scenario.single(speedup, load, servers))
    found, theory = law.performance(), law.theory
    best = optimum(speedup, load, servers=servers)
    delta = 1 / math.sqrt(servers)
    fastest = float(speedup.speedups[-1])
    return Exact(
        curve,
        regime,
        servers,
        best.support,
        bounds(speedup, load, servers, alpha=REGIMES[regime].alpha),
        theory.distance,
        found.blocking.value,
        abs(found.mean_execution_time.value - best.mean_execution_time),
        servers * theory.narrow_jobs,
        theory.departure_rate_above(load + delta),
        fastest / load * (1 / servers + 2 / (servers * delta)),
    )


def solve_all() -> list[Exact]:
    """Solve every setting."""
    return [exact(curve, regime, servers) for curve, regime, sizes in SETTINGS for servers in sizes]


def informative_from(curve: str, regime: str) -> int:
    """Return the least n at which the bound on blocking is below 1, by bisection."""
    alpha = REGIMES[regime].alpha

    def vacuous(servers: int) -> bool:
        return bounds(CURVES[curve], REGIMES[regime].load(servers), servers, alpha=alpha).vacuous

    low, high = 10, 20
    while vacuous(high):
        low, high = high, 2 * high
        if high > MOST_SERVERS:
            raise AssertionError((curve, regime))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if vacuous(middle) else (low, middle)
    return high


def experiments() -> Iterator[Verdict]:
    """Check that every bound holds, and that the two lemmas fail."""
    solved = solve_all()
    for name in ("distance", "blocking", "time_gap"):
        shares = [
            (getattr(row, name) / getattr(row.bound, name), row)
            for row in solved
            if getattr(row.bound, name) is not None
        ]
        share, row = max(shares, key=lambda pair: pair[0])
        where = f"{row.curve}, {row.regime}, n = {row.servers}"
        yield Verdict(f"{name}: exact over bound, at most ({where})", share, 1)
    single = [row.narrow_jobs for row in solved if len(row.support) == 1 or row.support[0] == 1]
    yield Verdict("narrow jobs with one width or width 1: at most one", max(single), 1)
    # A number below 1 means that the lemma fails.
    narrow = max(row.narrow_jobs for row in solved if row.support[0] > 1)
    yield Verdict(f"collapse lemma: its 1 over the exact {narrow:.3g} narrow jobs", 1 / narrow, 1)
    drift = max(solved, key=lambda row: row.drift / row.drift_bound)
    where = f"{drift.curve}, {drift.regime}, n = {drift.servers}"
    share = drift.drift_bound / drift.drift
    yield Verdict(f"drift lemma: its bound over the exact probability ({where})", share, 1)
    page = PAGE.read_text()
    same = page == updated(page, tables(solved))
    yield Verdict("tables of the documentation that are out of date", float(not same), 0)


def bound_rows(solved: list[Exact]) -> list[list[str]]:
    """Return the table of bounds and exact values, with its header."""
    head = ["curve", "alpha, beta", "n", "support", "distance", "bound", "times"]
    head += ["blocking", "bound", "times", "time gap", "bound"]
    rows = [head]
    for row in solved:
        gap = "" if row.bound.time_gap is None else f"{row.bound.time_gap:.2g}"
        rows.append(
            [
                row.curve,
                row.regime,
                f"{row.servers:,}",
                ", ".join(map(str, row.support)),
                f"{row.distance:.4g}",
                f"{row.bound.distance:.3g}",
                _times(row.bound.distance, row.distance),
                f"{row.blocking:.4g}",
                f"{row.bound.blocking:.3g}",
                _times(row.bound.blocking, row.blocking),
                f"{row.time_gap:.2g}" if row.time_gap > 1e-14 else "0",
                gap,
            ]
        )
    return rows


def lemma_rows(solved: list[Exact]) -> list[list[str]]:
    """Return the table of the two lemmas, with its header."""
    head = ["curve", "alpha, beta", "n", "support", "n E[narrow]", "lemma", "P(r > load + delta)"]
    rows = [[*head, "lemma"]]
    for row in solved:
        failed = [row.narrow_jobs > 1, row.drift > row.drift_bound]
        rows.append(
            [
                row.curve,
                row.regime,
                f"{row.servers:,}",
                ", ".join(map(str, row.support)),
                f"{row.narrow_jobs:.3g}",
                "1" + (" **fails**" if failed[0] else ""),
                _probability(row.drift),
                f"{row.drift_bound:.4g}" + (" **fails**" if failed[1] else ""),
            ]
        )
    return rows


def threshold_rows() -> list[list[str]]:
    """Return the table of the n from which the bound on blocking is below 1, with its header."""
    rows = [["curve", "alpha, beta", "n from which the bound on blocking is below 1"]]
    rows += [
        [curve, regime, _large(informative_from(curve, regime))] for curve, regime, _ in SETTINGS
    ]
    return rows


def _probability(value: float) -> str:
    return f"{value:.4g}" if value == 0.0 or value > 1e-14 else "< 1e-14"


def _large(servers: int) -> str:
    return f"{servers:,}" if servers < 10**7 else f"{servers:.3g}"


def _times(bound: float, value: float) -> str:
    times = bound / value if value > 0 else math.inf
    return f"{times:.3g}" if times < 1e6 else f"{times:.0e}"


def tables(solved: list[Exact]) -> dict[str, list[list[str]]]:
    """Return every table by the name of its marker in the page."""
    return {
        "bounds": bound_rows(solved),
        "thresholds": threshold_rows(),
        "lemmas": lemma_rows(solved),
    }


def markdown(rows: list[list[str]]) -> str:
    """Format a table in Markdown."""
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def updated(page: str, found: dict[str, list[list[str]]]) -> str:
    """Return the page with the tables between its markers replaced."""
    for name, rows in found.items():
        begin, end = f"<!-- {name}: generated -->", f"<!-- {name}: end -->"
        before, rest = page.split(begin)
        _, after = rest.split(end)
        page = f"{before}{begin}\n\n{markdown(rows)}\n\n{end}{after}"
    return page


def main() -> None:
    """Print the tables, or write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"update {PAGE.name}")
    found = tables(solve_all())
    if parser.parse_args().write:
        PAGE.write_text(updated(PAGE.read_text(), found))
        return
    for rows in found.values():
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        for row in rows:
            print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
        print()


if __name__ == "__main__":
    main()
