"""Curves: how they are made, described and refused."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldable import SpeedUp
from moldable.errors import SpeedUpError


def test_sequences_mappings_and_arrays_make_the_same_curve():
    listed = SpeedUp([1, 1.8, 2.5])
    assert listed == SpeedUp({3: 2.5, 1: 1, 2: 1.8}) == SpeedUp(np.array([1, 1.8, 2.5]))
    assert hash(listed) == hash(SpeedUp({3: 2.5, 1: 1, 2: 1.8}))
    assert listed != SpeedUp([1, 1.8, 2.6])
    assert listed != "curve"
    assert listed[2] == 1.8
    assert len(listed) == 3
    with pytest.raises(KeyError):
        listed[4]


def test_curves_cannot_be_changed():
    curve = SpeedUp([1, 1.8])
    with pytest.raises(AttributeError):
        curve.widths = np.array([1])
    with pytest.raises(ValueError, match="read-only"):
        curve.speedups[0] = 2.0
    assert pickle.loads(pickle.dumps(curve)) == curve  # noqa: S301 - our own bytes


def test_repeated_times_are_averaged():
    curve = SpeedUp.from_times([(1, 9.0), (2, 6.0), (1, 11.0), (2, 4.0)])
    assert curve == SpeedUp({1: 1, 2: 2})
    assert curve.baseline == ""


def test_repeated_times_keep_their_count_and_spread():
    curve = SpeedUp.from_times([(1, 9.0), (2, 6.0), (1, 11.0), (4, 4.0), (1, 10.0)])
    (part,) = curve.repeats
    assert (part.width, part.count, part.spread) == (1, 3, pytest.approx(0.2))
    assert curve.up_to(2).repeats == curve.repeats
    assert SpeedUp([1, 1.8]).repeats == ()


def test_without_width_1_the_narrowest_is_taken_as_fully_efficient():
    curve = SpeedUp.from_times({4: 10.0, 8: 6.0})
    assert curve[4] == 4.0
    assert curve[8] == pytest.approx(40 / 6)
    assert "width 4 is taken to run at full efficiency" in curve.baseline
    assert curve.up_to(4).baseline == curve.baseline


def test_models_match_their_formulas():
    i = np.arange(1, 9)
    assert SpeedUp.linear(8).speedups == pytest.approx(i)
    assert SpeedUp.amdahl(0.9, 8).speedups == pytest.approx([1 / (0.1 + 0.9 / k) for k in i])
    assert SpeedUp.power_law(0.5, 8).speedups == pytest.approx(np.sqrt(i))
    usl = SpeedUp.usl(0.1, 0.02, 8)
    assert usl[8] == pytest.approx(8 / (1 + 0.1 * 7 + 0.02 * 8 * 7))


def test_downeys_model_at_points_worked_by_hand():
    # sigma = 0: perfect up to A, then flat.
    assert SpeedUp.downey(4, 0, 8).speedups == pytest.approx([1, 2, 3, 4, 4, 4, 4, 4])
    # sigma = 1/2, A = 4: 4i/(4 + (i-1)/4) up to 4, then 4i/(1.75 + 0.75i) up to 7, then 4.
    half = SpeedUp.downey(4, 0.5, 8)
    assert half[4] == pytest.approx(16 / 4.75)
    assert half[6] == pytest.approx(24 / 6.25)
    assert half[8] == 4
    # sigma = 2, A = 4: 12i/(2(i+3) + 4) up to 4 + 8 - 2 = 10, then 4.
    double = SpeedUp.downey(4, 2, 12)
    assert double[5] == pytest.approx(60 / 20)
    assert double[10] == pytest.approx(4)
    assert double[12] == 4
    # The two formulas agree where they meet.
    below = SpeedUp.downey(6, 1, 20).speedups
    assert SpeedUp.downey(6, 1 + 1e-12, 20).speedups == pytest.approx(below)


def test_the_papers_curves_break_none_of_its_assumptions():
    for curve in (SpeedUp([1, 1.8, 2.5, 3, 3.4]), SpeedUp.linear(5), SpeedUp.amdahl(0.95, 500)):
        assert curve.is_increasing()
        assert curve.is_efficiency_non_increasing()
        assert curve.is_concave()
        assert curve.violations() == ()
    assert SpeedUp.linear(5).is_linear()
    assert not SpeedUp([1, 1.8]).is_linear()
    assert SpeedUp([1, 1.8]).is_linear(tolerance=0.11)


def test_falling_efficiency_is_weaker_than_concavity():
    curve = SpeedUp([1, 1.2, 1.8, 2.0])  # s_i/i: 1, .6, .6, .5; but s_2 is under the chord of 1, 3
    assert curve.is_efficiency_non_increasing()
    assert not curve.is_concave()
    (dip,) = [v for v in curve.violations() if v.assumption == "concave"]
    assert dip.width == 2
    assert dip.amount == pytest.approx(1 - 1.2 / 1.4)
    assert "width 2" in str(dip)


def test_concavity_includes_the_origin():
    assert not SpeedUp({2: 1.0, 3: 1.6}).is_concave()
    assert SpeedUp({2: 1.8, 3: 2.5}).is_concave()
    assert not SpeedUp({2: 2.5}).is_efficiency_non_increasing()


def test_plateaus_and_dips_are_not_increasing_unless_tolerated():
    plateau = SpeedUp([1, 1.5, 1.5])
    assert not plateau.is_increasing()
    assert plateau.is_increasing(tolerance=0.01)
    dip = SpeedUp([1, 2, 1.9])
    assert not dip.is_increasing(tolerance=0.04)
    assert dip.is_increasing(tolerance=0.06)
    assert [v.width for v in dip.violations()] == [3]
    assert dip.violations(tolerance=0.06) == ()


def test_descriptions_of_real_curves_agree_with_their_source(real_curves):
    for entry in real_curves:
        curve = SpeedUp(dict(zip(entry["workers"], entry["speedup"], strict=True)))
        described = (
            curve.is_increasing(),
            curve.is_efficiency_non_increasing(),
            curve.is_concave(),
        )
        source = (entry["increasing"], entry["eff_nonincreasing"], entry["concave_with_origin"])
        assert described == source, entry["name"]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: SpeedUp([]), "empty"),
        (lambda: SpeedUp({}), "empty"),
        (lambda: SpeedUp([2, 3]), r"s\(1\)=2, but .* must be 1"),
        (lambda: SpeedUp([1, math.nan]), r"s\(2\)=nan"),
        (lambda: SpeedUp([1, math.inf]), r"s\(2\)=inf"),
        (lambda: SpeedUp([1, 0]), r"s\(2\)=0"),
        (lambda: SpeedUp([1, -2]), r"s\(2\)=-2"),
        (lambda: SpeedUp([1, "two"]), "'two' is not a number; write it without quotes"),
        (lambda: SpeedUp("1,1.8"), "which is not a list; pass .*, or read text with moldable"),
        (lambda: SpeedUp([True, 2]), "True is not a number"),
        (lambda: SpeedUp({0: 1}), "width=0 must be a whole number from 1"),
        (lambda: SpeedUp({-1: 1}), "width=-1 must be a whole number from 1"),
        (lambda: SpeedUp({1.5: 1.2}), "width=1.5 must be a whole number"),
        (lambda: SpeedUp({math.nan: 1.2}), "width=nan must be a whole number"),
        (lambda: SpeedUp.from_times([]), "no run time"),
        (lambda: SpeedUp.from_times([(1, 0.0)]), "time at width 1=0 must be finite and above 0"),
        (lambda: SpeedUp.linear(0), "d=0 must be a whole number from 1"),
        (lambda: SpeedUp.linear(2.5), "d=2.5 must be a whole number"),
        (lambda: SpeedUp.linear(10**9), "d=1000000000 must be a whole number from 1 to"),
        (lambda: SpeedUp.amdahl(1.2, 4), "parallel_fraction=1.2 must be from 0 to 1"),
        (lambda: SpeedUp.power_law(-1, 4), "exponent=-1"),
        (lambda: SpeedUp.usl(-0.1, 0, 4), "contention=-0.1"),
        (lambda: SpeedUp.usl(0.1, math.inf, 4), "coherency=inf"),
        (lambda: SpeedUp.downey(0.5, 1, 4), "average_parallelism=0.5 must be from 1"),
        (lambda: SpeedUp._from_arrays(np.array([2, 2]), np.array([1.0, 2.0])), "width 2 is given"),  # noqa: SLF001
    ],
)
def test_impossible_curves_are_refused_with_a_reason(build, message):
    with pytest.raises(SpeedUpError, match=message):
        build()


def test_long_curves_print_short():
    assert repr(SpeedUp([1, 1.8])) == "SpeedUp({1: 1, 2: 1.8})"
    assert repr(SpeedUp.linear(100)).endswith("... 100: 100})")


@given(
    st.dictionaries(
        st.integers(2, 40), st.sampled_from([0.5, 1.0, 1.5, 2.0, 3.0]), min_size=1, max_size=12
    )
)
def test_the_fastest_width_that_fits_is_the_narrowest_of_the_fastest(speedups):
    curve = SpeedUp(speedups)
    for servers in range(42):
        fitting = [width for width in speedups if width <= servers]
        best = min(fitting, key=lambda width: (-speedups[width], width), default=0)
        assert curve.fastest(servers) == best
        assert (servers in curve) == (servers in speedups)
    assert pickle.loads(pickle.dumps(curve)).fastest(41) == curve.fastest(41)  # noqa: S301
