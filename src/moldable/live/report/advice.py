"""Advice on figures that differ from the plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from moldable.live.report.comparison import Figure
from moldable.live.report.expected import RATE, TIME, WAIT
from moldable.model.units import SYMBOLS

SAME: Final = 0.5
"""Widths of a class count as slower by the same factor if their excesses differ by less than this
share of the largest."""


def warnings_of(figures: Sequence[Figure], unit: str | None) -> tuple[str, ...]:
    """Return a sentence for each difference: causes first, what may follow from them last."""
    rates = [each for each in figures if each.differs and each.figure == RATE]
    times = [each for each in figures if each.differs and each.figure == TIME]
    others = [each for each in figures if each.differs and each.figure not in (RATE, TIME)]
    return (
        *(_rate(each, unit) for each in rates),
        *_times(figures, times, unit),
        *_consequences(others, unit, explained=bool(rates or times)),
    )


def _rate(part: Figure, unit: str | None) -> str:
    per = "per unit of time" if unit is None else f"per {unit[:-1]}"
    return (
        f"class {part.job_class}: {part.observed:.4g} jobs arrive {per} instead of "
        f"{part.expected:.4g} ({_change(part)}); plan again with arrival_rate = "
        f"{part.observed:.4g}"
    )


def _times(figures: Sequence[Figure], slow: Sequence[Figure], unit: str | None) -> list[str]:
    """Tell a class whose jobs have all changed from a width that is off its curve."""
    found = []
    for name in dict.fromkeys(part.job_class for part in slow):
        own = [part for part in slow if part.job_class == name]
        tested = [
            part
            for part in figures
            if (part.figure, part.job_class) == (TIME, name) and part.p_value is not None
        ]
        changes = [part.ratio - 1.0 for part in own]
        one_sign = min(changes) > 0.0 or max(changes) < 0.0
        alike = one_sign and max(changes) - min(changes) <= SAME * max(map(abs, changes))
        if len(own) == len(tested) > 1 and alike:
            mean = sum(part.ratio * part.jobs for part in own) / sum(part.jobs for part in own)
            longer = "longer" if mean > 1.0 else "shorter"
            found.append(
                f"class {name}: jobs take {abs(mean - 1.0):.1%} {longer} than planned at every "
                f"width, so their sizes have changed; plan again with a mean_size {mean:.3g} times "
                f"the planned one"
            )
        else:
            found += [_width(part, unit) for part in own]
    return found


def _width(part: Figure, unit: str | None) -> str:
    slower = "slower" if part.ratio > 1.0 else "faster"
    return (
        f"class {part.job_class}: at width {part.width} jobs take {_time(part.observed, unit)} "
        f"instead of {_time(part.expected, unit)} ({_change(part)}), so this width is {slower} "
        f"than its curve; measure the curve again (moldable fit) and plan again"
    )


def _consequences(parts: Sequence[Figure], unit: str | None, *, explained: bool) -> list[str]:
    """Return the other differences; one line for each class whose rates and times explain them."""
    if not explained:
        return [_unexplained(part, unit) for part in parts]
    names: dict[str, list[str]] = {}
    for part in parts:
        where = "" if part.width is None else f" of width {part.width}"
        names.setdefault(part.job_class, []).append(f"{part.figure}{where}")
    return [
        f"class {name}: these figures differ, too, perhaps as a consequence: {', '.join(differing)}"
        for name, differing in names.items()
    ]


def _unexplained(part: Figure, unit: str | None) -> str:
    observed, expected = f"{part.observed:.4g}", f"{part.expected:.4g}"
    if part.figure == WAIT:
        observed, expected = _time(part.observed, unit), _time(part.expected, unit)
    where = "" if part.width is None else f" of width {part.width}"
    return (
        f"class {part.job_class}: {part.figure}{where} is {observed} instead of {expected}; arrival"
        f" rates and execution times are as planned, so look for bursty arrivals, missing servers, "
        f"jobs outside the plan, or widths that the policy did not grant"
    )


def _time(value: float, unit: str | None) -> str:
    return f"{value:.4g}" if unit is None else f"{value:.4g} {SYMBOLS[unit]}"


def _change(part: Figure) -> str:
    return f"{part.ratio - 1.0:+.1%}"
