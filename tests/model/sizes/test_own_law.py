"""Size distributions of a user's own need one method."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from model.sizes.laws import OwnPareto, OwnUniform, OwnWeibull
from moldable import Scenario, SizeLaw, simulate
from moldable.errors import SizeLawError
from moldable.exact import erlang_b
from moldable.model.sizes.numerical import invert
from moldable.policies import FixedWidth
from moldable.sizes import Pareto, Weibull


class Drawn(SizeLaw):
    """Weibull sizes of shape 0.8, known by their draws only."""

    def sample(self, rng, count):
        return rng.weibull(0.8, count) / math.gamma(1.0 + 1.0 / 0.8)


def test_quantiles_in_any_unit_give_the_moments_of_the_formula():
    assert OwnWeibull().variance == pytest.approx(Weibull(0.8).variance, rel=1e-9)
    assert OwnUniform().variance == pytest.approx(0.75 / 6.25, rel=1e-12)
    assert math.isinf(OwnPareto().variance)
    x = np.array([0.01, 0.5, 1.0, 3.0, 20.0])
    assert OwnWeibull().cdf(x) == pytest.approx(Weibull(0.8).cdf(x), abs=1e-12)
    assert OwnPareto().cdf(x) == pytest.approx(Pareto(1.5).cdf(x), abs=1e-5)


@pytest.mark.parametrize("count", [2, 37, 1000])
def test_quantiles_that_jump_give_the_moments_of_the_listed_sizes(count):
    sizes = np.sort(np.random.default_rng(count).lognormal(0.0, 1.5, count))

    class Listed(SizeLaw):
        def quantile(self, p):
            return sizes[np.minimum((p * count).astype(int), count - 1)]

    law, mean = Listed(), sizes.mean()
    assert law.variance == pytest.approx(sizes.var() / mean**2, rel=1e-9)
    drawn = law.sample(np.random.default_rng(1), 100)
    assert np.isin(np.round(drawn * mean, 9), np.round(sizes, 9)).all()
    left = law.sample_residual(np.random.default_rng(1), 200_000)
    exact = 0.5 * (1.0 + law.variance)
    assert abs(left.mean() - exact) < 4.0 * left.std() / math.sqrt(left.size)


@pytest.mark.parametrize("count", [3, 40])
def test_quantiles_are_found_from_the_distribution_function(count):
    asked = []

    def below(sizes):
        asked.append(sizes.size)
        return np.floor(4.0 * (1.0 - np.exp(-sizes))) / 3.0  # with jumps

    levels = np.linspace(0.05, 1.0, count)
    found = invert(below, levels)
    for level, quantile in zip(levels, found, strict=True):
        assert below(np.array([quantile])) >= level
        assert below(np.array([quantile * (1.0 - 2e-12)])) < level
    # A call costs as much as hundreds of points, but the points of many levels cost more.
    assert max(asked) <= 31 * 16


def test_a_few_quantiles_need_few_calls():
    calls = []
    found = invert(lambda sizes: calls.append(1) or -np.expm1(-sizes), np.array([0.5, 0.9, 0.99]))
    assert found == pytest.approx(-np.log([0.5, 0.1, 0.01]), rel=1e-12)
    assert len(calls) < 16


def test_draws_alone_are_enough():
    law, known = Drawn(), Weibull(0.8)
    x = np.array([0.1, 0.5, 1.0, 3.0])
    assert law.cdf(x) == pytest.approx(known.cdf(x), abs=0.01)
    assert law.variance == pytest.approx(known.variance, rel=0.05)
    left = law.sample_residual(np.random.default_rng(1), 100_000)
    assert left.mean() == pytest.approx((1.0 + known.variance) / 2.0, rel=0.03)


@pytest.mark.parametrize("law", [OwnWeibull(), OwnPareto(), Drawn()], ids=str)
def test_blocking_with_one_width_is_that_of_erlang_for_every_law(law):
    found = simulate(
        Scenario.single([1], 0.8, 10, size=law), FixedWidth(1), seed=3, jobs=20_000
    ).blocking
    exact = erlang_b(10, 8.0)
    assert abs(found - exact) < 2 * found.half_width
    assert abs(found - 1.1 * exact) > 2 * found.half_width


def test_an_own_law_is_named_for_its_class_and_can_be_pickled():
    law = OwnWeibull()
    law.variance  # noqa: B018 - the table is made, and pickled with it
    assert str(law) == "OwnWeibull"
    assert repr(Drawn()) == "<size law Drawn>"
    assert pickle.loads(pickle.dumps(law)).variance == law.variance  # noqa: S301


def test_the_quantiles_of_every_law_invert_its_distribution_function():
    for law in (Pareto(1.5), Weibull(0.8), Drawn()):
        assert law.cdf(law.quantile([0.1, 0.9])) == pytest.approx([0.1, 0.9], abs=1e-5)
    with pytest.raises(SizeLawError, match=r"p=2 must be numbers from 0 to 1"):
        Pareto(1.5).quantile(2)


def law_with(**methods):
    return type("Mine", (SizeLaw,), methods)()


@pytest.mark.parametrize(
    ("law", "words"),
    [
        (law_with(), r"size law Mine needs a method quantile\(p\) or sample"),
        (law_with(quantile=lambda _, p: -p), r"quantile\(p\) must return .* at least 0"),
        (law_with(quantile=lambda _, p: 1.0 - p), r"quantile\(p\) falls where p grows"),
        (law_with(quantile=lambda _, p: (1.0 - p) ** -2.0), r"its mean is .* or infinite"),
        (law_with(quantile=lambda *_: "x"), r"quantile\(p\) must return an array"),
        (law_with(quantile=lambda *_: 3.0), r"quantile\(p\) must return an array"),
        (law_with(sample=lambda *_: [1.0]), r"sample\(rng, count\) must return an array"),
        (law_with(sample=lambda _, r, n: -r.random(n)), r"must return .* above 0"),
        (law_with(sample=lambda _, r, n: r.random(n) + 1), r"have mean 1\.\d+, .* divide them"),
    ],
)
def test_an_invalid_law_is_refused(law, words):
    with pytest.raises(SizeLawError, match=words):
        law.variance  # noqa: B018
    with pytest.raises(SizeLawError, match=words):
        law.cdf(1.0)
