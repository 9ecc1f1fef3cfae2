"""Processes of arrivals: which are refused, and what their numbers mean."""

from __future__ import annotations

import numpy as np
import pytest

from moldable.arrivals import ArrivalTimes, MarkovModulated, Renewal
from moldable.errors import SimulationError, SizeLawError, WorkloadError
from moldable.model import arrivals
from moldable.simulation.arrival_source import time_sampler
from moldable.sizes import Pareto


@pytest.mark.parametrize(
    ("levels", "switching", "message"),
    [
        ((1, 0, 0), ((0, 1, 0), (0, 0, 1), (0, 1, 0)), "level 0 .* from level 1; give switching"),
        ((1, 1, 2), ((0, 1, 1), (1, 0, 0), (0, 0, -5)), "level 0 .* from level 2; give switching"),
        ((1, 2, 1, 2), np.kron(np.eye(2), [[0, 1], [1, 0]]), "level 2 .* from level 0"),
        ((1, 2), ((0, 1), (1,)), "rows of lengths 2, 1"),
        ((1, 2), ((0, "a"), (1, 0)), "switching='a' is not a number"),
        (("1", 2), ((0, 1), (1, 0)), "levels='1' is not a number"),
        ((1, 2), "ab", "switching is of type str, which is not a list"),
        ((1, 2), (1, 2), "switching is of type int, .*; pass a row of rates for each level"),
        (None, None, "levels is of type NoneType, which is not a list; pass a list"),
        ((1, 2), ((0, 1e-320), (1, 0)), "e-321 must be finite, and 0 or between"),
        ((1, 2), ((0, float("nan")), (1, 0)), "nan must be finite"),
        ((0, 0), ((0, 1), (1, 0)), "one level must be above 0"),
    ],
)
def test_invalid_levels_are_refused_by_name(levels, switching, message):
    with pytest.raises(WorkloadError, match=message):
        MarkovModulated(levels, switching)


def test_lists_and_gaps_that_are_no_numbers_are_refused():
    for build in (
        lambda: ArrivalTimes(["a"]),
        lambda: ArrivalTimes([[1.0], [2.0, 3.0]]),
        lambda: ArrivalTimes([1.0], classes=["a"]),
        lambda: Renewal(2),
    ):
        with pytest.raises(WorkloadError):
            build()


def test_times_between_arrivals_may_be_text():
    assert Renewal("pareto:1.5") == Renewal(Pareto(1.5))
    with pytest.raises(SizeLawError, match="did you mean 'pareto'"):
        Renewal("parto:1.5")


def test_rare_levels_keep_every_digit_of_their_share():
    # A birth-death chain, whose shares are products: up at 1e-30, down at 1.
    levels = MarkovModulated((1, 2, 3), ((0, 1e-30, 0), (1, 0, 1e-30), (0, 1, 0)))
    assert levels.shares() == pytest.approx([1.0, 1e-30, 1e-60], rel=1e-14)
    rng = np.random.default_rng(1)
    switching = rng.random((6, 6))
    shares = MarkovModulated(tuple(rng.random(6)), tuple(map(tuple, switching))).shares()
    np.fill_diagonal(switching, 0.0)
    assert shares @ switching == pytest.approx(shares * switching.sum(axis=1), rel=1e-12)


def test_changes_of_level_before_an_arrival_are_counted_and_bounded():
    # From the silent level: 1 change, then with probability 1/2 back again, and so on.
    levels = MarkovModulated((0, 1), ((0, 3.0), (2.0, 0)))
    in_second = levels.rates(1.0)[1]
    back = 2.0 / (2.0 + in_second)
    assert levels.changes(1.0) == pytest.approx((1 + back) / (1 - back))
    fast = MarkovModulated((0, 1), ((0, 1e9), (1e9, 0)))
    with pytest.raises(SimulationError, match=r"changes up to 1e\+09 times between two arrivals"):
        time_sampler(fast, 1.0, np.random.default_rng(1), 1.0)


def test_the_first_arrival_comes_within_the_precision_of_the_clock():
    # The residual of such gaps exceeds 1e9 mean gaps with probability 0.35.
    rng, process = np.random.default_rng(1), Renewal(Pareto(1.05))
    first = np.array([process.stream(1.0, rng).take(1)[0] for _ in range(200)])
    assert first.max() == arrivals.LONGEST
    assert 40 < (first == arrivals.LONGEST).sum() < 100
    drawn = [time_sampler(process, 1.0, rng, 1.0)[0][1] for _ in range(200)]
    assert max(drawn) == arrivals.LONGEST
