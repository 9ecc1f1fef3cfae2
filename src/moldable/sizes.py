"""Which law do the sizes of a class's jobs follow?

A size is a job's time on one server. The optimum depends on its mean alone; the law is kept with
the class for everything that looks beyond means. Laws are written `name` or `name:parameters`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

from moldable.errors import SizeLawError, nearest

# Parameters a law must have; None: any number of them, summing to one.
LAWS: Final[dict[str, tuple[str, ...] | None]] = {
    "exponential": (),
    "deterministic": (),
    "mixed-erlang": None,
    "pareto": ("shape",),
    "lognormal": ("coefficient of variation",),
    "weibull": ("shape",),
    "hyperexponential": ("coefficient of variation",),
}
# What the paper's own experiments use, for laws named without parameters.
PAPER: Final = {"mixed-erlang": (0.4, 0.6), "pareto": (1.5,)}


@final
@dataclass(frozen=True, slots=True)
class SizeLaw:
    """A law of job sizes, scaled to the mean size of its class.

    Attributes:
        name: one of the known laws.
        parameters: its shape parameters.
    """

    name: str
    parameters: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.name not in LAWS:
            raise SizeLawError(f"unknown size law {self.name!r}; {nearest(self.name, LAWS)}")
        wanted = LAWS[self.name]
        if wanted is None:
            _refuse_bad_shares(self)
        elif len(self.parameters) != len(wanted):
            raise SizeLawError(
                f"size law {self.name!r} takes {len(wanted)} parameters"
                f"{': ' + ', '.join(wanted) if wanted else ''}; got {len(self.parameters)}"
            )
        elif not all(0.0 < value < math.inf for value in self.parameters):
            raise SizeLawError(f"size law {self}: parameters must be finite and above 0")
        if self.name == "pareto" and self.parameters[0] <= 1.0:
            raise SizeLawError(f"size law {self} has an infinite mean; take a shape above 1")
        if self.name == "hyperexponential" and self.parameters[0] < 1.0:
            raise SizeLawError(
                f"size law {self}: a hyperexponential varies at least as much as an exponential; "
                f"take a coefficient of variation of at least 1, or another law"
            )

    @classmethod
    def parse(cls, text: str) -> SizeLaw:
        """Read `name` or `name:number,number`."""
        name, _, rest = text.strip().partition(":")
        if not rest:
            return cls(name, PAPER.get(name, ()))
        try:
            parameters = tuple(float(part) for part in rest.split(","))
        except ValueError:
            raise SizeLawError(
                f"size law {text!r}: {rest!r} is not a list of numbers; write {name}:0.4,0.6"
            ) from None
        return cls(name, parameters)

    def __str__(self) -> str:
        return ":".join((self.name, ",".join(f"{value:g}" for value in self.parameters))).rstrip(
            ":"
        )


EXPONENTIAL: Final = SizeLaw("exponential")
"""The paper's law, and the default everywhere."""


def _refuse_bad_shares(law: SizeLaw) -> None:
    shares = law.parameters
    if not shares or min(shares) < 0.0 or abs(math.fsum(shares) - 1.0) > 1e-9:  # noqa: PLR2004
        raise SizeLawError(
            f"size law {law}: give the probabilities of 1, 2, ... phases; they must be at least 0 "
            f"and sum to 1, but sum to {math.fsum(shares):g}"
        )
