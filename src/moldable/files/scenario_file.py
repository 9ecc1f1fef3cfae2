"""Scenarios as TOML files.

`servers`, `sharing` and `arrivals`, then one `[[class]]` table for each class. Every complaint
names the file and, where it can be found, the line.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from moldable.checks import LARGEST, SMALLEST, checked_path, whole
from moldable.checks import number as to_number
from moldable.errors import InputError, MoldableError, WorkloadError, nearest
from moldable.files.arrivals import parse_arrivals
from moldable.files.curve_csv import read_curve
from moldable.files.spelling import MODELS, parse_speedup
from moldable.model.arrivals import Arrivals
from moldable.model.scenario import Scenario
from moldable.model.sizes import Empirical, SizeLaw
from moldable.model.speedup import SpeedUp
from moldable.model.workload import SHARING, JobClass, Workload
from moldable.text_files import read_text

T = TypeVar("T")

FILE_KEYS: Final = ("servers", "sharing", "arrivals", "class")
CLASS_KEYS: Final = ("name", "arrival_rate", "mean_size", "weight", "size", "speedup")
REQUIRED: Final = ("arrival_rate", "speedup")

MOST_BYTES: Final = 2**20
MEAN_ROUNDING: Final = 1e-6
"""How far a mean size may be from the mean of measured sizes, relatively."""
MOST_PARTS: Final = 4
LONGEST_WORD: Final = 1000
_STRING_OR_COMMENT: Final = re.compile(
    # Every alternative matches whatever follows its first character, so the scan is linear.
    r'"""(?:[^"\\]|\\.|"(?!""))*+(?:"{3,5})?'
    r"|'''(?:[^']|'(?!''))*+(?:'{3,5})?"
    r'|"(?:[^"\\\n]|\\.)*+"?'
    r"|'[^'\n]*+'?"
    r"|#[^\n]*",
    re.DOTALL,
)
_RUN: Final = re.compile(r"[\w\-. \t]+")
"""What may be a dotted key or a number, once strings are replaced by one letter."""


def read_scenario(path: Path | str, servers: int | None = None) -> Scenario:
    """Read a scenario from a TOML file.

    Args:
        path: of the file.
        servers: the size of the cluster; by default the one that the file names.
    """
    path = checked_path(path)
    text = read_text(path, MOST_BYTES)
    data = _parsed(path, text)
    source = _Source(path, text)
    source.refuse_unknown(data, FILE_KEYS, None)
    tables = data.get("class", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise source.error("write each class as [[class]], with two brackets", None, "class")
    if not tables:
        raise source.error("there is no class; add at least one [[class]] table", None, None)
    classes = tuple(_job_class(source, number, table) for number, table in enumerate(tables))
    own = _guard(source, None, "servers", lambda: _servers(data))
    arrivals = _guard(source, None, "arrivals", lambda: _arrivals(data, path.parent))
    sharing = data.get("sharing", "pool")
    faulty = None if sharing in SHARING else "sharing"
    workload = _guard(source, None, faulty, lambda: Workload(classes, sharing))
    n = own if servers is None else servers
    if n is None:
        raise InputError(f"{path} names no servers; add 'servers = N' or pass --servers N")
    return _guard(source, None, None, lambda: Scenario(workload, n, arrivals))


def _servers(data: Mapping[str, Any]) -> int | None:
    return None if "servers" not in data else whole(data["servers"], "servers", WorkloadError)


def _arrivals(data: Mapping[str, Any], folder: Path) -> Arrivals:
    return parse_arrivals(data.get("arrivals", "poisson"), folder)


def _parsed(path: Path, text: str) -> dict[str, Any]:
    # tomllib needs memory that grows with the square of a key's parts, and makes integers of any
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
    """Where complaints point to."""

    path: Path
    text: str

    def error(self, message: str, number: int | None, key: str | None) -> InputError:
        line = self._line(number, key)
        place = f"{self.path}, line {line}" if line else str(self.path)
        return InputError(f"{place}: {message}")

    def refuse_unknown(
        self,
        table: Mapping[str, Any],
        known: Iterable[str],
        number: int | None,
        inside: str | None = None,
    ) -> None:
        """Refuse keys nobody knows; those inside a key's own table are found at that key."""
        for key in table:
            if key not in known:
                place = key if inside is None else inside
                raise self.error(f"unknown key {key!r}; {nearest(key, known)}", number, place)

    def _line(self, number: int | None, key: str | None) -> int | None:
        """Find the line of a key: in the n-th class, or before the first one."""
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


def _job_class(source: _Source, number: int, table: Mapping[str, Any]) -> JobClass:
    source.refuse_unknown(table, CLASS_KEYS, number)
    for key in REQUIRED:
        if key not in table:
            raise source.error(f"class {number + 1} has no {key}; add {key} = ...", number, None)
    name = table.get("name", f"class {number + 1}")
    numbers = {
        key: _number(source, number, key, table[key])
        for key in ("arrival_rate", "mean_size", "weight")
        if key in table
    }
    if not isinstance(name, str):
        raise source.error(f"name={name!r} must be text in quotes", number, "name")
    size = _guard(source, number, "size", lambda: _size(table, source.path.parent, numbers))
    speedup = _guard(source, number, "speedup", lambda: _speedup(source, number, table["speedup"]))
    faulty = next((k for k, v in numbers.items() if not SMALLEST <= v <= LARGEST), None)
    return _guard(
        source, number, faulty, lambda: JobClass(name=name, speedup=speedup, size=size, **numbers)
    )


def _size(table: Mapping[str, Any], folder: Path, numbers: dict[str, float]) -> SizeLaw:
    """Read the law of sizes; the mean of measured ones is the class's mean size."""
    law = SizeLaw.parse(str(table.get("size", "exponential")), folder)
    if isinstance(law, Empirical):
        mean = numbers.setdefault("mean_size", law.measured_mean)
        if not math.isclose(mean, law.measured_mean, rel_tol=MEAN_ROUNDING):
            raise WorkloadError(
                f"mean_size={mean:g}, but the sizes in {law.source} have mean "
                f"{law.measured_mean:.9g}; leave out mean_size, or correct one of the two"
            )
    return law


def _guard(source: _Source, number: int | None, key: str | None, build: Callable[[], T]) -> T:
    """Build a value; point its complaint, if any, at the key it came from."""
    try:
        return build()
    except InputError:  # about a file, which it names
        raise
    except MoldableError as error:
        raise source.error(str(error), number, key) from None


def _number(source: _Source, number: int, key: str, value: object) -> float:
    try:
        return to_number(value, key, WorkloadError)
    except WorkloadError as error:
        raise source.error(str(error), number, key) from None


def _speedup(source: _Source, number: int, value: object) -> SpeedUp:
    if isinstance(value, list):
        return SpeedUp(value)
    if isinstance(value, str):
        return _spelled(source, number, value)
    if not isinstance(value, dict):
        raise source.error(
            f"speedup={value!r} is not a curve; write a list, a table or text such as "
            f"'amdahl:0.95:64'",
            number,
            "speedup",
        )
    if "measured" in value:
        source.refuse_unknown(value, ("measured",), number, "speedup")
        return read_curve(source.path.parent / str(value["measured"]))
    if "model" in value:
        return _model(source, number, value)
    curve: dict[int, float] = {}
    for key, speedup in value.items():
        width = _width(source, number, key)
        if width in curve:
            raise source.error(f"width {width} is given twice; keep one", number, "speedup")
        curve[width] = speedup
    return SpeedUp(curve)


def _spelled(source: _Source, number: int, text: str) -> SpeedUp:
    if text.strip().lower().endswith(".csv"):
        return read_curve(source.path.parent / text.strip())
    try:
        return parse_speedup(text)
    except InputError as error:
        raise source.error(str(error), number, "speedup") from None


def _model(source: _Source, number: int, table: Mapping[str, Any]) -> SpeedUp:
    name = str(table["model"])
    if name not in MODELS:
        raise source.error(f"unknown model {name!r}; {nearest(name, MODELS)}", number, "speedup")
    parameters = MODELS[name].parameters
    source.refuse_unknown(table, ("model", *parameters), number, "speedup")
    missing = [key for key in parameters if key not in table]
    if missing:
        raise source.error(
            f"model {name!r} needs {', '.join(parameters)}; add {missing[0]}", number, "speedup"
        )
    return MODELS[name].build(*(table[key] for key in parameters))


def _width(source: _Source, number: int, key: str) -> int:
    try:
        return int(key)
    except ValueError:
        raise source.error(
            f"speedup has the key {key!r}; it must be a width, or 'model' or 'measured'",
            number,
            "speedup",
        ) from None
