"""One-line notations of speed-up curves, regimes and arrival processes.

`1,1.8,2.5`            speed-ups of widths 1, 2, 3
`1=1,2=1.9,4=3.5`      width = speed-up, gaps allowed
`amdahl:0.95:64`       a model and its parameters, see MODELS
`curve.csv`            a file of measurements; `-` reads standard input
`curve:bert-aws-t4`    a published curve, see `published_curves`
`0.8*linear:8+0.2*1,1.5,1.7`   a job of phases: shares of its one-server time, and their curves
`0.5,0.1`, `2/3,0.1`   a regime: alpha, beta

`poisson`                  Poisson arrivals
`renewal:2`                independent lognormal times between arrivals with this coefficient of
                           variation; 0: constant times
`renewal:pareto:1.5`       the same with any size distribution
`mmpp:0.5,2:0.1,0.2`       Poisson arrivals whose rate jumps between relative levels 0.5 and 2: from
                           the first to the second at rate 0.1, back at rate 0.2. With k levels
                           there are k(k-1) switching rates, row by row without the diagonal
`times.csv`                a file of arrival times: one per line, or the column time of several
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from moldable.checks import check_type, checked_path
from moldable.csv_columns import read_column
from moldable.errors import InputError, MoldableError, WorkloadError, suggest
from moldable.files.curve_csv import read_curve
from moldable.files.published_curves import published_curve
from moldable.model.arrivals import Arrivals, ArrivalTimes, MarkovModulated, Poisson, Renewal
from moldable.model.regime import Regime
from moldable.model.sizes import Deterministic, Lognormal, SizeLaw
from moldable.model.speedup import SpeedUp


class Model(NamedTuple):
    """A family of curves: the names of its parameters (the last is d) and its constructor."""

    parameters: tuple[str, ...]
    build: Callable[..., SpeedUp]


MODELS: Final = {
    "linear": Model(("d",), SpeedUp.linear),
    "amdahl": Model(("parallel_fraction", "d"), SpeedUp.amdahl),
    "power": Model(("exponent", "d"), SpeedUp.power_law),
    "usl": Model(("contention", "coherency", "d"), SpeedUp.usl),
    "downey": Model(("average_parallelism", "variance", "d"), SpeedUp.downey),
}
TIMES: Final = ("time", "arrival", "arrival_time", "submit", "submit_time", "timestamp")
"""Names of the column of arrival times in a CSV file."""
_PHASE: Final = re.compile(r"\s*([-+.\deE]+)\s*\*")
"""The share at the beginning of a phase."""
USAGES: Final = {
    "poisson": "poisson",
    "renewal": "renewal:CV, such as renewal:2",
    "mmpp": "mmpp:LEVELS:SWITCHING, such as mmpp:0.5,2:0.1,0.2",
}


def parse_speedup(text: str, folder: Path = Path()) -> SpeedUp:
    """Read a curve from one line of text; file names are relative to `folder`.

    Examples:
        >>> parse_speedup("amdahl:0.9:3")
        SpeedUp({1: 1, 2: 1.81818, 3: 2.5})
    """
    check_type(text, str, "curve", InputError, "text such as '1,1.8,2.5'")
    text = text.strip()
    if not text:
        raise InputError("the curve is empty; write speed-ups such as 1,1.8,2.5 or amdahl:0.95:64")
    if _PHASE.match(text):
        return _parse_phases(text, folder)
    if text == "-" or text.lower().endswith(".csv"):
        return read_curve(text if text == "-" else folder / text)
    if text.lower().startswith("curve:"):
        return published_curve(text[len("curve:") :].strip()).speedup
    if ":" in text:
        return _parse_model(text)
    if "=" in text:
        return SpeedUp(_parse_pairs(text))
    if text[0].isalpha() and text.split(",")[0].lower() not in ("nan", "inf", "infinity"):
        raise InputError(
            f"curve {text!r} is neither numbers, a model nor a .csv file; "
            f"{suggest(text, MODELS)}; a model is written {_usage('amdahl')}"
        )
    return SpeedUp([_number(part, text) for part in text.split(",")])


def parse_regime(text: str) -> Regime:
    """Read `ALPHA,BETA`; fractions such as 2/3 are allowed.

    Examples:
        >>> parse_regime("1/2,0.1")
        Regime(alpha=0.5, beta=0.1)
    """
    check_type(text, str, "regime", InputError, "text such as '2/3,0.1'")
    parts = text.split(",")
    if len(parts) != 2:  # noqa: PLR2004 - alpha and beta
        raise InputError(f"regime {text!r} must be ALPHA,BETA, such as 0.5,0.1 or 2/3,0.1")
    try:
        alpha, beta = map(_fraction, parts)
    except (ValueError, ZeroDivisionError):
        raise InputError(f"regime {text!r}: write two numbers ALPHA,BETA such as 2/3,0.1") from None
    return Regime(alpha, beta)


def parse_arrivals(text: str, folder: Path = Path()) -> Arrivals:
    """Read an arrival process from one line of text; file names are relative to `folder`.

    Examples:
        >>> parse_arrivals("renewal:2").gap
        Lognormal(cv=2.0)
    """
    check_type(text, str, "arrivals", WorkloadError, "text such as 'renewal:2'")
    text = text.strip()
    name, _, rest = text.partition(":")
    name = name.strip().lower()
    if text == "-":
        return read_arrival_times("-")
    if name not in USAGES and text.lower().endswith(".csv"):
        return read_arrival_times(folder / text)
    if name not in USAGES:
        raise WorkloadError(
            f"unknown arrivals {text!r}; {suggest(name, USAGES)}, or a CSV file: times.csv"
        )
    try:
        return _process(name, rest, folder)
    except InputError:  # names its own file
        raise
    except ValueError as error:
        reason = f"{error}; " if isinstance(error, MoldableError) else ""
        raise WorkloadError(f"arrivals {text!r}: {reason}write {USAGES[name]}") from None


def read_arrival_times(path: Path | str) -> ArrivalTimes:
    """Read arrival times from a CSV file; errors name the file and the line."""
    path = checked_path(path)
    last = -float("inf")
    times = []
    for line, time in read_column(path, TIMES):
        if not last <= time < float("inf"):
            raise InputError(
                f"{path}, line {line}: time {time:g} must be finite and not before the time above; "
                f"sort the arrival times"
            )
        times.append(last := time)
    return ArrivalTimes(times, source=str(path))


def _fraction(text: str) -> float:
    above, slash, below = text.partition("/")
    return float(above) / float(below) if slash else float(above)


def _parse_model(text: str) -> SpeedUp:
    name, *values = text.split(":")
    name = name.strip().lower()
    if name not in MODELS:
        raise InputError(f"unknown model {name!r} in {text!r}; {suggest(name, MODELS)}")
    model = MODELS[name]
    if len(values) != len(model.parameters):
        raise InputError(
            f"model {text!r} has {len(values)} parameters instead of {len(model.parameters)}; "
            f"write {_usage(name)}"
        )
    return model.build(*(_number(value, text) for value in values))


def _parse_phases(text: str, folder: Path) -> SpeedUp:
    """Read `SHARE*CURVE+SHARE*CURVE`; a plus sign separates phases only before a share."""
    phases = []
    for part in re.split(rf"\+(?={_PHASE.pattern})", text)[::2]:
        share = _PHASE.match(part)
        if share is None:
            raise InputError(
                f"curve {text!r}: {part!r} has no share; write SHARE*CURVE+SHARE*CURVE"
            )
        phases.append((_number(share[1], text), parse_speedup(part[share.end() :], folder)))
    return SpeedUp.from_phases(phases)


def _parse_pairs(text: str) -> dict[int, float]:
    curve: dict[int, float] = {}
    for part in text.split(","):
        left, equals, right = part.partition("=")
        if not equals:
            raise InputError(
                f"curve {text!r}: {part!r} has no '='; write width=speed-up throughout"
            )
        try:
            width = int(left)
        except ValueError:
            raise InputError(
                f"curve {text!r}: width {left!r} is not a whole number; write width=speed-up"
            ) from None
        if width in curve:
            raise InputError(f"curve {text!r}: width {width} is given twice; keep one of them")
        curve[width] = _number(right, text)
    return curve


def _number(part: str, text: str) -> float:
    try:
        return float(part)
    except ValueError:
        raise InputError(
            f"curve {text!r}: {part.strip()!r} is not a number; write speed-ups such as 1,1.8,2.5"
        ) from None


def _usage(name: str) -> str:
    return ":".join((name, *(parameter.upper() for parameter in MODELS[name].parameters)))


def _process(name: str, text: str, folder: Path) -> Arrivals:
    if name == "renewal":
        try:
            variation = float(text)
        except ValueError:
            return Renewal(SizeLaw.parse(text, folder))
        return Renewal(Deterministic() if variation == 0.0 else Lognormal(variation))
    if name == "mmpp":
        return _modulated(text)
    if text:
        raise WorkloadError("Poisson arrivals take no parameter")
    return Poisson()


def _modulated(text: str) -> MarkovModulated:
    levels, _, switching = text.partition(":")
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
    return MarkovModulated(tuple(rates), tuple(map(tuple, rows)))
