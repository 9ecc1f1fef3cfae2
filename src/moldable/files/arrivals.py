"""How are arrival processes written in one line?

`poisson`                  exponential times between arrivals
`renewal:2`                independent lognormal times between arrivals with this coefficient of
                           variation; 0: evenly spaced
`renewal:pareto:1.5`       the same with any law of sizes
`mmpp:0.5,2:0.1,0.2`       Poisson arrivals whose rate jumps between relative levels 0.5 and 2: from
                           the first to the second at rate 0.1, back at rate 0.2. With k levels
                           there are k(k-1) switching rates, row by row without the diagonal
`times.csv`                a file of arrival times, one on each line, under an optional header time
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from moldable.checks import check_type, checked_path
from moldable.errors import InputError, MoldableError, WorkloadError, nearest
from moldable.model.arrivals import Arrivals, ArrivalTimes, MarkovModulated, Poisson, Renewal
from moldable.model.sizes import Deterministic, Lognormal, SizeLaw
from moldable.text_files import read_column

USAGES: Final = {
    "poisson": "poisson",
    "renewal": "renewal:CV, such as renewal:2",
    "mmpp": "mmpp:LEVELS:SWITCHING, such as mmpp:0.5,2:0.1,0.2",
}


def parse_arrivals(text: str, folder: Path = Path()) -> Arrivals:
    """Read an arrival process from one line of text; file names are relative to `folder`."""
    check_type(text, str, "arrivals", WorkloadError, "text such as 'renewal:2'")
    text = text.strip()
    name, _, rest = text.partition(":")
    name = name.strip().lower()
    if name not in USAGES and text.lower().endswith(".csv"):
        return read_arrival_times(folder / text)
    if name not in USAGES:
        raise WorkloadError(
            f"unknown arrivals {text!r}; {nearest(name, USAGES)}, or a CSV file: times.csv"
        )
    try:
        return READERS[name](rest, folder)
    except InputError:  # about a file, which it names
        raise
    except ValueError as error:
        reason = f"{error}; " if isinstance(error, MoldableError) else ""
        raise WorkloadError(f"arrivals {text!r}: {reason}write {USAGES[name]}") from None


def read_arrival_times(path: Path | str) -> ArrivalTimes:
    """Read arrival times from a CSV file, with the file and line in every complaint."""
    path = checked_path(path)
    last = -float("inf")
    times = []
    for line, time in read_column(path, "time"):
        if not last <= time < float("inf"):
            raise InputError(
                f"{path}, line {line}: time {time:g} must be finite and not before the time above; "
                f"sort the arrival times"
            )
        times.append(last := time)
    return ArrivalTimes(times, source=str(path))


def _poisson(text: str, _: Path) -> Poisson:
    if text:
        raise WorkloadError("Poisson arrivals take no parameter")
    return Poisson()


def _renewal(text: str, folder: Path) -> Renewal:
    try:
        variation = float(text)
    except ValueError:
        return Renewal(SizeLaw.parse(text, folder))
    return Renewal(Deterministic() if variation == 0.0 else Lognormal(variation))


def _modulated(text: str, _: Path) -> MarkovModulated:
    levels, _colon, switching = text.partition(":")
    rates = [float(part) for part in levels.split(",")]
    jumps = [float(part) for part in switching.split(",")]
    count = len(rates)
    if len(jumps) != count * (count - 1):
        raise WorkloadError(
            f"{count} levels have {count * (count - 1)} switching rates, one from each level to "
            f"each other; got {len(jumps)}"
        )
    off = iter(jumps)
    rows = [[0.0 if i == j else next(off) for j in range(count)] for i in range(count)]
    return MarkovModulated(tuple(rates), tuple(tuple(row) for row in rows))


READERS: Final[Mapping[str, Callable[[str, Path], Arrivals]]] = {
    "poisson": _poisson,
    "renewal": _renewal,
    "mmpp": _modulated,
}
