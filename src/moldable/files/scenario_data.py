"""Scenarios from the data of a JSON file, the inverse of `Scenario.to_dict`.

Size laws and arrival processes are read from their names. Some have none that can be read back:
measured sizes, lists of arrival times, distributions of scipy. They become exponential sizes and
Poisson arrivals, which has no influence on decisions: these depend on curves, rates, servers and
waiting places.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from moldable.checks import checked_int, number
from moldable.errors import InputError, WorkloadError, naming, shown
from moldable.files.notation import parse_arrivals
from moldable.model.arrivals import Arrivals, Poisson
from moldable.model.scenario import Scenario
from moldable.model.sizes import EXPONENTIAL, SizeLaw
from moldable.model.speedup import SpeedUp
from moldable.model.waiting import checked_waiting
from moldable.model.workload import JobClass, Workload

REQUIRED: Final = ("servers", "classes")
DIGITS: Final = 18


def scenario_from_data(data: object) -> Scenario:
    """Build a scenario from the keys of `Scenario.to_dict`.

    Examples:
        >>> scenario = Scenario.single([1, 1.8], 0.5, 4, waiting="unlimited")
        >>> scenario_from_data(scenario.to_dict()) == scenario
        True
    """
    if not isinstance(data, Mapping) or not all(key in data for key in REQUIRED):
        raise InputError(f"{shown(data)} is not a scenario; it needs {' and '.join(REQUIRED)}")
    return Scenario(
        Workload(classes_from_data(data["classes"]), data.get("sharing", "pool")),
        checked_int(data["servers"], "servers", WorkloadError),
        _arrivals(data.get("arrivals")),
        checked_waiting(data.get("waiting", 0)),
        data.get("time_unit"),
    )


def classes_from_data(tables: object) -> tuple[JobClass, ...]:
    """Build classes from the list of their keys, see `JobClass.to_dict`."""
    if not isinstance(tables, list):
        raise InputError(f"classes={shown(tables)} is not a list of classes")
    return tuple(map(_job_class, tables))


def _job_class(table: object) -> JobClass:
    if not isinstance(table, Mapping) or not isinstance(table.get("name"), str):
        raise InputError(f"{shown(table)} is not a class; it needs a name")
    name: str = table["name"]
    with naming(f"class {name!r}"):
        rate, mean, weight = (
            number(table.get(key, 1.0), key, WorkloadError)
            for key in ("arrival_rate", "mean_size", "weight")
        )
        speedup = _speedup(table.get("speedup"))
    return JobClass(name, rate, speedup, mean, weight, _size(table.get("size")))


def _speedup(curve: object) -> SpeedUp:
    if not isinstance(curve, Mapping):
        raise InputError(f'speedup={shown(curve)} must map widths to speed-ups: {{"1": 1}}')
    for width in curve:
        if not (isinstance(width, str) and width.isascii() and width.isdigit()) or (
            len(width) > DIGITS
        ):
            raise InputError(f"speedup: {shown(width)} is not a width; write it like '4'")
    return SpeedUp({int(width): speedup for width, speedup in curve.items()})


def _size(text: object) -> SizeLaw:
    if _is_file(text):
        return EXPONENTIAL
    try:
        return SizeLaw.parse(str(text))
    except ValueError:
        return EXPONENTIAL


def _arrivals(text: object) -> Arrivals:
    if _is_file(text):
        return Poisson()
    try:
        return parse_arrivals(str(text))
    except ValueError:
        return Poisson()


def _is_file(text: object) -> bool:
    """Return whether a name stands for data of another file, which is not looked for."""
    return not isinstance(text, str) or text.strip() == "-" or ".csv" in text.lower()
