"""The optimum against Theorem 1, HiGHS, all pairs of widths, and its own certificate."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldable import SpeedUp, optimum
from moldable.allocation import Frontier
from moldable.allocation.certificate import certify
from moldable.errors import InfeasibleError, SpeedUpError, WorkloadError
from naive.highs import solve_p
from naive.pairs import best_time
from strategies import curves

PAPER = SpeedUp([1, 1.8, 2.5, 3, 3.4])


def recheck(solution, tolerance: float) -> None:
    """Recheck the KKT conditions of the paper from scratch."""
    widths, speedups = solution.widths, solution.frontier.speedup.speedups
    y, load, c = solution.scaled_jobs, solution.load, solution.certificate
    assert np.all(y >= 0)
    assert c.theta0 >= 0
    assert np.all(c.theta >= 0)
    stationary = 1 / load + c.nu * speedups + c.theta0 * widths - c.theta
    assert np.abs(stationary).max() * load < tolerance
    assert abs(c.theta0 * (widths @ y - 1)) * load < tolerance
    assert np.abs(c.theta * y).max() < tolerance
    assert speedups @ y == pytest.approx(load, rel=tolerance)
    assert widths @ y < 1 + tolerance


def test_the_papers_sub_linear_curve_at_load_0_8():
    solution = optimum(PAPER, 0.8)
    assert solution.scaled_jobs == pytest.approx([0, 0, 0.2, 0.1, 0], abs=1e-14)
    assert solution.mean_execution_time == pytest.approx(0.375, rel=1e-14)
    assert solution.support == (3, 4)
    assert (solution.i1, solution.i2) == (3, 4)
    assert solution.unique
    assert solution.busy_fraction == 1


def test_the_linear_curve_uses_the_widest_width_alone():
    for load in (0.1, 0.8, 1.0):
        solution = optimum(SpeedUp.linear(5), load)
        assert solution.support == (5,)
        assert solution.mean_execution_time == pytest.approx(0.2, rel=1e-15)
        assert solution.dominated_widths.tolist() == [1, 2, 3, 4]
        assert solution.unique


@pytest.mark.parametrize("i", [1, 2, 3, 4])
def test_theorem_1_iii_formula_between_neighbouring_efficiencies(i):
    s = dict(zip(range(1, 6), PAPER.speedups, strict=True))
    low, high = s[i + 1] / (i + 1), s[i] / i
    load = 0.3 * low + 0.7 * high
    y = optimum(PAPER, load).scaled_jobs
    assert y[i - 1] == pytest.approx((load - low) / (high - low) / i, rel=1e-12)
    assert y[i] == pytest.approx((high - load) / (high - low) / (i + 1), rel=1e-12)


@pytest.mark.parametrize("width", range(1, 200))
def test_a_load_equal_to_an_efficiency_gives_one_width(width):
    curve = SpeedUp.amdahl(0.97, 200)
    load = curve[width] / width
    for nudged in (load, load * (1 + 4e-13), load * (1 - 4e-13)):
        assert optimum(curve, nudged).support == (width,)
    assert len(optimum(curve, load * (1 - 1e-9)).support) == 2


def test_equally_efficient_widths_give_the_fastest():
    curve = SpeedUp([1, 2, 3 * (1 + 2e-16), 3.4])
    assert optimum(curve, 1.0).support == (3,)
    assert optimum(curve, 0.9).support == (3, 4)


def test_equally_fast_widths_give_the_narrowest_and_are_not_unique():
    solution = optimum(SpeedUp([1, 1.5, 2, 2, 2]), 0.1)
    assert solution.support == (3,)
    assert not solution.unique
    assert solution.ties == (3, 4, 5)
    assert "equally fast" in solution.why_not_unique
    # With no capacity to spare the wider ones are no longer as good.
    assert optimum(SpeedUp([1, 1.5, 2, 2, 2]), 2 / 3).unique


def test_collinear_widths_are_not_unique():
    curve = SpeedUp([1, 1.5, 2, 2.5])
    at_width_2 = optimum(curve, 0.75)
    assert at_width_2.scaled_jobs == pytest.approx([0, 0.5, 0, 0], abs=1e-15)
    assert not at_width_2.unique
    # The paper's counter-example: this other vector is feasible and as good.
    other = np.array([0.25, 0, 0.25, 0])
    assert curve.speedups @ other == pytest.approx(0.75)
    assert curve.widths @ other == pytest.approx(1)
    assert other.sum() == pytest.approx(at_width_2.scaled_jobs.sum(), rel=1e-15)
    between = optimum(curve, 0.7)
    assert between.support == (2, 3)
    assert not between.unique
    assert "one edge" in between.why_not_unique
    assert optimum(curve, 1.0).unique
    assert optimum(curve, 0.6).unique  # the slack end


def test_collinear_widths_are_not_unique_whatever_rounding_makes_of_them():
    long = SpeedUp(np.concatenate(([1], 1 + np.cumsum(np.full(199, 0.9)))))
    for width in range(2, 200):
        assert not optimum(long, long[width] / width).unique
    assert not optimum(SpeedUp([1, 1.5, 2 * (1 + 1e-12), 2.5]), 0.75).unique
    nearly_linear = SpeedUp([1 + (i - 1) * 0.999999 for i in range(1, 1001)])
    for load in np.linspace(nearly_linear[1000] / 1000, 1, 20)[1:-1]:
        assert not optimum(nearly_linear, float(load)).unique


def test_noise_on_a_linear_curve_keeps_the_frontier_in_order():
    rng = np.random.default_rng(3)
    for _ in range(50):
        i = np.arange(1, 101)
        noisy = i * (1 + 3e-12 * rng.standard_normal(100))
        curve = SpeedUp(noisy / noisy[0])
        frontier = Frontier.of(curve)
        assert np.all(np.diff(frontier.server_time) > 0)
        assert np.all(np.diff(frontier.time) < 0)
        # Well away from the noise the widest width is alone again.
        assert optimum(frontier, 1 - 1e-9).support == (100,)


def test_results_are_values():
    one, same, other = optimum(PAPER, 0.8), optimum(PAPER, 0.8), optimum(PAPER, 0.7)
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    for array in (one.probabilities, one.scaled_jobs, one.frontier.time, one.frontier.corners):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_strictly_concave_curves_are_unique_everywhere():
    for load in np.linspace(0.01, 1, 200):
        solution = optimum(PAPER, float(load))
        assert solution.unique
        assert solution.why_not_unique is None


def test_dips_and_gaps_are_dominated():
    solution = optimum(SpeedUp({1: 1, 2: 1.9, 4: 1.7, 8: 5}), 0.8)
    assert solution.dominated_widths.tolist() == [4]
    assert solution.support == (2, 8)


def test_super_linear_curves_carry_loads_above_one():
    curve = SpeedUp([1, 2.2, 3.9, 4.4])
    assert optimum(curve, 1.29).support == (3, 4)
    assert optimum(curve, 1.3).support == (3,)
    with pytest.raises(InfeasibleError, match=r"largest feasible load of this curve is 1\.3"):
        optimum(curve, 1.31)


@given(curves(), st.floats(0.001, 1.0))
def test_any_curve_agrees_with_highs_and_certifies_itself(curve, share):
    load = share * float(np.max(curve.speedups / curve.widths))
    solution = optimum(curve, load)
    highs = solve_p(curve.widths, curve.speedups, load)
    assert solution.mean_execution_time == pytest.approx(highs, rel=1e-9, abs=1e-9)
    assert solution.certificate.max_violation < 1e-9
    assert len(solution.support) <= 2
    recheck(solution, 1e-9)


@given(curves(12), st.floats(0.001, 1.0))
def test_any_short_curve_agrees_with_all_pairs(curve, share):
    load = share * float(np.max(curve.speedups / curve.widths))
    everything = dict(zip(curve.widths.tolist(), curve.speedups.tolist(), strict=True))
    solution = optimum(curve, load)
    assert solution.mean_execution_time == pytest.approx(best_time(everything, 1 / load), rel=1e-11)


@given(curves(60), st.floats(0.01, 1.0))
def test_uniqueness_agrees_with_the_linear_program(curve, share):
    """Solutions are unique exactly when no reduced cost outside the support vanishes."""
    load = share * float(np.max(curve.speedups / curve.widths))
    solution = optimum(curve, load)
    if len(solution.support) == 1 and solution.shadow_price > 0:
        return  # at a vertex one multiplier does not decide
    outside = ~np.isin(curve.widths, solution.support)
    zero_cost = outside & (solution.certificate.theta * load < 1e-13)
    if solution.unique:
        assert not zero_cost.any()
    else:
        assert (outside & (solution.certificate.theta * load < 1e-10)).any()


def test_a_wrong_multiplier_is_caught():
    solution = optimum(PAPER, 0.8)
    arguments = {"offered": 0.8, "cost": 1 / 0.8, "theta0": solution.certificate.theta0, "busy": 1}
    widths, speedups = PAPER.widths, PAPER.speedups
    good = certify(widths, speedups, solution.scaled_jobs, **arguments)
    assert good.max_violation < 1e-14
    worse = np.array([0.8, 0, 0, 0, 0])  # feasible, but not optimal
    assert certify(widths, speedups, worse, **arguments).max_violation > 0.1
    assert certify(widths, speedups, solution.scaled_jobs * 1.01, **arguments).max_violation > 0.009
    wrong = arguments | {"theta0": solution.certificate.theta0 * 1.01}
    assert certify(widths, speedups, solution.scaled_jobs, **wrong).max_violation > 1e-3


def test_the_shadow_price_is_the_derivative_of_the_time():
    n, load = 4000, 0.8
    solution = optimum(PAPER, load, servers=n)
    more = optimum(PAPER, load * n / (n + 1), servers=n + 1)
    saved = solution.mean_execution_time - more.mean_execution_time
    assert solution.time_saved_by_one_server == pytest.approx(saved, rel=1e-3)
    h = 1e-6
    heavier = optimum(PAPER, load + h)
    growth = (heavier.mean_execution_time - solution.mean_execution_time) / h
    assert solution.time_added_per_load == pytest.approx(growth, rel=1e-5)
    assert optimum(PAPER, load).time_saved_by_one_server is None


def test_shadow_prices_are_one_sided_at_a_vertex():
    at = optimum(PAPER, 2.5 / 3)
    assert at.support == (3,)
    assert at.unique
    assert at.shadow_price == pytest.approx((1 / 2.5 - 1 / 3) / (4 / 3 - 3 / 2.5))
    left = (1 / 1.8 - 1 / 2.5) / (3 / 2.5 - 2 / 1.8)
    assert at.time_added_per_load == pytest.approx(left / (2.5 / 3) ** 2)
    assert optimum(PAPER, 1.0).time_added_per_load == math.inf
    slack = optimum(PAPER, 0.5)
    assert slack.shadow_price == 0
    assert slack.time_added_per_load == 0


def test_a_prepared_frontier_answers_as_the_curve_does():
    frontier = Frontier.of(PAPER)
    for load in (0.2, 0.8, 0.95):
        assert optimum(frontier, load).to_dict() == optimum(PAPER, load).to_dict()


def test_widths_that_do_not_fit_are_left_out():
    solution = optimum(SpeedUp.linear(64), 0.5, servers=16)
    assert solution.support == (16,)
    assert optimum(Frontier.of(SpeedUp.linear(64)), 0.5, servers=16).support == (16,)
    with pytest.raises(SpeedUpError, match="narrowest allowed width is 4"):
        optimum(SpeedUp({4: 3.0}), 0.5, servers=2)


@pytest.mark.parametrize("load", [0.0, -1.0, math.nan, math.inf, 1e-309, 1e200])
def test_impossible_loads_are_refused(load):
    with pytest.raises(WorkloadError, match="load"):
        optimum(PAPER, load)


def test_a_cluster_without_servers_is_refused():
    with pytest.raises(WorkloadError, match="servers=0"):
        optimum(PAPER, 0.5, servers=0)


def test_every_real_curve_agrees_with_highs(real_curves):
    assert len(real_curves) == 25
    for entry in real_curves:
        curve = SpeedUp(dict(zip(entry["workers"], entry["speedup"], strict=True)))
        largest = Frontier.of(curve).largest_load
        for share in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99):
            solution = optimum(curve, share * largest)
            highs = solve_p(curve.widths, curve.speedups, share * largest)
            assert solution.mean_execution_time == pytest.approx(highs, rel=1e-9), entry["name"]
            recheck(solution, 1e-9)


def test_results_are_readable():
    text = repr(optimum(PAPER, 0.8))
    assert "3: 0.625" in text
    assert "mean_execution_time=0.375" in text


def test_numbers_of_numpy_become_json():
    found = optimum(SpeedUp([1, 1.8]), np.float64(0.8), servers=np.int64(4)).to_dict()
    assert json.loads(json.dumps(found))["inputs"]["servers"] == 4
