"""Many policies at once: each lane follows its own table, and all meet the same chance."""

from __future__ import annotations

import numpy as np
import pytest

from moldable import (
    Deterministic,
    Greedy,
    JobClass,
    Scenario,
    SpeedUp,
    Workload,
    evaluate,
    greedy_p,
)
from moldable.errors import SimulationError
from moldable.simulation import candidates
from moldable.simulation.candidates import try_policies
from moldable.system.loss_system import build_system

CURVE = SpeedUp([1, 1.8, 2.5, 3, 3.4])
SCENARIO = Scenario.single(CURVE, 0.8, 40)
# Different widths, different tables, more of them than lanes in a set.
POLICIES = [greedy_p(SCENARIO, load) for load in np.linspace(0.5, 0.95, 36)] + [Greedy()]
SIZE = {"jobs": 40_000, "replications": 16, "seed": 3}


def test_every_policy_meets_its_exact_answer_and_a_wrong_one_would_be_seen():
    trials = try_policies(SCENARIO, POLICIES, **SIZE)
    for i in (0, 9, 18, 27, 36):
        exact = evaluate(SCENARIO, POLICIES[i]).blocking.value
        seen = trials.blocking(i)
        error = seen.half_width / 2.13  # Student's 95 % with 15 degrees of freedom
        assert abs(seen.value - exact) < 4 * error
        assert abs(seen.value - 1.1 * exact) > 4 * error
    assert trials.blockings[36] == pytest.approx(trials.blocking(36).value)


def test_what_stands_beside_a_policy_does_not_change_its_numbers():
    together = try_policies(SCENARIO, POLICIES[:3], **SIZE)
    again = try_policies(SCENARIO, [*POLICIES[:3], *POLICIES[:3]], threads=1, **SIZE)
    assert np.array_equal(together.blocked, again.blocked[:3])
    assert np.array_equal(again.blocked[:3], again.blocked[3:])


def test_neighbours_share_their_luck():
    trials = try_policies(SCENARIO, [POLICIES[20], POLICIES[21]], **SIZE)
    one, other = (part / all_ for part, all_ in zip(trials.blocked, trials.arrived, strict=True))
    assert np.corrcoef(one, other)[0, 1] > 0.7


def test_sizes_without_phases_are_tried_in_the_ring():
    fixed = Workload((JobClass("jobs", 32.0, SpeedUp.linear(4), size=Deterministic()),))
    trials = try_policies(Scenario(fixed, 40), [Greedy()], jobs=20_000, replications=8, seed=1)
    exact = evaluate(Scenario(fixed, 40), Greedy()).blocking.value
    seen = trials.blocking(0)
    assert abs(seen.value - exact) < 4 * seen.half_width / 2.36


def test_classes_with_servers_of_their_own_are_refused():
    reserved = Workload((JobClass("a", 4.0, CURVE), JobClass("b", 4.0, CURVE)), "reserved")
    with pytest.raises(SimulationError, match="own servers"):
        try_policies(Scenario(reserved, 40), [Greedy()], **SIZE)


def test_light_loads_are_run_job_by_job(monkeypatch):
    """Nearly all ticks of a uniform clock would be no arrivals: a run would not end."""
    monkeypatch.setattr(candidates, "_run_set", None)
    light = Scenario.single(CURVE, 0.01, 8)
    trials = try_policies(light, [Greedy()], jobs=2_000, replications=2, seed=1)
    assert trials.mean_times[0] == pytest.approx(1 / 3.4, rel=0.01)


@pytest.mark.parametrize(("load", "lanes"), [(0.8, True), (0.01, False)])
def test_lanes_are_for_loads_that_keep_the_clock_busy(load, lanes):
    system = build_system(Scenario.single(CURVE, load, 8), Greedy())
    assert candidates.in_lock_step(system) is lanes
