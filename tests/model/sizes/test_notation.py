"""Laws written in one line."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldable import SizeLaw
from moldable.errors import SizeLawError
from moldable.model.sizes import (
    Deterministic,
    Exponential,
    Hyperexponential,
    Lognormal,
    MixedErlang,
    Pareto,
    Weibull,
)


@pytest.mark.parametrize(
    ("text", "law", "written"),
    [
        ("exponential", Exponential(), "exponential"),
        (" Deterministic ", Deterministic(), "deterministic"),
        ("mixed-erlang", MixedErlang((0.4, 0.6)), "mixed-erlang:0.4,0.6"),
        ("mixed-erlang: 0.25, 0.75", MixedErlang((0.25, 0.75)), "mixed-erlang:0.25,0.75"),
        ("pareto", Pareto(1.5), "pareto:1.5"),
        ("pareto:3", Pareto(3.0), "pareto:3"),
        ("lognormal:2", Lognormal(2.0), "lognormal:2"),
        ("weibull:0.7", Weibull(0.7), "weibull:0.7"),
        ("hyperexponential:2.5", Hyperexponential(2.5), "hyperexponential:2.5"),
    ],
)
def test_laws_are_spelled_as_text(text, law, written):
    assert SizeLaw.parse(text) == law
    assert str(law) == written
    assert SizeLaw.parse(written) == law


@given(st.floats(1.0, 1e100, exclude_min=True), st.floats(0.01, 1.0))
def test_no_digit_is_lost_between_writing_and_reading(above, share):
    laws = (
        Pareto(above),
        Hyperexponential(above),
        Lognormal(share),
        Weibull(share),
        MixedErlang((share, 1.0 - share)),
    )
    for law in laws:
        assert SizeLaw.parse(str(law)) == law


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("expo", "unknown size law 'expo'; did you mean 'exponential'.* or a CSV file: sizes.csv"),
        ("parito:2", "did you mean 'pareto'"),
        ("", "unknown size law ''; known: deterministic"),
        ("pareto:1", "pareto:1 has an infinite mean; take a shape above 1"),
        ("pareto:0.5", "infinite mean"),
        ("pareto:x", "'x' is not a list of numbers; write pareto:1.5"),
        ("pareto:", "'' is not a list of numbers"),
        ("pareto:1.5,2", "takes 1 parameter: shape; got 2; write pareto:1.5"),
        ("lognormal", "takes 1 parameter: coefficient of variation; got 0; write lognormal:2"),
        ("weibull:-1", "must be from 0.01"),
        ("weibull:nan", "must be from 0.01"),
        ("hyperexponential:0.5", "at least 1"),
        ("mixed-erlang:0.5,0.4", "sum to 0.9"),
        ("deterministic:3", "takes no parameter; got 1; write deterministic"),
    ],
)
def test_impossible_laws_are_refused(text, message):
    with pytest.raises(SizeLawError, match=message):
        SizeLaw.parse(text)


def test_laws_are_read_without_loading_scipy():
    code = (
        "import sys; from moldable import SizeLaw; SizeLaw.parse('lognormal:2').cdf([1.0]);"
        "print('scipy' in sys.modules)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "False"
