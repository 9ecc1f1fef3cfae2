"""Laws borrowed from scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from moldable.errors import SizeLawError
from moldable.model.sizes import FromScipy
from moldable.model.sizes.from_scipy import ResidualTable

LEVELS = np.array([0.0, 1e-6, 0.01, 0.3, 0.5, 0.9, 0.999, 1 - 1e-6])


def residual_error(frozen, closed_form):
    """Return how far the residual law's cdf is from a closed form, at the table's own quantiles."""
    table = FromScipy(frozen)._residual  # noqa: SLF001
    return np.abs(closed_form(table.invert(LEVELS)) - LEVELS).max()


@pytest.mark.parametrize(
    ("frozen", "closed_form"),
    [
        (stats.expon(scale=9.0), lambda x: -np.expm1(-x)),
        # Pareto 1.5 from 1/3: x up to there, then 1 - 2/3 / sqrt(3 x).
        (stats.pareto(1.5), lambda x: np.minimum(x, 1 - 2 / 3 / np.sqrt(3 * np.maximum(x, 1 / 3)))),
        # uniform on (1, 3) / 2: x up to 1/2, then a parabola that ends at 3/2.
        (stats.uniform(1, 2), lambda x: np.where(x < 0.5, x, 1 - (1.5 - x) ** 2 / 2)),
        # gamma(a): E min(X, x) = x S(x) + F of gamma(a + 1)
        (
            stats.gamma(0.2),
            lambda x: x * stats.gamma(0.2).sf(0.2 * x) + stats.gamma(1.2).cdf(0.2 * x),
        ),
        # nearly constant sizes
        (
            stats.gamma(1e8),
            lambda x: x * stats.gamma(1e8).sf(1e8 * x) + stats.gamma(1e8 + 1).cdf(1e8 * x),
        ),
    ],
)
def test_the_residual_law_is_as_accurate_as_promised(frozen, closed_form):
    assert residual_error(frozen, closed_form) < 2e-9


def test_sizes_that_jump_are_followed_too():
    table = ResidualTable.build(lambda x: np.where(x < 1.0, 1.0, 0.0), np.array([0.0, 0.7, 3.0]))
    assert table.total == pytest.approx(1.0, abs=1e-9)
    assert table.invert(np.array([0.0, 0.25, 0.9])) == pytest.approx([0.0, 0.25, 0.9], abs=1e-8)


def test_histograms_are_laws():
    one, other = (
        stats.rv_histogram((counts, [0.0, 1.0, 2.0]), density=False)()
        for counts in ([1, 3], [3, 1])
    )
    assert FromScipy(one) == FromScipy(one)
    assert FromScipy(one) != FromScipy(other)
    assert FromScipy(one).cdf([0.8]) == pytest.approx([0.25])


def test_laws_are_described_as_scipy_writes_them():
    law = FromScipy(stats.gamma(2.5, scale=2.0))
    assert str(law) == "scipy.stats.gamma(2.5, 2)"
    assert repr(law) == "FromScipy(scipy.stats.gamma(2.5, 2))"
    assert law.own_mean == pytest.approx(5.0)
    assert law == FromScipy(stats.gamma(a=2.5, scale=2.0))


def test_a_variance_that_scipy_does_not_know_is_infinite():
    assert FromScipy(stats.pareto(1.5)).variance == math.inf
    assert FromScipy(stats.burr12(1.2, 1.2)).variance == math.inf


@pytest.mark.parametrize(
    ("frozen", "message"),
    [
        (stats.norm(5, 1), "norm can fall to -inf, but sizes are above 0; shift it with loc="),
        (stats.expon(loc=-0.5), "expon can fall to -0.5"),
        (stats.pareto(1.0), "pareto has the mean inf; job sizes need a finite one"),
        (stats.halfcauchy(), "halfcauchy has the mean inf"),
        (stats.gamma([1.0, 2.0]), "single numbers as parameters, not arrays"),
        (stats.poisson(3.0), "is not a continuous distribution of scipy.stats"),
        (stats.gamma, "is not a continuous distribution of scipy.stats with its parameters"),
        ([1.0, 2.0], r"or Empirical\(sizes\) for a list of sizes"),
    ],
)
def test_laws_that_cannot_be_sizes_are_refused(frozen, message):
    with pytest.raises(SizeLawError, match=message):
        FromScipy(frozen)


def test_tails_too_heavy_for_the_table_are_refused():
    law = FromScipy(stats.pareto(1.01))
    assert law.sample(np.random.default_rng(1), 3).size == 3
    with pytest.raises(SizeLawError, match=r"integrates to 0\.\d+ of its mean.*own distributions"):
        law.sample_residual(np.random.default_rng(1), 1)
