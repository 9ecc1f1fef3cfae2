"""A knob finds the place where its limit is just kept, plateaus and cliffs included."""

from __future__ import annotations

import math

import pytest

from moldable.tuning.way import Way


def walked(used, value, slope=0.0, helps=1.0, waste=0.03, small=0.1):
    way = Way(waste, helps, slope)
    for tries in range(30):
        way.note(value, math.log(used(value)))
        if way.arrived():
            return value, tries
        value = way.next(small, 10 * small)
    pytest.fail("the limit was not met")


@pytest.mark.parametrize("start", [-3.0, 0.0, 0.9, 1.1, 5.0])
@pytest.mark.parametrize("slope", [0.0, -0.2, -2.0, -20.0, 3.0])
def test_a_falling_figure_is_met_from_either_side_with_any_slope(start, slope):
    value, tries = walked(lambda v: math.exp(2.0 * (1.0 - v)), start, slope)
    assert 0.97 <= math.exp(2.0 * (1.0 - value)) <= 1.0
    assert tries < 12


def test_a_rising_figure_is_met_by_turning_down():
    value, _ = walked(math.exp, 4.0, helps=-1.0)
    assert -0.03 <= value <= 0.0


def test_a_plateau_with_a_cliff_is_left_by_growing_steps():
    def used(v):
        return 3.0 if v < 7.0 else math.exp(9.0 - v) / math.exp(2.0)

    value, tries = walked(used, 0.0, small=0.01)
    assert used(value) <= 1.0
    assert tries < 20


def test_a_way_begins_with_a_note():
    with pytest.raises(ValueError, match="note where"):
        Way(0.03, 1.0, 0.0).next(0.1, 1.0)
