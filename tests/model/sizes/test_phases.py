"""Phase-type laws: which are refused, and their accuracy where they are stiff."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from model.sizes.laws import CYCLE
from moldable.errors import SizeLawError
from moldable.model.sizes import MixedErlang, PhaseRepresentation, PhaseType


@pytest.mark.parametrize(
    ("alpha", "matrix", "message"),
    [
        ([], [], "one start probability for each phase"),
        ([[1.0]], [[-1.0]], "one start probability for each phase"),
        ([0.5, 0.4], [[-1, 0], [0, -1]], "sum to 0.9 .*jobs of size 0 are not allowed"),
        ([1.5, -0.5], [[-1, 0], [0, -1]], "with the least -0.5"),
        ([1.0], [[-1, 0], [0, -1]], r"shape \(2, 2\), but 1 start probabilities need 1 rows"),
        ([0.5, 0.5], [[-1], [0, -1]], "rows of equal length"),
        (["a"], [[-1]], "start probabilities must be numbers"),
        ([1.0], [[math.nan]], "sub-generator must be finite"),
        ([1.0], [[0.0]], r"T\[0\]\[0\]=0 must be below 0"),
        ([1.0, 0.0], [[-1, -1], [0, -1]], r"T\[0\]\[1\]=-1 must be at least 0"),
        ([1.0, 0.0], [[-1, 3], [0, -1]], r"row 0 .* sums to 2.*lower T\[0\]\[0\] to at most -3"),
        ([1.0, 0.0], [[-1, 1], [1, -1]], "job in phase 0 never ends.*no inverse"),
        ([1.0, 0.0], [[-1, 0], [0, -1e-300]], None),
        ([0.5, 0.25, 0.25], [[-2, 0, 0], [0, -1, 1], [0, 1, -1]], "job in phase 1 never ends"),
    ],
)
def test_only_sub_generators_are_taken(alpha, matrix, message):
    if message is None:
        PhaseRepresentation(alpha, matrix)
        return
    with pytest.raises(SizeLawError, match=message):
        PhaseType(alpha, matrix)


def test_row_sums_that_are_zero_but_for_rounding_are_zero():
    law = PhaseRepresentation([1.0, 0.0], [[-0.3, 0.1 + 0.2], [0.0, -1.0]])
    assert law.exits.tolist() == [0.0, 1.0]


def test_rates_are_rescaled_to_mean_one():
    law = PhaseType([1.0], [[-5.0]])
    assert law.phases == PhaseRepresentation([1.0], [[-1.0]])
    assert hash(law.phases) == hash(PhaseRepresentation([1.0], [[-1.0]]))
    assert law.phases != "phases"
    assert law.parameters == (1.0, -1.0)
    assert str(law) == "phase-type law of 1 phases"


def test_numbers_cannot_be_changed_afterwards():
    given = np.array([[-1.0]])
    law = PhaseRepresentation([1.0], given)
    given[0, 0] = 7.0
    assert law.T.tolist() == [[-1.0]]
    with pytest.raises(ValueError, match="read-only"):
        law.T[0, 0] = 7.0


def test_the_survival_function_is_right_in_the_far_tail_and_when_stiff():
    # Two kinds in parallel, their rates a million apart: the sum is known.
    law = PhaseRepresentation([0.9, 0.1], [[-1e6, 0.0], [0.0, -1.0]])
    x = np.array([0.0, 1e-6, 1.0, 50.0, 500.0])
    expected = 0.9 * np.exp(-1e6 * x) + 0.1 * np.exp(-x)
    assert law.survival(x) == pytest.approx(expected, rel=1e-7)
    assert law.survival(np.array([])).shape == (0,)


def test_long_and_short_times_together_do_not_disturb_each_other():
    law = PhaseRepresentation(*CYCLE)
    together = law.survival([1e-9, 0.5, 300.0])
    alone = [float(law.survival(x)) for x in (1e-9, 0.5, 300.0)]
    assert together == pytest.approx(alone, rel=1e-11)


def test_residual_phases_are_those_met_at_a_random_moment():
    # Erlang of two equal phases: each is met half of the time.
    law = PhaseRepresentation([1.0, 0.0], [[-2.0, 2.0], [0.0, -2.0]])
    assert law.residual_start == pytest.approx([0.5, 0.5])
    # Kinds with rates 9 and 1 met in proportion to their work, 0.9/9 and 0.1/1.
    law = PhaseRepresentation([0.9, 0.1], [[-9.0, 0.0], [0.0, -1.0]])
    assert law.residual_start == pytest.approx([0.5, 0.5])


class Planned:
    """A generator that returns planned uniforms, and exponentials of 1."""

    def __init__(self, *uniforms):
        self.uniforms = iter(uniforms)

    def random(self, count):
        return np.array([next(self.uniforms) for _ in range(count)])

    def standard_exponential(self, count):
        return np.ones(count)


def test_a_planned_walk_takes_the_planned_phases():
    law = PhaseType(*CYCLE)
    stay = -1.0 / law.phases.T.diagonal()
    # Start in 0 (U < 0.7), to 1 (U < 1/3), to 2 (always), to 0 (U < 1/2), end (U >= 2/3).
    size = law.sample(Planned(0.69, 0.33, 0.5, 0.49, 0.67), 1)
    assert size.tolist() == pytest.approx([2 * stay[0] + stay[1] + stay[2]])
    # The largest uniform must not slip into the next row: phase 1 goes to 2 and never ends.
    largest = np.nextafter(1.0, 0.0)
    size = law.sample(Planned(largest, largest, largest), 1)
    assert size.tolist() == pytest.approx([stay[1] + stay[2]])


def test_phases_that_floating_point_or_patience_cannot_follow_are_refused():
    with pytest.raises(SizeLawError, match="the shortest phase lasts 2e-300 of the mean size"):
        PhaseType([0.5, 0.5], [[-1e150, 0], [0, -1e-150]])
    with pytest.raises(SizeLawError, match=r"a job goes through 2e\+09 phases on average"):
        PhaseType([1, 0], [[-1e9, 1e9 - 1], [1e9, -1e9]])


def test_long_chains_of_phases_are_checked_in_moments():
    began = time.process_time()
    law = MixedErlang((0.0,) * 999 + (1.0,)).phases
    assert time.process_time() - began < 0.5
    assert law.mean == pytest.approx(1.0)
