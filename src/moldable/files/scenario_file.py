"""Scenarios as TOML files.

A file has the keys `servers`, `sharing`, `arrivals`, `waiting` and `time_unit`, and one `[[class]]`
table for each class. A class has one `speedup`, or one `[[class.phase]]` table for each phase.
Errors name the file and, where possible, the line.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from moldable.checks import LARGEST, SMALLEST, Kind, checked_int, checked_path
from moldable.checks import number as to_number
from moldable.errors import (
    InputError,
    MoldableError,
    SpeedUpError,
    WorkloadError,
    naming,
    suggest,
)
from moldable.files.curve_csv import read_curve
from moldable.files.notation import MODELS, parse_arrivals, parse_speedup
from moldable.model.scenario import Scenario
from moldable.model.sizes import Empirical, SizeLaw
from moldable.model.speedup import SpeedUp
from moldable.model.units import checked_unit, parse_duration, parse_rate
from moldable.model.waiting import checked_waiting
from moldable.model.workload import SHARING, JobClass, Workload
from moldable.text_files import read_text

FILE_KEYS: Final = ("servers", "sharing", "arrivals", "waiting", "time_unit", "class")
CLASS_KEYS: Final = ("name", "arrival_rate", "mean_size", "weight", "size", "speedup", "phase")
PHASE_KEYS: Final = ("share", "speedup")
NUMBERS: Final[Mapping[str, Callable[[object, str | None, str, Kind], float]]] = {
    "arrival_rate": parse_rate,
    "mean_size": parse_duration,
    "weight": lambda value, _unit, *where: to_number(value, *where),
}
"""The numbers of a class and how they are read; weights have no unit."""

MOST_BYTES: Final = 2**20
MEAN_ROUNDING: Final = 1e-6
"""Largest relative difference between a mean size and the mean of measured sizes."""
MOST_PARTS: Final = 4
LONGEST_WORD: Final = 1000
_STRING_OR_COMMENT: Final = re.compile(
    # Every alternative matches whatever follows its first character, so the scan takes linear time.
    r'"""(?:[^"\\]|\\.|"(?!""))*+(?:"{3,5})?'
    r"|'''(?:[^']|'(?!''))*+(?:'{3,5})?"
    r'|"(?:[^"\\\n]|\\.)*+"?'
    r"|'[^'\n]*+'?"
    r"|#[^\n]*",
    re.DOTALL,
)
_RUN: Final = re.compile(r"[\w\-. \t]+")
"""Possible dotted keys and numbers, after strings are replaced by one letter."""


def read_scenario(path: Path | str, servers: int | None = None) -> Scenario:
    r"""Read a scenario from a TOML file.

    Args:
        path: name of the file.
        servers: number of servers; by default the number in the file.

    Examples:
        >>> _ = Path("c.toml").write_text("[[class]]\narrival_rate = 2.0\nspeedup = [1, 1.8]\n")
        >>> read_scenario("c.toml", servers=4).load
        0.5
    """
    path = checked_path(path)
    return parse_scenario(read_text(path, MOST_BYTES), path, servers)


def parse_scenario(text: str, path: Path, servers: int | None = None) -> Scenario:
    """Read a scenario from the text of a TOML file; errors name the file."""
    data, source = _parsed(path, text), _Source(path, text)
    for key in data:
        with source.at(None, key):
            _check_key(key, FILE_KEYS)
    tables = data.get("class", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise source.error(
            "write each class as [[class]], with two brackets, and its name below as name = ...",
            None,
            "class",
        )
    if not tables:
        raise source.error("there is no class; add at least one [[class]] table", None, None)
    with source.at(None, "time_unit"):
        unit = checked_unit(data.get("time_unit"))
    classes = tuple(_job_class(source, number, table, unit) for number, table in enumerate(tables))
    with source.at(None, "servers"):
        own = checked_int(data["servers"], "servers", WorkloadError) if "servers" in data else None
    with source.at(None, "arrivals"):
        arrivals = parse_arrivals(data.get("arrivals", "poisson"), path.parent)
    with source.at(None, "waiting"):
        waiting = checked_waiting(data.get("waiting", 0))
    sharing = data.get("sharing", "pool")
    with source.at(None, None if sharing in SHARING else "sharing"):
        workload = Workload(classes, sharing)
    n = own if servers is None else servers
    if n is None:
        raise InputError(f"{path} names no servers; add 'servers = N' or pass --servers N")
    with source.at(None, None):
        return Scenario(workload, n, arrivals, waiting, unit)


def _parsed(path: Path, text: str) -> dict[str, Any]:
    # tomllib needs memory that grows with the square of a key's parts, and reads integers of any
    # length, which Python refuses to print.
    for run in _RUN.findall(_STRING_OR_COMMENT.sub("s", text)):
        if run.count(".") >= MOST_PARTS or len(run.strip()) > LONGEST_WORD:
            raise InputError(
                f"{path} has a key of more than {MOST_PARTS} parts, or a key or number of more "
                f"than {LONGEST_WORD} characters; no workload needs them: leave it out"
            )
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not valid TOML: {error}") from None
    except RecursionError:
        raise InputError(
            f"{path} nests brackets too deeply; a workload needs three levels: correct it"
        ) from None


@dataclass(frozen=True, slots=True)
class _Source:
    """A file, for error messages with line numbers."""

    path: Path
    text: str

    @contextmanager
    def at(self, number: int | None, key: str | None) -> Iterator[None]:
        """Add the line of a key to errors of the library, also those about files that it names."""
        try:
            yield
        except MoldableError as error:
            raise self.error(str(error), number, key) from None

    def error(self, message: str, number: int | None, key: str | None) -> InputError:
        """Return an error about a key of the n-th class, or before the first class."""
        line = self._line(number, key)
        place = f"{self.path}, line {line}" if line else str(self.path)
        return InputError(f"{place}: {message}")

    def _line(self, number: int | None, key: str | None) -> int | None:
        """Return the line of the key, or of the class if the key is None or not found."""
        seen = -1
        header: int | None = None
        name = "" if key is None else rf"""["']?{re.escape(key)}["']?"""
        wanted = re.compile(rf"\[*\s*(class\s*\.\s*)?{name}\s*[=.\]]") if name else None
        for line, content in enumerate(self.text.splitlines(), start=1):
            if re.match(r"\s*\[\[\s*class\s*\]\]", content):
                seen += 1
                header = line if seen == number else header
            here = seen == (-1 if number is None else number)
            if here and wanted is not None and wanted.match(content.strip()):
                return line
        return header


def _check_key(key: str, known: Collection[str]) -> None:
    if key not in known:
        raise WorkloadError(f"unknown key {key!r}; {suggest(key, known)}")


def _job_class(
    source: _Source, number: int, table: Mapping[str, Any], unit: str | None
) -> JobClass:
    for key in table:
        with source.at(number, key):
            _check_key(key, CLASS_KEYS)
    for key in ("arrival_rate", "speedup"):
        if key not in table and not (key == "speedup" and "phase" in table):
            raise source.error(f"class {number + 1} has no {key}; add {key} = ...", number, None)
    numbers: dict[str, Any] = {}
    for key, parse in NUMBERS.items():
        with source.at(number, key):
            if key in table:
                numbers[key] = parse(table[key], unit, key, WorkloadError)
    name = table.get("name", f"class {number + 1}")
    if not isinstance(name, str):
        raise source.error(f"name={name!r} must be text in quotes", number, "name")
    with source.at(number, "size"):
        size = _size(table, source.path.parent, numbers)
    key = "phase" if "phase" in table else "speedup"
    with source.at(number, key):
        read = _phases if key == "phase" else _speedup
        speedup = read(table[key], source.path.parent)
        if {"phase", "speedup"} <= table.keys():
            raise WorkloadError("a class has phases or one speedup, not both; leave out one")
    faulty = next((k for k, v in numbers.items() if not SMALLEST <= v <= LARGEST), None)
    with source.at(number, faulty):
        return JobClass(name=name, speedup=speedup, size=size, **numbers)


def _size(table: Mapping[str, Any], folder: Path, numbers: dict[str, Any]) -> SizeLaw:
    """Read the size distribution; the mean of measured sizes becomes the mean size."""
    law = SizeLaw.parse(str(table.get("size", "exponential")), folder)
    if isinstance(law, Empirical):
        mean = numbers.setdefault("mean_size", law.measured_mean)
        if not math.isclose(mean, law.measured_mean, rel_tol=MEAN_ROUNDING):
            raise WorkloadError(
                f"mean_size={mean:g}, but the sizes in {law.source} have mean "
                f"{law.measured_mean:.9g}; leave out mean_size, or correct one of the two"
            )
    return law


def _speedup(value: object, folder: Path) -> SpeedUp:
    if isinstance(value, list):
        return SpeedUp(value)
    if isinstance(value, str):
        return parse_speedup(value, folder)
    if not isinstance(value, dict):
        raise SpeedUpError(
            f"speedup={value!r} is not a curve; write a list, a table or text such as "
            f"'amdahl:0.95:64'"
        )
    if "measured" in value:
        for key in value:
            _check_key(key, ("measured",))
        return read_curve(folder / str(value["measured"]))
    if "model" in value:
        return _model(value)
    curve: dict[int, float] = {}
    for key, speedup in value.items():
        try:
            width = int(key)
        except ValueError:
            raise SpeedUpError(
                f"speedup has the key {key!r}; it must be a width, or 'model' or 'measured'"
            ) from None
        if width in curve:
            raise SpeedUpError(f"width {width} is given twice; keep one")
        curve[width] = speedup
    return SpeedUp(curve)


def _phases(tables: object, folder: Path) -> SpeedUp:
    """Read the phases of a class, each a table with a share and a curve."""
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise SpeedUpError("write each phase as [[class.phase]], with two brackets")
    phases = []
    for k, table in enumerate(tables, start=1):
        with naming(f"phase {k}"):
            for key in table:
                _check_key(key, PHASE_KEYS)
            if missing := [key for key in PHASE_KEYS if key not in table]:
                raise SpeedUpError(f"there is no {missing[0]}; add {missing[0]} = ...")
            phases.append((table["share"], _speedup(table["speedup"], folder)))
    return SpeedUp.from_phases(phases)


def _model(table: Mapping[str, Any]) -> SpeedUp:
    name = str(table["model"])
    if name not in MODELS:
        raise SpeedUpError(f"unknown model {name!r}; {suggest(name, MODELS)}")
    parameters = MODELS[name].parameters
    for key in table:
        _check_key(key, ("model", *parameters))
    missing = [key for key in parameters if key not in table]
    if missing:
        raise SpeedUpError(f"model {name!r} needs {', '.join(parameters)}; add {missing[0]}")
    return MODELS[name].build(*(table[key] for key in parameters))
