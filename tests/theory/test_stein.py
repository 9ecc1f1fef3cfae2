"""The paper's bounds, each computed a second time from the printed formulas."""

from __future__ import annotations

import math

import pytest
from scipy.optimize import minimize_scalar

from moldable import SpeedUp
from moldable.errors import LimitError
from moldable.theory import bounds

PAPER = SpeedUp([1, 1.8, 2.5, 3, 3.4])


def proposition_2(n, d, load, gap, delta):
    extra = 2 * d / n * (1 / load + 1 / gap) + 4 * d / (n * load * delta) + 2 * delta / gap
    return (1 + 2 * d) / n + extra


def test_two_widths_follow_the_printed_formulas():
    n, load = 10**12, 0.8
    answer = bounds(PAPER, load, n)
    gap = 2.5 / 3 - 3 / 4
    assert answer.delta == pytest.approx(math.sqrt(2 * 5 * gap / (n * load)))
    distance = 1 / n + math.sqrt(2 * proposition_2(n, 5, load, gap, answer.delta))
    assert answer.distance == pytest.approx(distance)
    assert answer.blocking == pytest.approx(5 * distance / load)
    assert not answer.vacuous
    p = answer.blocking
    assert answer.time_gap == pytest.approx((distance + p) / (1 - p) / load)
    assert answer.proof == "gap"
    assert answer.gaps == ("collapse", "drift", "sign")
    assert answer.order == -0.25


def test_delta_is_the_best_one():
    n, load, gap = 4000, 0.8, 2.5 / 3 - 3 / 4
    best = minimize_scalar(
        lambda delta: proposition_2(n, 5, load, gap, delta), bounds=(1e-9, 0.2), method="bounded"
    )
    assert bounds(PAPER, load, n).delta == pytest.approx(best.x, rel=1e-4)
    # Near load 1 the range of the proof ends first.
    assert bounds(PAPER, 0.9999, n).delta == pytest.approx(1e-4)


def test_one_width_follows_the_printed_formulas():
    answer = bounds(SpeedUp.linear(5), 0.8, 4000)
    distance = 1 / 4000 + math.sqrt(2 * 11 / 4000)
    assert answer.distance == pytest.approx(distance)
    assert answer.blocking == pytest.approx(5 * distance / 0.8)
    assert answer.time_gap == pytest.approx(1 / (4000 * 0.8 * (1 - answer.blocking)))
    assert answer.delta is None
    assert (answer.proof, answer.gaps, answer.order) == ("complete", (), -0.5)


def test_bounds_that_say_nothing_are_called_vacuous():
    answer = bounds(PAPER, 0.8, 4000)
    assert answer.blocking > 1
    assert answer.vacuous
    assert answer.time_gap is None
    assert bounds(SpeedUp.linear(5), 0.8, 100).vacuous


def test_the_collapse_lemma_holds_for_width_one():
    assert bounds(PAPER, 0.95, 4000).gaps == ("drift", "sign")


@pytest.mark.parametrize(("alpha", "order"), [(0.5, -0.25), (2 / 3, -1 / 6), (1.5, 0.25)])
def test_the_order_depends_on_the_regime(alpha, order):
    assert bounds(PAPER, 0.95, 4000, alpha=alpha).order == pytest.approx(order)


def test_curves_the_theory_does_not_cover_are_refused():
    with pytest.raises(LimitError, match="3 of 4"):
        bounds(SpeedUp({1: 1, 2: 1.9, 4: 3.5}), 0.8, 100)
    with pytest.raises(LimitError, match="width 3 is not faster"):
        bounds(SpeedUp([1, 2, 1.9]), 0.8, 100)
    with pytest.raises(LimitError, match="below a chord"):
        bounds(SpeedUp([1, 1.2, 1.8]), 0.8, 100)
    with pytest.raises(LimitError, match="must be below 1 for the paper's bounds"):
        bounds(SpeedUp.linear(5), 1.0, 100)
