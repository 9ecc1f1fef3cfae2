"""The verdict on a printed number, with artificial numbers on both sides of every threshold."""

from __future__ import annotations

import math

import pytest
from scipy.stats import norm, t

from moldable.results import Estimate
from reproduction.verdict import ALLOWED, Measured, Verdict, deviation, judge, stretched

ROUNDING = 0.5e-4
RIGHT = Measured(0.99375)
BY_METHOD = Measured(0.99295, 1e-5)


def verdict(printed: float, printed_error: float = 1e-5, right: Measured = RIGHT) -> Verdict:
    return judge(printed, printed_error, BY_METHOD, right, ROUNDING)


def test_a_number_within_rounding_agrees_without_any_chance():
    assert verdict(0.9937, printed_error=0.0) is Verdict.AGREES


def test_a_number_that_only_the_papers_method_gives_has_its_own_verdict():
    assert verdict(0.9930) is Verdict.BY_METHOD


@pytest.mark.parametrize("printed", [0.9920, 0.9950, 0.9934])
def test_a_shifted_number_disagrees(printed):
    assert verdict(printed) is Verdict.DISAGREES


def test_rounding_and_four_combined_standard_errors_are_allowed_and_no_more():
    right = Measured(0.5, 3e-4)
    border = ROUNDING + ALLOWED * 5e-4  # 3 and 4 make 5
    assert verdict(0.5 + 0.999 * border, 4e-4, right) is Verdict.AGREES
    assert verdict(0.5 + 1.001 * border, 4e-4, right) is Verdict.DISAGREES
    assert verdict(0.5 - 1.001 * border, 4e-4, right) is Verdict.DISAGREES


def test_the_deviation_counts_standard_errors_beyond_rounding():
    ours = Measured(0.5, 3e-4)
    assert deviation(0.5 + ROUNDING + 1e-3, 4e-4, ours, ROUNDING) == pytest.approx(2.0)
    assert deviation(0.5 + ROUNDING / 2, 0.0, Measured(0.5), ROUNDING) == 0.0
    assert deviation(0.6, 0.0, Measured(0.5), ROUNDING) == math.inf


def test_runs_give_mean_and_standard_error():
    measured = Measured.of_runs([1.0, 2.0, 3.0, 4.0])
    assert measured.value == 2.5
    assert measured.standard_error == pytest.approx(math.sqrt(5 / 3) / 2)
    assert measured.rescaled(4, 100) == pytest.approx(measured.standard_error / 5)
    assert Measured.of_runs([1.0]).standard_error == math.inf


def test_an_interval_gives_its_standard_error():
    estimate = Estimate(2.0, (2.0 - 1.959964, 2.0 + 1.959964))
    assert Measured.of_estimate(estimate).standard_error == pytest.approx(1.0, rel=1e-6)
    assert Measured.of_estimate(Estimate.exact(2.0)).standard_error == 0.0


def test_numbers_are_written_with_the_digits_their_error_supports():
    assert str(Measured(0.9929512, 1.3e-5)) == "0.992951 ± 0.000013"
    assert str(Measured(0.99375)) == "0.993750"
    assert Measured(-0.0178, 0.0026).percent == "-1.78 ± 0.26 %"
    assert Measured(0.0046).percent == "+0.4600 %"
    assert str(Measured(0.5, math.inf)) == "0.5000"


def test_errors_known_from_few_runs_are_allowed_what_is_equally_rare():
    few = Measured.of_runs([0.0, 1.0] * 4)
    many = Measured(few.value, few.standard_error)
    apart = few.value + 5.0 * few.standard_error
    assert deviation(apart, 0.0, many, 0.0) == pytest.approx(5.0)
    # Student's law with 7 degrees of freedom goes as far as 8.5 as rarely as the normal beyond 4.
    assert deviation(apart, 0.0, few, 0.0) == pytest.approx(5.0 / stretched(8))
    assert t(7).sf(4.0 * stretched(8)) == pytest.approx(norm.sf(4.0), rel=1e-6)
    assert 1.0 < stretched(100) < 1.06
    assert stretched(1) == math.inf
