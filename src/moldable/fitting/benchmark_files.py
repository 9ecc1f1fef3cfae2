"""JSON files of benchmark programs: hyperfine, pytest-benchmark and ReFrame."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from moldable.errors import InputError, shortened
from moldable.fitting.records import Record

TIMES: Final = ("s", "sec", "secs", "second", "seconds", "ms", "us", "ns", "min", "minutes", "h")
"""Units of times; values in other units are throughputs."""


class Format(NamedTuple):
    """A kind of file: the key by which it is recognised, its reader and its writer."""

    key: str
    read: Callable[[Mapping[str, Any]], Iterator[Record]]
    written_by: str


def records_of(path: Path, data: object) -> list[Record]:
    """Return the records of a parsed JSON file; errors name the file."""
    if isinstance(data, dict):
        for each in FORMATS.values():
            if isinstance(data.get(each.key), list):
                try:
                    return list(each.read(data))
                except (KeyError, TypeError, ValueError, AttributeError, IndexError):
                    raise InputError(
                        f"{path}: {each.key!r} does not have the form that {each.written_by} "
                        f"writes; export it again"
                    ) from None
        found = f"its keys are {shortened(data)}" if data else "it has no keys"
    else:
        found = f"it is a {type(data).__name__}"
    known = "; ".join(f"{each.key!r}: {each.written_by}" for each in FORMATS.values())
    raise InputError(
        f"{path}: this is not a JSON file of measurements, {found}; supported: {known}"
    )


def _hyperfine(data: Mapping[str, Any]) -> Iterator[Record]:
    for result in data["results"]:
        labels = dict(result.get("parameters") or {})
        times = result.get("times") or [result["mean"]]
        failed = [code for code in result.get("exit_codes") or [] if code not in (0, None)]
        if failed and len(failed) == len(times):
            continue  # of --ignore-failure
        yield Record(labels or {"command": result["command"]}, list(times))


def _pytest_benchmark(data: Mapping[str, Any]) -> Iterator[Record]:
    for benchmark in data["benchmarks"]:
        name = str(benchmark["name"]).partition("[")[0]
        stats = benchmark["stats"]
        labels = {"name": name, **(benchmark.get("params") or {})}
        values = stats.get("data") or [stats["mean"]]
        yield Record(labels, list(values), notes=dict(benchmark.get("extra_info") or {}))


def _reframe(data: Mapping[str, Any]) -> Iterator[Record]:
    for run in data["runs"]:
        for case in run["testcases"]:
            if case.get("result", "pass") != "pass":
                continue
            yield from _performance(case)


def _performance(case: Mapping[str, Any]) -> Iterator[Record]:
    """Yield the performance variables of a test case.

    Parameters are part of its name, such as "Solver %width=4". Reports before ReFrame 4.7 list
    `perfvars`, later ones `perfvalues`.
    """
    name, *parameters = str(case.get("display_name") or case["name"]).split(" %")
    labels: dict[str, Any] = {"test": name.strip()}
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        labels[key.strip()] = value.strip()
    labels |= {key: case[key] for key in ("system", "partition", "environ") if case.get(key)}
    notes = {"num_tasks": case["num_tasks"]} if case.get("num_tasks") else {}
    values = case.get("perfvalues") or {}
    found = [(key.split(":")[-1], entry[0], entry[4]) for key, entry in values.items()]
    found += [
        (each["name"], each["value"], each.get("unit")) for each in case.get("perfvars") or ()
    ]
    for variable, value, unit in found:
        kind = "time" if str(unit).strip().lower() in TIMES else "speed"
        yield Record({**labels, "variable": variable, "unit": unit}, [value], kind, notes)


FORMATS: Final = {
    "hyperfine": Format("results", _hyperfine, "hyperfine --export-json FILE"),
    "pytest-benchmark": Format("benchmarks", _pytest_benchmark, "pytest --benchmark-json FILE"),
    "reframe": Format("runs", _reframe, "reframe --report-file FILE"),
}
"""The formats by the program that writes them."""
