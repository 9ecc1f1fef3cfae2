"""Each law against scipy's, against known numbers, and at the ends of its range."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from moldable.errors import SizeLawError
from moldable.model.sizes import (
    EXPONENTIAL,
    Exponential,
    Hyperexponential,
    Lognormal,
    MixedErlang,
    Pareto,
    Weibull,
)

X = np.array([0.01, 0.2, 0.5, 0.9, 1.0, 1.7, 3.0, 8.0])


@pytest.mark.parametrize(
    ("law", "known"),
    [
        (Exponential(), stats.expon()),
        (MixedErlang((0.0, 0.0, 1.0)), stats.gamma(3, scale=1 / 3)),
        (MixedErlang((0.0,) * 999 + (1.0,)), stats.gamma(1000, scale=1 / 1000)),
        (Pareto(1.5), stats.pareto(1.5, scale=1 / 3)),
        (Pareto(3.0), stats.pareto(3.0, scale=2 / 3)),
        (Lognormal(2.0), stats.lognorm(math.sqrt(math.log(5)), scale=5**-0.5)),
        (Weibull(0.5), stats.weibull_min(0.5, scale=0.5)),
        (Weibull(2.0), stats.weibull_min(2.0, scale=2 / math.sqrt(math.pi))),
        (Weibull(50.0), stats.weibull_min(50.0, scale=1 / math.gamma(1.02))),
    ],
    ids=lambda value: str(getattr(value, "name", ""))[:12],
)
def test_laws_agree_with_scipy(law, known):
    assert known.mean() == pytest.approx(1.0, rel=1e-12)
    assert law.cdf(X) == pytest.approx(known.cdf(X), rel=1e-9, abs=1e-12)
    assert law.variance == pytest.approx(known.var(), rel=1e-9)


def test_the_papers_mixed_erlang_has_rate_1_6():
    law = MixedErlang()
    assert law.rate == pytest.approx(1.6)
    # 0.4 Exp(1.6) + 0.6 Erlang(2, 1.6): second moment (0.4 * 2 + 0.6 * 6) / 1.6^2.
    assert law.variance == pytest.approx(4.4 / 2.56 - 1)
    assert law.phases.alpha.tolist() == [0.6, 0.4]
    assert law.phases.T.tolist() == [[-1.6, 1.6], [0.0, -1.6]]


def test_phases_that_no_job_has_are_left_out():
    assert MixedErlang((0.4, 0.6, 0.0)) == MixedErlang((0.4, 0.6))


def test_the_papers_pareto_starts_at_a_third_and_has_no_variance():
    assert Pareto().least == pytest.approx(1 / 3)
    assert Pareto(2.0).variance == math.inf
    assert Pareto(3.0).variance == pytest.approx(1 / 3)


@pytest.mark.parametrize("cv", [1.0, 1.3, 4.0, 1e4])
def test_the_two_kinds_of_a_hyperexponential_bring_the_same_work(cv):
    short, long = Hyperexponential(cv).shares
    assert short + long == pytest.approx(1.0, rel=1e-12)
    # second moment of the mixture with rates twice the shares
    assert (1 / short + 1 / long) / 2 - 1 == pytest.approx(cv**2, rel=1e-12)


@pytest.mark.parametrize(
    "law",
    [Hyperexponential(1e100), Lognormal(1e100), Lognormal(1e-8), Weibull(0.01), Weibull(1e6)],
    ids=str,
)
def test_extreme_laws_stay_within_floating_point(law):
    rng = np.random.default_rng(1)
    with np.errstate(all="raise", under="ignore"):
        assert np.isfinite(law.sample(rng, 10_000)).all()
        assert np.isfinite(law.sample_residual(rng, 10_000)).all()
        assert np.isfinite(law.cdf([1e-300, 1.0, 1e300])).all()
    assert 0.0 < law.variance < math.inf


def test_residual_sizes_beyond_floating_point_are_infinite():
    residual = Pareto(1.0001).sample_residual(np.random.default_rng(1), 1000)
    assert np.isinf(residual).any()
    assert not np.isnan(residual).any()


def test_the_default_is_the_papers_law():
    assert Exponential() == EXPONENTIAL
    assert repr(Pareto(1.5)) == "Pareto(shape=1.5)"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Pareto(1.0), "pareto:1 has an infinite mean; take a shape above 1"),
        (lambda: Pareto(-2), "pareto: shape=-2 must be finite and above 0"),
        (lambda: Pareto("1.5"), "pareto: shape='1.5' is not a number"),
        (lambda: Pareto(True), "shape=True is not a number"),  # noqa: FBT003
        (lambda: Weibull(math.inf), "weibull: shape=inf must be from 0.01 to"),
        (lambda: Weibull(0.001), "weibull: shape=0.001 must be from 0.01 to"),
        (lambda: Lognormal(0), "lognormal: cv=0 must be finite and above 0"),
        (lambda: Lognormal(math.nan), "finite and above 0"),
        (lambda: Lognormal(1e101), r"cv=1e\+101 must be finite .* 1e\+100"),
        (lambda: Hyperexponential(0.5), "at least 1, or another law such as lognormal:0.5"),
        (lambda: MixedErlang(()), "probabilities of 1, 2, ... phases"),
        (lambda: MixedErlang((0.5, 0.4)), "0.5,0.4: .*but sum to 0.9"),
        (lambda: MixedErlang((1.5, -0.5)), "at least 0"),
        (lambda: MixedErlang((math.nan, 1.0)), "sum to nan"),
        (lambda: MixedErlang(("a", 1.0)), "probability='a' is not a number"),
    ],
)
def test_impossible_parameters_are_refused(build, message):
    with pytest.raises(SizeLawError, match=message):
        build()
