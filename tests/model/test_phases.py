"""Jobs of several phases that keep their width."""

from __future__ import annotations

import numpy as np
import pytest

from moldable import Scenario, SpeedUp, evaluate
from moldable.errors import SpeedUpError
from naive.phased_jobs import simulate_phases


def test_the_speed_up_is_the_harmonic_mean_worked_by_hand():
    curve = SpeedUp.from_phases([(0.5, [1, 2, 3, 4]), (0.5, [1, 1, 1.5])])
    assert curve.widths.tolist() == [1, 2, 3]
    # Halves at speeds 2 and 1 take 1/4 + 1/2; at 3 and 1.5, 1/6 + 1/3.
    assert curve.speedups == pytest.approx([1.0, 4 / 3, 2.0], rel=1e-15)
    assert [phase.share for phase in curve.phases] == [0.5, 0.5]


def test_a_serial_phase_and_a_linear_one_are_amdahls_law():
    curve = SpeedUp.from_phases([(0.9, SpeedUp.linear(64)), (0.1, [1.0] * 64)])
    assert curve.speedups == pytest.approx(SpeedUp.amdahl(0.9, 64).speedups, rel=1e-14)


def test_only_widths_common_to_all_phases_are_left():
    curve = SpeedUp.from_phases([(0.25, {2: 1.8, 4: 3.0}), (0.75, SpeedUp.linear(3))])
    assert curve.widths.tolist() == [2]
    assert curve[2] == pytest.approx(1.0 / (0.25 / 1.8 + 0.75 / 2))
    assert curve.up_to(2).phases == curve.phases


@pytest.mark.parametrize(
    ("phases", "message"),
    [
        ([], "the list is empty"),
        ([0.5, 0.5], "is not a pair"),
        ("linear", "is not a list; pass"),
        ([(0.5, [1, 2]), (0.6, [1, 2])], "0.5, 0.6, add up to 1.1 instead of 1"),
        ([(1.5, [1, 2]), (-0.5, [1, 2])], "the share of phase 2=-0.5 must be finite and above 0"),
        ([(0.5, {2: 2}), (0.5, {4: 4})], "have no width in common"),
        ([(1.0, [2.0])], r"s\(1\)=2"),
    ],
)
def test_faulty_phases_are_explained(phases, message):
    with pytest.raises(SpeedUpError, match=message):
        SpeedUp.from_phases(phases)


def test_simulated_phases_agree_with_the_effective_curve():
    phases = [(0.7, SpeedUp.linear(4)), (0.3, SpeedUp([1, 1.2, 1.3, 1.35]))]
    scenario = Scenario.single(SpeedUp.from_phases(phases), 0.7, 8)
    exact = evaluate(scenario, "fixed:4")
    runs = np.array(
        [
            simulate_phases(phases, width=4, servers=8, arrival_rate=5.6, jobs=8000, seed=seed)
            for seed in range(8)
        ]
    )
    mean, error = runs.mean(axis=0), runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
    blocking, time = (mean - [exact.blocking, exact.mean_execution_time]) / error
    assert abs(blocking) < 4.5
    assert abs(time) < 4.5
    # The power: the time of the first phase's curve alone is clearly another.
    assert abs(mean[1] - 1.0 / 4.0) > 10.0 * error[1]
