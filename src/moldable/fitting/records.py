"""Records of benchmark programs, and the choice of one curve among them.

A record holds the values of one benchmark, and labels such as its name and parameters. One label is
the width. At each width all other labels must be the same; `select` picks them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from moldable.csv_columns import plain_name
from moldable.errors import InputError, shortened, shown, suggest
from moldable.files.curve_csv import MEANING
from moldable.fitting.measurements import Measurements

IDENTITY: Final = ("name", "test", "variable", "unit")
"""Labels that distinguish benchmarks, whatever the width."""


@dataclass(frozen=True, slots=True)
class Record:
    """The values of one benchmark.

    Attributes:
        labels: what distinguishes it, such as its name and parameters.
        values: the measured values.
        kind: what they are, see `Measurements`.
        notes: further keys that may hold the width, but need not agree.
    """

    labels: Mapping[str, Any]
    values: Sequence[float]
    kind: str = "time"
    notes: Mapping[str, Any] = field(default_factory=dict)


def one_curve(
    path: Path, records: Sequence[Record], width: str | None, select: Sequence[str]
) -> Measurements:
    """Return the measurements of the selected records; errors name the file."""
    if not records:
        raise InputError(f"{path}: the file holds no measurement; run the benchmarks again")
    kept = _selected(path, records, select)
    for label in IDENTITY:
        _refuse_several(path, label, [record.labels.get(label) for record in kept])
    key = _width_key(path, kept, width)
    by_width: dict[int, list[Record]] = {}
    for record in kept:
        found = {**record.notes, **record.labels}.get(key)
        by_width.setdefault(_width(path, key, found), []).append(record)
    for label in sorted({name for record in kept for name in record.labels} - {key}):
        for own in by_width.values():
            _refuse_several(path, label, [record.labels.get(label) for record in own])
    pairs = [
        (at, _checked(path, value))
        for at, own in by_width.items()
        for record in own
        for value in record.values
    ]
    return Measurements(pairs, kept[0].kind, str(path))


def _selected(path: Path, records: Sequence[Record], select: Sequence[str]) -> Sequence[Record]:
    for condition in select:
        key, equals, value = condition.partition("=")
        if not equals:
            raise InputError(f"--select {condition!r} has no '='; write KEY=VALUE")
        known = sorted({name for record in records for name in record.labels})
        if key.strip() not in known:
            raise InputError(f"{path}: there is no label {key.strip()!r}; {suggest(key, known)}")
        found = [record for record in records if _is(record, key.strip(), value.strip())]
        if not found:
            values = sorted({str(record.labels.get(key.strip())) for record in records})
            raise InputError(
                f"{path}: {key.strip()} is never {value.strip()!r}; it takes the values "
                f"{shortened(values)}"
            )
        records = found
    return records


def _is(record: Record, key: str, value: str) -> bool:
    return key in record.labels and str(record.labels[key]) == value


def _width_key(path: Path, records: Sequence[Record], width: str | None) -> str:
    labels = set.intersection(*(set(record.labels) for record in records))
    notes = set.intersection(*(set(record.notes) for record in records))
    if width is not None:
        if width not in labels | notes:
            raise InputError(
                f"{path}: not every benchmark has {width!r}; {suggest(width, labels | notes)}"
            )
        return width
    # Labels come before notes, and a single parameter of whole numbers needs no special name.
    candidates = (
        [key for key in labels if MEANING.get(plain_name(key)) == "width"],
        [key for key in notes if MEANING.get(plain_name(key)) == "width"],
        [key for key in labels if all(_whole(record.labels[key]) for record in records)],
    )
    named = next(filter(None, candidates), [])
    if len(named) == 1:
        return named[0]
    known = shortened(sorted(named or labels | notes))
    raise InputError(
        f"{path}: {'several labels' if named else 'no label'} of the benchmarks could be the width "
        f"({known}); name it with --width KEY"
    )


def _refuse_several(path: Path, label: str, found: Sequence[object]) -> None:
    values = sorted({str(value) for value in found})
    if len(values) > 1:
        raise InputError(
            f"{path} holds several curves: {label} takes the values {shortened(values)}; choose "
            f"one with --select {label}={values[0]}"
        )


def _whole(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    with suppress(TypeError, ValueError, OverflowError):
        number = float(str(value))
        return int(number) if number.is_integer() and number >= 1 else None
    return None


def _width(path: Path, key: str, value: object) -> int:
    found = _whole(value)
    if found is None:
        raise InputError(
            f"{path}: {key}={shown(value)} is not a width; it must be a whole number of servers"
        )
    return found


def _checked(path: Path, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value < 1e100:  # noqa: PLR2004
        raise InputError(
            f"{path}: the value {shown(value)} must be a number above 0; measure it again"
        )
    return float(value)
