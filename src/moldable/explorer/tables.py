"""The numbers of the answers as rows, for accessible tables and CSV files."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from typing import Final

from moldable.explorer.answers import (
    FrontierAnswer,
    LoadCurvesAnswer,
    Measure,
    PerformanceAnswer,
    PoliciesAnswer,
    TradeOffAnswer,
    Value,
)

Cell = str | float | int | bool | None
Table = list[dict[str, Cell]]
"""Rows with the same keys, which are the headings."""
FORMULAS: Final = ("=", "+", "-", "@", "\t", "\r")
"""First characters for which spreadsheets take a text for a formula."""

COMPARED: Final = ("tuned", "policy")
"""Kinds of rows that are marked if no other one is better."""
LOW: Final = ": 95 % interval from"
HIGH: Final = ": 95 % interval to"


def frontier_table(answer: FrontierAnswer) -> Table:
    """Return a row for each class and width."""
    found: Table = []
    for part in answer.classes:
        used = dict(zip(part.support, part.shares, strict=True))
        columns = (part.widths, part.speedups, part.server_time, part.time, part.on_frontier)
        for width, speedup, server_time, time, kept in zip(*columns, strict=True):
            found.append(
                {
                    "class": part.name,
                    "width": width,
                    "speed-up": speedup,
                    f"server-time ({answer.unit})": server_time,
                    f"execution time ({answer.unit})": time,
                    "on the frontier": kept,
                    "share of the jobs": None if answer.problem else used.get(width, 0.0),
                }
            )
    return found


def policies_table(answer: PoliciesAnswer) -> Table:
    """Return a row for each policy, class, number of waiting jobs and range of idle servers."""
    found: Table = []
    for table in answer.tables:
        for part in table.classes:
            for row in part.rows:
                for waiting, shares in row.shares.items():
                    if shares is None:
                        continue
                    found.append(
                        {
                            "policy": table.name,
                            "class": part.job_class,
                            **({"waiting jobs": waiting} if answer.question.waiting else {}),
                            "idle from": row.least,
                            "idle to": row.most,
                            "servers granted": granted_text(shares),
                            "final": not table.provisional,
                        }
                    )
    return found


def granted_text(shares: Mapping[int, float]) -> str:
    """Write the widths that are granted and their probabilities.

    Examples:
        >>> granted_text({1: 0.25, 2: 0.75}), granted_text({3: 1.0}), granted_text({})
        ('1 (25 %), 2 (75 %)', '3', 'none')
    """
    if len(shares) == 1 and math.isclose(sum(shares.values()), 1.0):
        return str(next(iter(shares)))
    return ", ".join(f"{width} ({100 * p:.4g} %)" for width, p in shares.items()) or "none"


def performance_table(answer: PerformanceAnswer) -> Table:
    """Return a row for each policy, the optimum and the bounds."""
    found: Table = [
        {
            "policy": row.name,
            **_cells(row.values, answer.measures),
            "utilisation": row.utilisation,
            "Pareto-optimal": row.pareto_optimal if row.kind in COMPARED else None,
            "method": row.method,
            "note": "first guess; a search follows" if row.provisional else row.problem,
        }
        for row in answer.rows
    ]
    for bound in answer.bounds:
        side = "at least" if bound.lower else "at most"
        found.append(
            {
                "policy": f"bound: {side}",
                **_cells({bound.measure: bound.value}, answer.measures),
                "utilisation": None,
                "Pareto-optimal": None,
                "method": bound.value.method,
                "note": bound.name,
            }
        )
    return _without_empty(found)


def load_curves_table(answer: LoadCurvesAnswer) -> Table:
    """Return a row for each policy and load."""
    return _without_empty(
        [
            {
                "policy": curve.name,
                "load": load,
                **_cells(point or {}, answer.measures),
                "method": next((value.method for value in (point or {}).values()), ""),
            }
            for curve in answer.curves
            for load, point in zip(answer.loads, curve.points, strict=True)
        ]
    )


def trade_off_table(answer: TradeOffAnswer) -> Table:
    """Return a row for each policy."""
    return _without_empty(
        [
            {
                "series": series.name,
                "policy": point.label,
                **_cells(point.values, (answer.across, answer.up)),
                "method": next((value.method for value in point.values.values()), ""),
            }
            for series in answer.series
            for point in series.points
        ]
    )


def csv_text(rows: Table) -> str:
    """Return rows as the text of a CSV file, numbers in full precision.

    Examples:
        >>> csv_text([{"width": 2, "speed-up": 1.8}]).splitlines()
        ['width,speed-up', '2,1.8']
    """
    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, list(rows[0]))
        writer.writeheader()
        writer.writerows({key: _plain(value) for key, value in row.items()} for row in rows)
    return text.getvalue()


def _cells(values: Mapping[str, Value], measures: Sequence[Measure]) -> dict[str, Cell]:
    """Return value, interval and exactness of each measure."""
    found: dict[str, Cell] = {}
    for each in measures:
        value = values.get(each.name)
        low, high = (None, None) if value is None else value.interval or (None, None)
        estimated = value is not None and not value.exact
        found[each.heading] = None if value is None else value.value
        found[f"{each.label}{LOW}"] = low if estimated else None
        found[f"{each.label}{HIGH}"] = high if estimated else None
    found["exact"] = all(value.exact for value in values.values()) if values else None
    return found


def _without_empty(rows: Table) -> Table:
    """Leave out the ends of intervals where all numbers are exact."""
    empty = {
        key
        for key in (rows[0] if rows else ())
        if key.endswith((LOW, HIGH)) and all(row[key] is None for row in rows)
    }
    return [{key: cell for key, cell in row.items() if key not in empty} for row in rows]


def _plain(value: Cell) -> Cell:
    """Keep spreadsheets from taking the name of a class for a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULAS) else value
