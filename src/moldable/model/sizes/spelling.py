"""How is a law of sizes written in one line?

`exponential`, `deterministic`          laws without parameters
`mixed-erlang`, `mixed-erlang:0.4,0.6`  probabilities of 1, 2, ... phases; the paper's if left out
`pareto`, `pareto:1.5`                  the shape; the paper's if left out
`lognormal:2`, `hyperexponential:2`     the coefficient of variation
`weibull:0.7`                           the shape
`sizes.csv`                             a file of measured sizes
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from moldable.checks import check_type
from moldable.errors import SizeLawError, nearest
from moldable.model.sizes.closed_form import Deterministic, Lognormal, Pareto, Weibull
from moldable.model.sizes.empirical import Empirical
from moldable.model.sizes.law import SizeLaw
from moldable.model.sizes.phase_laws import Exponential, Hyperexponential, MixedErlang


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a law is built from numbers.

    Attributes:
        build: makes the law of them.
        parameters: what each number is; None if any number of them may be given.
        example: numbers to show to who gave none.
        optional: whether the law may be named alone.
    """

    build: Callable[..., SizeLaw]
    parameters: tuple[str, ...] | None
    example: str = ""
    optional: bool = False


SPELLINGS: Final = {
    "exponential": Spelling(Exponential, ()),
    "deterministic": Spelling(Deterministic, ()),
    "mixed-erlang": Spelling(
        lambda *p: MixedErlang(p) if p else MixedErlang(), None, "0.4,0.6", optional=True
    ),
    "pareto": Spelling(Pareto, ("shape",), "1.5", optional=True),
    "lognormal": Spelling(Lognormal, ("coefficient of variation",), "2"),
    "weibull": Spelling(Weibull, ("shape",), "0.7"),
    "hyperexponential": Spelling(Hyperexponential, ("coefficient of variation",), "2"),
}


def parse_size_law(text: str, folder: Path = Path()) -> SizeLaw:
    """Read a law from one line of text; file names are relative to `folder`."""
    check_type(text, str, "size law", SizeLawError, "text such as 'pareto:1.5'")
    text = text.strip()
    if text.lower().endswith(".csv"):
        return Empirical.read(folder / text, text)
    name, colon, rest = text.partition(":")
    name = name.strip().lower()
    if name not in SPELLINGS:
        raise SizeLawError(
            f"unknown size law {text!r}; {nearest(name, SPELLINGS)}, or a CSV file: sizes.csv"
        )
    spelling = SPELLINGS[name]
    numbers = _numbers(text, name, rest) if colon else ()
    if not numbers and spelling.optional:
        return spelling.build()
    wanted = spelling.parameters
    if wanted is not None and len(numbers) != len(wanted):
        raise SizeLawError(
            f"size law {text!r} takes {len(wanted)} parameters"
            f"{': ' + ', '.join(wanted) if wanted else ''}; got {len(numbers)}; "
            f"write {_usage(name)}"
        )
    return spelling.build(*numbers)


def _numbers(text: str, name: str, rest: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in rest.split(","))
    except ValueError:
        raise SizeLawError(
            f"size law {text!r}: {rest!r} is not a list of numbers; write {_usage(name)}"
        ) from None


def _usage(name: str) -> str:
    example = SPELLINGS[name].example
    return f"{name}:{example}" if example else name
