"""Distributions of job sizes.

A size is the time of a job on one server. The optimum depends only on the mean; simulation and
exact chains use the whole distribution. Every distribution has mean 1, and a class of jobs scales
it by its `mean_size`.
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
"""The distribution of the paper, and the default everywhere."""

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
