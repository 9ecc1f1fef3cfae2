"""Power laws and intervals."""

from __future__ import annotations

import numpy as np
import pytest

from reproduction.convergence import mean_interval, power_law


def test_a_power_law_is_found_exactly():
    n = [10, 100, 5000]
    line = power_law(n, [3.0 * k**-0.25 for k in n])
    assert (line.factor, line.slope) == pytest.approx((3.0, -0.25))
    assert line.at([16.0]) == pytest.approx([1.5])


def test_intervals_hold_the_mean_about_nineteen_times_in_twenty():
    samples = np.random.default_rng(1).standard_normal((4000, 6))
    held = [low <= 0.0 <= high for _, (low, high) in map(mean_interval, samples)]
    assert abs(np.mean(held) - 0.95) < 4 * np.sqrt(0.05 * 0.95 / len(held))
