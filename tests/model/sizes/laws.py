"""One size law of every kind, for the tests that all laws must pass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

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

# Cyclic, with a phase that cannot end and one that no job starts in.
CYCLE = ([0.7, 0.3, 0.0], [[-3.0, 1.0, 1.0], [0.0, -2.0, 2.0], [0.5, 0.0, -1.0]])


@dataclass(frozen=True)
class OwnWeibull(SizeLaw):
    """Weibull sizes of shape 0.8, known by their quantiles, in seconds."""

    def quantile(self, p):
        return 300.0 * (-np.log1p(-p)) ** 1.25


@dataclass(frozen=True)
class OwnUniform(SizeLaw):
    """Uniform sizes from 1 to 4."""

    def quantile(self, p):
        return 1.0 + 3.0 * np.asarray(p)


@dataclass(frozen=True)
class OwnPareto(SizeLaw):
    """Pareto sizes of shape 1.5."""

    shape: float = 1.5

    def quantile(self, p):
        return (1.0 - p) ** (-1.0 / self.shape)

    def __str__(self):
        return "own pareto"


LAWS = [
    Exponential(),
    Deterministic(),
    MixedErlang(),
    MixedErlang((0.0, 0.0, 0.5, 0.0, 0.0, 0.3, 0.2)),
    Pareto(),
    Pareto(6.0),
    Hyperexponential(1.0),
    Hyperexponential(2.0),
    Lognormal(0.5),
    Lognormal(1.5),
    Weibull(0.7),
    Weibull(2.0),
    PhaseType(*CYCLE),
    Empirical(np.random.default_rng(3).lognormal(0.0, 0.5, 500)),
    FromScipy(stats.gamma(2.5, scale=7.0)),
    FromScipy(stats.pareto(1.5)),
    FromScipy(stats.uniform(1.0, 3.0)),
    OwnWeibull(),
    OwnUniform(),
    OwnPareto(),
]
