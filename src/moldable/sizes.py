"""Distributions of job sizes."""

from __future__ import annotations

from moldable.model.sizes import (
    Deterministic,
    Empirical,
    Exponential,
    FromScipy,
    Hyperexponential,
    Lognormal,
    MixedErlang,
    Pareto,
    PhaseType,
    SizeLaw,
    Weibull,
)

__all__ = [
    "Deterministic",
    "Empirical",
    "Exponential",
    "FromScipy",
    "Hyperexponential",
    "Lognormal",
    "MixedErlang",
    "Pareto",
    "PhaseType",
    "SizeLaw",
    "Weibull",
]
