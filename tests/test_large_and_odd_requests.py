"""Extreme requests: huge clusters, wrong types, impossible limits."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from moldable import (
    MoldableError,
    Scenario,
    SpeedUp,
    Thresholds,
    compare,
    evaluate,
    greedy_p,
    value_policy,
)
from moldable.exact import stationary_law
from moldable.exact.states import count_states

CURVE = SpeedUp([1, 1.8, 2.5, 3, 3.4])
SCENARIO = Scenario.single(CURVE, 0.8, 40)


def test_huge_clusters_are_refused_before_memory_is_taken():
    for servers in (10**8, 10**12):
        with pytest.raises(MoldableError, match="fit in memory"):
            evaluate(Scenario.single(SpeedUp.linear(5), 0.8, servers))
    many = Scenario.single(CURVE, 0.8, 10_000_000)
    with pytest.raises(MoldableError, match="states in 4 dimensions"):
        stationary_law(many, method="chain")


def test_counts_of_huge_clusters_are_volumes():
    widths = np.array([1, 2])
    exact = sum((10**6 + 10 - 2 * x) + 1 for x in range((10**6 + 10) // 2 + 1))
    assert count_states(widths, 10**6 + 10) == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize(("servers", "load"), [(4003, 0.1), (20_003, 0.5), (1_000_003, 0.2)])
def test_a_remainder_at_low_load_blocks_no_job_and_gives_no_warning(servers, load):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer = evaluate(Scenario.single(SpeedUp.linear(5), load, servers))
    assert answer.method == "closed-form"
    assert answer.blocking.value < 1e-200
    assert answer.mean_execution_time.value == pytest.approx(0.2, rel=1e-12)
    assert answer.busy_fraction == pytest.approx(load, rel=1e-9)


def test_a_window_that_would_grow_too_far_is_left_to_simulation():
    # Two ways to be busy, far apart: narrow jobs while few servers are idle, wide ones otherwise.
    scenario = Scenario.single(SpeedUp([1, 3.0]), 1.2, 2000)
    policy = Thresholds({"jobs": {1: 1, 130: 2}})
    answer = evaluate(scenario, policy, precision=0.3, seed=1)
    assert answer.method == "simulate"
    assert "the chain would have" in answer.reason


@pytest.mark.parametrize(
    "request_",
    [
        lambda: evaluate(Scenario(SCENARIO.workload, "40")),
        lambda: evaluate(Scenario(SCENARIO.workload, 40.5)),
        lambda: evaluate(SCENARIO, precision="0.1"),
        lambda: evaluate(SCENARIO, method=None),
        lambda: compare(SCENARIO, [3]),
        lambda: greedy_p(SCENARIO, "0.9"),
        lambda: greedy_p(Scenario(SCENARIO.workload, 0), 0.9),
    ],
)
def test_wrong_types_get_a_message_not_a_traceback(request_):
    with pytest.raises(MoldableError):
        request_()


def test_a_whole_number_of_servers_may_be_written_as_a_float():
    assert evaluate(Scenario(SCENARIO.workload, 40.0)).blocking == evaluate(SCENARIO).blocking


def test_value_policies_can_be_compared_on_the_command_line(run):
    arguments = ("--speedup", "1,1.8,2.5,3,3.4", "--load", "0.8", "--servers", "20")
    result = run("compare", *arguments, "--policies", "greedy,value:4,fixed:2")
    assert result.returncode == 0, result.stderr
    scenario = Scenario.single(CURVE, 0.8, 20)
    own = evaluate(scenario, value_policy(scenario, 4))
    assert f"value:4  {own.blocking}" in result.stdout
