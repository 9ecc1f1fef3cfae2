"""Quantiles of execution times, from how many jobs got each width."""

from __future__ import annotations

import numpy as np

from moldable import JobClass, Scenario, SpeedUp, Workload
from moldable.model.sizes import Empirical
from moldable.policies.greedy import Greedy
from moldable.system.granted import quantiles
from moldable.system.loss_system import build_system


def test_quantiles_of_the_smallest_numbers_are_found():
    sizes = Empirical([1e-320, 1e-320, 1.0])
    workload = Workload((JobClass("jobs", 1.0, SpeedUp([1]), size=sizes),))
    system = build_system(Scenario(workload, 2), Greedy())
    found = quantiles(system, np.ones(1))
    assert found[0.5] == sizes.sizes[0]
    assert abs(found[0.99] - 3.0) < 1e-11
