"""Regimes: loads, names, refusals."""

from __future__ import annotations

import pytest

from moldable import Regime
from moldable.errors import RegimeError


@pytest.mark.parametrize(
    ("alpha", "name"),
    [
        (0, "mean-field"),
        (0.2, "sub-Halfin-Whitt"),
        (0.5, "Halfin-Whitt"),
        (2 / 3, "super-Halfin-Whitt"),
        (1, "super-NDS"),
        (3, "super-NDS"),
    ],
)
def test_regimes_have_the_papers_names(alpha, name):
    assert Regime(alpha, 0.1).name == name


def test_loads_follow_the_formula():
    assert Regime(0, 0.2).load(7) == pytest.approx(0.8)
    assert Regime(0.5, 0.1).load(400) == pytest.approx(1 - 0.1 / 20)


@pytest.mark.parametrize(
    ("alpha", "beta", "message"),
    [
        (-0.1, 0.1, "alpha=-0.1"),
        (float("nan"), 0.1, "alpha=nan"),
        (0.5, 0, "beta=0"),
        (0, 1, "at every n"),
        (0.5, float("inf"), "beta=inf"),
    ],
)
def test_impossible_regimes_are_refused(alpha, beta, message):
    with pytest.raises(RegimeError, match=message):
        Regime(alpha, beta)


def test_loads_outside_0_1_are_refused():
    with pytest.raises(RegimeError, match="smaller beta"):
        Regime(0.5, 3).load(4)
    with pytest.raises(RegimeError, match="smaller alpha"):
        Regime(30, 0.1).load(10**6)
    with pytest.raises(RegimeError, match="servers=0"):
        Regime(0.5, 0.1).load(0)
