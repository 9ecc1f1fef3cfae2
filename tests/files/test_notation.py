"""One-line spellings of curves and regimes."""

from __future__ import annotations

import pytest

from moldable import Regime, SpeedUp
from moldable.errors import MoldableError
from moldable.files import parse_regime, parse_speedup


@pytest.mark.parametrize(
    ("text", "curve"),
    [
        ("1,1.8,2.5", SpeedUp([1, 1.8, 2.5])),
        (" 1, 1.8 ,2.5 ", SpeedUp([1, 1.8, 2.5])),
        ("1", SpeedUp([1])),
        ("1=1,2=1.9,4=3.5", SpeedUp({1: 1, 2: 1.9, 4: 3.5})),
        ("linear:5", SpeedUp.linear(5)),
        ("amdahl:0.95:64", SpeedUp.amdahl(0.95, 64)),
        ("power:0.8:32", SpeedUp.power_law(0.8, 32)),
        ("usl:0.1:0.01:16", SpeedUp.usl(0.1, 0.01, 16)),
        ("downey:8:0.5:20", SpeedUp.downey(8, 0.5, 20)),
        ("0.5*linear:2+0.5*1,1", SpeedUp([1, 4 / 3])),
        ("5e-1 * linear:2 + .5 * 1=1,2=1", SpeedUp([1, 4 / 3])),
        ("1*linear:3", SpeedUp.linear(3)),
    ],
)
def test_curves_are_spelled_in_one_line(text, curve):
    assert parse_speedup(text) == curve


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("1,two", "'two' is not a number"),
        ("1,,2", "'' is not a number"),
        ("nan,2", r"s\(1\)=nan"),
        ("1=1,2", "'2' has no '='"),
        ("1=1,x=2", "width 'x' is not a whole number"),
        ("1=1,1.5=2", "width '1.5' is not a whole number"),
        ("0=1,2=2", "width=0 must be a whole number from 1"),
        ("1=1,2=2,2=3", "width 2 is given twice"),
        ("amdal:0.9:4", "did you mean 'amdahl'"),
        ("amdahl", "did you mean 'amdahl'"),
        ("amdahl:0.9", "1 parameters instead of 2; write amdahl:PARALLEL_FRACTION:D"),
        ("amdahl:x:4", "'x' is not a number"),
        ("linear:2.5", "d=2.5 must be a whole number"),
        ("0.5*linear:2", "add up to 0.5 instead of 1"),
        ("0.5*linear:2+linear:2", "model 'linear:2\\+linear:2' has 2 parameters"),
        ("0.5*linear:2+e*linear:2", "'e' is not a number"),
        ("0.5*+0.5*linear:2", "the curve is empty"),
    ],
)
def test_misspelled_curves_are_explained(text, message):
    with pytest.raises(MoldableError, match=message):
        parse_speedup(text)


def test_regimes_may_be_fractions():
    assert parse_regime("2/3, 0.1") == Regime(2 / 3, 0.1)
    assert parse_regime("0,0.2") == Regime(0, 0.2)


@pytest.mark.parametrize("text", ["0.5", "0.5,0.1,2", "a,b", "1/0,2", ""])
def test_misspelled_regimes_are_explained(text):
    with pytest.raises(MoldableError, match="ALPHA,BETA"):
        parse_regime(text)
