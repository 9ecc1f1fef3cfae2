"""Blocking found by splitting agrees with exact chains, however rare it is."""

from __future__ import annotations

import math

import numpy as np
import pytest

from moldable import Greedy, JobClass, Scenario, SpeedUp, Thresholds, Workload, evaluate
from moldable.simulation.splitting import rare_blocking, rare_blocking_interval
from moldable.sizes import Deterministic, MixedErlang

CURVE = SpeedUp([1, 1.8, 2.5])
ONE_CLASS = Workload((JobClass("jobs", 14.0, CURVE),))
TWO_PHASES = Workload((JobClass("jobs", 12.0, CURVE, size=MixedErlang([0.4, 0.6])),))
TWO_CLASSES = Workload(
    (
        JobClass("a", 12.0, SpeedUp([1, 1.8])),
        JobClass("b", 8.0, SpeedUp([1, 1.9]), mean_size=0.5),
    )
)
ONE_WIDTH = Workload((JobClass("jobs", 10.0, SpeedUp([1.0])),))


def table(workload):
    rows = {1: 1, 4: 2, 9: 3}
    return Thresholds(
        {c.name: {z: w for z, w in rows.items() if w <= len(c.speedup)} for c in workload.classes}
    )


def exact(workload, servers, policy):
    return evaluate(Scenario(workload, servers), policy, method="chain").blocking.value


@pytest.mark.parametrize(
    ("workload", "servers", "policy"),
    [
        (ONE_CLASS, 40, table(ONE_CLASS)),
        pytest.param(ONE_CLASS, 40, Greedy(), marks=pytest.mark.long),
        pytest.param(TWO_PHASES, 40, table(TWO_PHASES), marks=pytest.mark.long),
        (TWO_CLASSES, 40, table(TWO_CLASSES)),
        (ONE_WIDTH, 40, Greedy()),  # Erlang's formula: 7.3e-13
    ],
)
def test_splitting_agrees_with_the_exact_chain(workload, servers, policy):
    found = np.array(
        [rare_blocking(Scenario(workload, servers), policy, seed=k) for k in range(16)]
    )
    error = found.std(ddof=1) / math.sqrt(found.size)
    known = exact(workload, servers, policy)
    assert abs(found.mean() - known) < 4 * error
    assert abs(1.3 * found.mean() - known) > 4 * error  # a third more would be noticed


def test_an_interval_holds_what_is_exact():
    found = rare_blocking_interval(Scenario(ONE_CLASS, 60), table(ONE_CLASS), seed=1)
    low, high = found.interval
    assert low < exact(ONE_CLASS, 60, table(ONE_CLASS)) < high
    assert high - low < 0.3 * found.value


def test_threads_do_not_change_the_numbers():
    found = {
        rare_blocking(Scenario(ONE_CLASS, 40), table(ONE_CLASS), seed=3, threads=k)
        for k in (1, 2, 5)
    }
    assert len(found) == 1
    assert rare_blocking(Scenario(ONE_CLASS, 40), table(ONE_CLASS), seed=4) not in found


def test_splitting_needs_sizes_with_phases():
    workload = Workload((JobClass("jobs", 14.0, CURVE, size=Deterministic()),))
    assert rare_blocking(Scenario(workload, 40), table(ONE_CLASS), seed=1) is None
    assert rare_blocking_interval(Scenario(workload, 40), table(ONE_CLASS), seed=1) is None
