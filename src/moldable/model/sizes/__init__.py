"""Which law do the sizes of a class's jobs follow?

A size is a job's time on one server. The optimum depends on its mean alone; everything that looks
beyond means (simulation, exact chains) asks the law. Every law here has mean 1, and a class of
jobs scales it by its `mean_size`. `SizeLaw.parse` reads laws from text; the classes build them.
"""

from __future__ import annotations

from typing import Final

from moldable.model.sizes.closed_form import Deterministic, Lognormal, Pareto, Weibull
from moldable.model.sizes.empirical import Empirical
from moldable.model.sizes.from_scipy import FromScipy
from moldable.model.sizes.law import SizeLaw
from moldable.model.sizes.phase_laws import Exponential, Hyperexponential, MixedErlang, PhaseType
from moldable.model.sizes.phases import PhaseRepresentation

EXPONENTIAL: Final = Exponential()
"""The paper's law, and the default everywhere."""

__all__ = [
    "EXPONENTIAL",
    "Deterministic",
    "Empirical",
    "Exponential",
    "FromScipy",
    "Hyperexponential",
    "Lognormal",
    "MixedErlang",
    "Pareto",
    "PhaseRepresentation",
    "PhaseType",
    "SizeLaw",
    "Weibull",
]
