"""The one-line notation of size distributions.

`exponential`, `deterministic`          distributions without parameters
`mixed-erlang`, `mixed-erlang:0.4,0.6`  probabilities of 1, 2, ... phases; the paper's by default
`pareto`, `pareto:1.5`                  the shape; the paper's by default
`lognormal:2`, `hyperexponential:2`     the coefficient of variation
`weibull:0.7`                           the shape
`sizes.csv`                             a file of measured sizes
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from moldable.checks import check_type
from moldable.errors import SizeLawError, suggest
from moldable.model.sizes.closed_form import Deterministic, Lognormal, Pareto, Weibull
from moldable.model.sizes.empirical import Empirical
from moldable.model.sizes.law import SizeLaw
from moldable.model.sizes.phase_laws import Exponential, Hyperexponential, MixedErlang

# The class of each distribution, the meaning of its parameter and an example of it.
NOTATIONS: Final[dict[str, tuple[Callable[..., SizeLaw], str, str]]] = {
    "exponential": (Exponential, "", ""),
    "deterministic": (Deterministic, "", ""),
    "mixed-erlang": (MixedErlang, "probabilities", "0.4,0.6"),
    "pareto": (Pareto, "shape", "1.5"),
    "lognormal": (Lognormal, "coefficient of variation", "2"),
    "weibull": (Weibull, "shape", "0.7"),
    "hyperexponential": (Hyperexponential, "coefficient of variation", "2"),
}


def parse_size_law(text: str, folder: Path = Path()) -> SizeLaw:
    """Read a distribution from one line of text; file names are relative to `folder`."""
    check_type(text, str, "size law", SizeLawError, "text such as 'pareto:1.5'")
    text = text.strip()
    if text == "-":
        return Empirical.read("-")
    if text.lower().endswith(".csv"):
        return Empirical.read(folder / text, text)
    name, colon, rest = text.partition(":")
    name = name.strip().lower()
    if name not in NOTATIONS:
        raise SizeLawError(
            f"unknown size law {text!r}; {suggest(name, NOTATIONS)}, or a CSV file: sizes.csv"
        )
    build, parameter, example = NOTATIONS[name]
    usage = f"{name}:{example}" if example else name
    try:
        numbers = tuple(float(part) for part in rest.split(",")) if colon else ()
    except ValueError:
        raise SizeLawError(
            f"size law {text!r}: {rest!r} is not a list of numbers; write {usage}"
        ) from None
    if not numbers and name in {"mixed-erlang", "pareto"}:
        return build()  # the paper's parameters
    if name == "mixed-erlang":
        return build(numbers)
    wanted = 1 if parameter else 0
    if len(numbers) != wanted:
        takes = f"1 parameter: {parameter}" if parameter else "no parameter"
        raise SizeLawError(f"size law {text!r} takes {takes}; got {len(numbers)}; write {usage}")
    return build(*numbers)
