"""The best policies within a limit on blocking or time, against HiGHS and those at costs."""

from __future__ import annotations

import json
import math

import pytest

from moldable import MoldableError, Scenario, SpeedUp, evaluate
from moldable.optimal.constrained import least_blocking, least_blocking_within, least_time
from moldable.optimal.control import optimal_control
from moldable.optimal.curve import tradeoff
from moldable.policies import FixedWidth
from naive.erlang import erlang_b
from naive.optimal_control import NaiveControl
from tuning.systems import SUBLINEAR, SYSTEMS


@pytest.mark.parametrize("system", ["sub-linear", "super-linear", "dips", "two classes"])
def test_the_least_blocking_is_that_of_the_linear_programme(system):
    workload, servers = SYSTEMS[system]
    found = least_blocking(Scenario(workload, servers))
    expected = NaiveControl(workload, servers).least_cost(math.inf, only_blocking=True)
    assert found.blocking == pytest.approx(expected, rel=1e-6)
    assert found.cost == found.blocking
    assert found.to_dict()["blocking_cost"] is None


def test_one_server_each_is_not_always_the_least_blocking():
    workload, servers = SYSTEMS["super-linear"]
    narrow = evaluate(Scenario(workload, servers), FixedWidth(1), method="chain").blocking.value
    assert least_blocking(Scenario(workload, servers)).blocking < 0.9 * narrow


@pytest.mark.parametrize("share", [0.02, 0.3, 0.8])
@pytest.mark.parametrize("system", ["sub-linear", "gaps", "two classes"])
def test_least_time_is_between_its_bound_and_every_policy_at_a_cost(system, share):
    workload, servers = SYSTEMS[system]
    curve = tradeoff(Scenario(workload, servers), (0.7, 1.0, 2.0, 4.0, 32.0))
    low, high = curve.controls[-1].blocking, curve.controls[0].blocking
    allowed = low + share * (high - low)
    found = least_time(Scenario(workload, servers), allowed)
    assert found.blocking == pytest.approx(allowed, rel=1e-12)
    assert found.gap <= 1e-6
    assert found.lower_bound <= found.mean_execution_time <= curve.mean_time_at(allowed) + 1e-9
    assert sum(found.shares) == pytest.approx(1.0)
    # The blocking cost is a multiplier: no mixture costs less than the best policy at it.
    charge = found.blocking_cost * found.policies[0].problem.mean_size
    cost = found.mean_execution_time * (1 - found.blocking) + charge * found.blocking
    best = optimal_control(Scenario(workload, servers), found.blocking_cost)
    assert cost == pytest.approx(best.cost, rel=2e-6)
    json.dumps(found.to_dict())


def test_least_time_follows_one_policy_where_the_limit_does_not_bind():
    scenario = Scenario.single(SUBLINEAR, 0.5, 10)
    found = least_time(scenario, 0.9)
    assert found.shares == (1.0,)
    assert found.blocking < 0.9
    # Nothing is faster than the widest width for every job that is not blocked.
    assert found.mean_execution_time == pytest.approx(1 / 3.4, rel=1e-6)
    assert "shares=(1.0,)" in repr(found)


@pytest.mark.parametrize("share", [0.02, 0.3, 0.8])
@pytest.mark.parametrize("system", ["sub-linear", "gaps", "super-linear", "two classes"])
def test_the_least_blocking_within_a_time_is_that_of_the_linear_programme(system, share):
    workload, servers = SYSTEMS[system]
    safe = least_blocking(Scenario(workload, servers))
    fast = least_time(Scenario(workload, servers), 0.999)
    slowest = safe.mean_execution_time
    max_time = fast.mean_execution_time * (1 - share) + slowest * share
    found = least_blocking_within(Scenario(workload, servers), max_time)
    naive = NaiveControl(workload, servers)
    expected = naive.least_cost(math.inf, only_blocking=True, max_time=max_time)
    assert found.blocking == pytest.approx(expected, rel=1e-5)
    assert found.lower_bound <= expected * (1 + 1e-7)
    assert found.mean_execution_time == pytest.approx(max_time, rel=1e-9)
    assert found.gap <= 1e-6


def test_time_beyond_what_the_least_blocking_takes_is_left_over():
    workload, servers = SYSTEMS["sub-linear"]
    safe = least_blocking(Scenario(workload, servers))
    found = least_blocking_within(Scenario(workload, servers), 2 * safe.mean_execution_time)
    assert found.blocking == pytest.approx(safe.blocking, rel=1e-6)
    assert found.mean_execution_time < 2 * safe.mean_execution_time


def test_a_time_that_no_policy_keeps_names_the_least():
    with pytest.raises(MoldableError, match=r"0\.1 cannot be reached .* is 0\.294118; allow"):
        least_blocking_within(Scenario.single(SUBLINEAR, 0.5, 10), 0.1)


def test_unreachable_blocking_names_the_least():
    scenario = Scenario.single(SUBLINEAR, 0.8, 10)
    least = least_blocking(scenario).blocking
    with pytest.raises(MoldableError, match=rf"0\.001 cannot be reached .* {least:.4g}"):
        least_time(scenario, 0.001)


def test_an_invalid_limit_is_refused():
    with pytest.raises(MoldableError, match="max_blocking=1 must lie between 0 and 1"):
        least_time(Scenario.single(SUBLINEAR, 0.8, 10), 1)


@pytest.mark.parametrize("allowed", [0.3, 0.5])
@pytest.mark.parametrize("tolerance", [1e-4, 1e-6])
def test_nothing_more_is_blocked_where_that_saves_no_time(allowed, tolerance):
    """All widths are as fast, so every policy has the same time and the narrowest blocks least."""
    scenario = Scenario.single(SpeedUp([1, 1, 1]), 0.8, 12)
    found = least_time(scenario, allowed, tolerance=tolerance)
    assert found.mean_execution_time == pytest.approx(1.0)
    assert found.blocking == pytest.approx(erlang_b(9.6, 12), rel=1e-9)
