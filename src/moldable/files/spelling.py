"""How are curves, regimes and models written in one line?

`1,1.8,2.5`            speed-ups of widths 1, 2, 3
`1=1,2=1.9,4=3.5`      width = speed-up, gaps allowed
`amdahl:0.95:64`       a model and its parameters, see MODELS
`curve.csv`            a file of measurements
`0.5,0.1`, `2/3,0.1`   a regime: alpha, beta
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from moldable.checks import check_type
from moldable.errors import InputError, nearest
from moldable.files.curve_csv import read_curve
from moldable.model.regime import Regime
from moldable.model.speedup import SpeedUp


@dataclass(frozen=True, slots=True)
class Model:
    """A family of curves: its parameters in order (the last is d) and how to build one."""

    parameters: tuple[str, ...]
    build: Callable[..., SpeedUp]


MODELS: Final = {
    "linear": Model(("d",), SpeedUp.linear),
    "amdahl": Model(("parallel_fraction", "d"), SpeedUp.amdahl),
    "power": Model(("exponent", "d"), SpeedUp.power_law),
    "usl": Model(("contention", "coherency", "d"), SpeedUp.usl),
    "downey": Model(("average_parallelism", "variance", "d"), SpeedUp.downey),
}


def parse_speedup(text: str, folder: Path = Path()) -> SpeedUp:
    """Read a curve from one line of text; file names are relative to `folder`."""
    check_type(text, str, "curve", InputError, "text such as '1,1.8,2.5'")
    text = text.strip()
    if not text:
        raise InputError("the curve is empty; write speed-ups such as 1,1.8,2.5 or amdahl:0.95:64")
    if text.lower().endswith(".csv"):
        return read_curve(folder / text)
    if ":" in text:
        return _parse_model(text)
    if "=" in text:
        return SpeedUp(_parse_pairs(text))
    if text[0].isalpha() and text.split(",")[0].lower() not in ("nan", "inf", "infinity"):
        raise InputError(
            f"curve {text!r} is neither numbers, a model nor a .csv file; "
            f"{nearest(text, MODELS)}; a model is written {_usage('amdahl')}"
        )
    return SpeedUp([_number(part, text) for part in text.split(",")])


def parse_regime(text: str) -> Regime:
    """Read `ALPHA,BETA`; fractions such as 2/3 are welcome."""
    check_type(text, str, "regime", InputError, "text such as '2/3,0.1'")
    parts = text.split(",")
    if len(parts) != 2:  # noqa: PLR2004 - alpha and beta
        raise InputError(f"regime {text!r} must be ALPHA,BETA, such as 0.5,0.1 or 2/3,0.1")
    try:
        alpha, beta = map(_fraction, parts)
    except (ValueError, ZeroDivisionError):
        raise InputError(f"regime {text!r}: write two numbers ALPHA,BETA such as 2/3,0.1") from None
    return Regime(alpha, beta)


def _fraction(text: str) -> float:
    above, slash, below = text.partition("/")
    return float(above) / float(below) if slash else float(above)


def _parse_model(text: str) -> SpeedUp:
    name, *values = text.split(":")
    name = name.strip().lower()
    if name not in MODELS:
        raise InputError(f"unknown model {name!r} in {text!r}; {nearest(name, MODELS)}")
    model = MODELS[name]
    if len(values) != len(model.parameters):
        raise InputError(
            f"model {text!r} has {len(values)} parameters instead of {len(model.parameters)}; "
            f"write {_usage(name)}"
        )
    return model.build(*(_number(value, text) for value in values))


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
