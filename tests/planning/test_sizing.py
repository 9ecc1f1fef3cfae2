"""The smallest cluster: against inverse Erlang formulas, `tune` and dynamic programming."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from moldable import JobClass, Scenario, Workload, evaluate, plan, read_trace, simulate, tune
from moldable.errors import ControlError, NearlySaturatedError, UnstableError
from moldable.files.scenario_file import parse_scenario
from moldable.optimal import least_blocking, optimal_queueing
from moldable.planning import choice as choice_module
from moldable.planning.choice import Choice, Options, choose, decided, only_policy
from moldable.planning.goal import Goal
from moldable.planning.least_figures import fastest_time, least_busy, least_wait
from moldable.planning.sizing import _boundary, _Search, smallest_cluster
from moldable.traces import draft_scenario
from naive.erlang import erlang_b

OPTIONS = Options(0.02, 1, 2, lambda _: None)
EXAMPLE = Path(__file__).parents[2] / "examples" / "slurm-week.txt"
OFFERED = (0.4, 7.3, 90.0, 1500.0, 4000.0)
CURVE = [1, 1.8, 2.5, 3.0]


def narrow(offered, waiting=0, mean_size=1.0, **more):
    jobs = JobClass("jobs", offered / mean_size, [1], mean_size)
    return Scenario(Workload([jobs]), max(1, math.ceil(offered)), waiting=waiting, **more)


def size(scenario, growth=1.0, **limit):
    return smallest_cluster(scenario, Goal.of(scenario, None, **limit), OPTIONS, growth)


def erlang_c(offered, servers):
    """The probability of waiting by the formula that begins with Erlang's B."""
    blocked = erlang_b(offered, servers)
    return servers * blocked / (servers - offered * (1.0 - blocked))


def first(kept, least):
    return next(n for n in range(least, least + 1000) if kept(n))


def inverse_b(offered, limit):
    """The first number of servers at which the recursion of Erlang's B falls to the limit."""
    servers, inverse = 0, 1.0
    while 1.0 / inverse > limit:
        servers += 1
        inverse = 1.0 + inverse * servers / offered
    return servers


@pytest.mark.parametrize("offered", OFFERED)
@pytest.mark.parametrize("limit", [0.5, 0.1, 0.01, 1e-4])
def test_one_width_inverts_erlangs_formula_b(offered, limit):
    found = size(narrow(offered), max_blocking=limit)
    assert found.servers == inverse_b(offered, limit)
    assert found.choice.performance.blocking == pytest.approx(
        erlang_b(offered, found.servers), rel=1e-9
    )
    if found.servers > 1:
        assert found.fewer.performance.blocking > limit


@pytest.mark.parametrize("offered", OFFERED)
@pytest.mark.parametrize("limit", [0.9, 0.2, 0.001])
def test_one_width_inverts_erlangs_formula_c(offered, limit):
    least = math.floor(offered) + 1

    def wait(n):
        return erlang_c(offered, n) / (n - offered)

    scenario = narrow(offered, waiting="unlimited")
    expected = first(lambda n: erlang_c(offered, n) <= limit, least)
    assert size(scenario, max_wait_probability=limit).servers == expected
    assert size(scenario, max_wait=limit).servers == first(lambda n: wait(n) <= limit, least)
    expected = first(lambda n: 1.0 + wait(n) <= 1.0 + limit, least)
    assert size(scenario, max_response=1.0 + limit).servers == expected


def test_growth_multiplies_the_offered_load():
    found = size(narrow(90.0), growth=1.2, max_blocking=0.01)
    assert found.servers == inverse_b(108.0, 0.01)


def test_limits_on_time_have_units():
    scenario = narrow(40.0, waiting="unlimited", mean_size=2.0, time_unit="hours")
    found = size(scenario, max_wait="3 min")
    wait = {n: 2.0 * erlang_c(40.0, n) / (n - 40.0) for n in range(41, 80)}
    assert found.servers == next(n for n in wait if wait[n] <= 0.05)


CASES = [
    (Scenario.single(CURVE, 0.6, 7), 0.05),
    (Scenario.single([1, 1.5, 1.8], 0.9, 9), 0.02),
    (
        Scenario(
            Workload([JobClass("a", 2.0, [1, 1.7]), JobClass("b", 0.5, {2: 1.8, 4: 3.0}, 2.0)]), 8
        ),
        0.1,
    ),
]


@pytest.mark.parametrize(("scenario", "limit"), CASES)
def test_one_server_fewer_breaks_the_limit_under_every_policy(scenario, limit):
    found = size(scenario, max_blocking=limit)
    there = found.choice.performance.scenario
    assert there.servers == found.servers
    assert evaluate(there, found.choice.policy).blocking <= limit
    fewer = found.fewer.performance.scenario
    assert fewer.servers == found.servers - 1
    assert least_blocking(fewer).blocking > limit
    with pytest.raises(ControlError):
        tune(fewer, max_blocking=limit)


def test_with_a_queue_one_server_fewer_breaks_the_limit():
    scenario = Scenario.single([1, 1.8], 0.8, 4, waiting="unlimited")
    found = size(scenario, max_response=0.9)
    there, fewer = (part.performance.scenario for part in (found.choice, found.fewer))
    assert evaluate(there, found.choice.policy).queueing.mean_response_time <= 0.9
    assert optimal_queueing(fewer).mean_response_time > 0.9


@pytest.mark.parametrize(
    ("limit", "rate"),
    [
        ({"max_wait": 0.2}, 1.0),
        pytest.param({"max_wait": 0.2}, 3.0, marks=pytest.mark.long),
        pytest.param({"max_wait_probability": 0.1}, 3.0, marks=pytest.mark.long),
    ],
)
def test_a_size_that_breaks_the_limit_on_waiting_breaks_it_in_a_full_search(limit, rate):
    jobs = [JobClass("a", rate, CURVE), JobClass("b", rate / 5, {1: 1, 2: 1.8, 4: 3.0}, 1.5)]
    scenario = Scenario(Workload(jobs), math.ceil(3.0 * rate), waiting="unlimited")
    found = size(scenario, **limit)
    assert found.choice.kept
    goal = Goal.of(scenario, None, **limit)
    for servers in range(max(1, found.servers - 3), found.servers):
        smaller = replace(scenario, servers=servers)
        for full in (OPTIONS, replace(OPTIONS, seed=2)):
            try:
                assert not choose(smaller, goal, full).kept
            except UnstableError:
                continue


def test_the_boundary_is_checked_on_both_sides_where_sizes_are_not_monotone():
    kept = {5, 9, 11, 12, 13, 15, *range(17, 200)}
    asked = []

    def test(n):
        assert n >= 3
        asked.append(n)
        return n in kept

    for start in (3, 4, 10, 12, 50, 150):
        for ratio in (1.0, 1.3):
            asked.clear()
            found = _boundary(test, start, 3, ratio)
            assert found in kept
            assert found - 1 not in kept
            assert {found, found - 1} <= set(asked)
            assert len(asked) == len(set(asked))


def test_the_smallest_size_of_all_is_found_if_every_size_keeps_the_limit():
    assert _boundary(lambda n: n >= 3, 40, 3, 1.3) == 3


def test_a_response_below_the_fastest_execution_is_refused_with_the_nearest():
    scenario = Scenario.single({3: 2.5}, 0.5, 8, waiting="unlimited")
    assert fastest_time(scenario) == pytest.approx(0.4)
    slots = next(n for n in range(2, 30) if 0.4 * erlang_c(1.6, n) / (n - 1.6) <= 0.02)
    message = (
        rf"any number of servers: .* already 0\.4; .* 0\.42, for which about {3 * slots} servers"
    )
    with pytest.raises(ControlError, match=message):
        plan(scenario, max_response=0.3, seed=1)


@pytest.mark.parametrize("waiting", [0, pytest.param("unlimited", marks=pytest.mark.long)])
def test_a_limit_that_no_simulation_can_confirm_is_refused_with_one_that_it_can(waiting):
    jobs = JobClass("jobs", 0.5, [1, 1.8], size="lognormal:1")
    scenario = Scenario(Workload([jobs]), 2, waiting=waiting)
    name = "max_wait_probability" if waiting else "max_blocking"
    with pytest.raises(ControlError, match=r"is too small to be checked by simulation") as caught:
        size(scenario, **{name: 1e-12})
    shown = float(re.search(r"below (\S+) \(95 %", str(caught.value)).group(1))
    assert size(scenario, **{name: 1.1 * shown}).choice.kept


def nearly_saturated(**more):
    """9.99 of 10 servers are busy; no simulation of a plan shows how long jobs wait."""
    jobs = JobClass("jobs", 9.99, [1], size="lognormal:1.5")
    return Scenario(Workload([jobs]), 10, waiting="unlimited", **more)


def test_a_nearly_saturated_size_does_not_keep_a_limit_below_the_least_wait():
    found = size(nearly_saturated(), max_wait=20.0)
    # Of M/G/1 with a server that is ten times as fast, less what the running jobs have left.
    least = 0.5 * (1.0 + 1.5**2) * (1.0 / (10.0 - 9.99) - 1.0)
    assert (found.servers, found.fewer, found.problem) == (11, None, f"at least {least:.4g}")
    assert found.to_dict()["one_fewer_problem"] == found.problem


def test_a_nearly_saturated_size_without_a_known_bound_is_undecided():
    found = size(nearly_saturated(arrivals="renewal:2"), max_wait=20.0)
    assert (found.servers, found.fewer, found.problem) == (11, None, "undecided")


def test_a_plan_for_a_nearly_saturated_cluster_is_refused_with_the_servers_it_needs():
    with pytest.raises(NearlySaturatedError, match=r"the smallest cluster .* has 11: plan with"):
        plan(nearly_saturated(), max_wait=20.0, seed=1)
    with pytest.raises(NearlySaturatedError, match=r"nearly saturated: .* plan with more than 10"):
        plan(nearly_saturated(), seed=1)


@pytest.mark.long
def test_a_scenario_from_a_log_is_sized_although_a_tried_size_is_nearly_saturated():
    text = draft_scenario(read_trace(EXAMPLE), servers=64, curve="amdahl:0.97")
    scenario = parse_scenario(text, Path("week.toml"))
    tight = replace(scenario, servers=math.ceil(least_busy(scenario)))
    goal = Goal.of(scenario, None, max_wait="2 h")
    rough = replace(OPTIONS, precision=0.3, thorough=False)
    with pytest.raises(NearlySaturatedError, match=r"nearly saturated.* warm-up of 4.9e\+08"):
        choose(tight, goal, rough)
    search = _Search(scenario, goal, rough)
    assert search.chosen(tight.servers) is None
    assert search.problems == {tight.servers: f"at least {least_wait(tight):.4g} h"}
    assert tight.servers + 1 < search.estimate() < 64


def test_a_doubtful_size_is_simulated_longer_but_not_without_end(monkeypatch):
    monkeypatch.setattr(choice_module, "MOST_FINE_JOBS", 2_000_000)
    scenario = Scenario.single([1], 0.8, 9, size="weibull:0.407", waiting="unlimited")
    policy, seen = only_policy(scenario), []
    short = simulate(scenario, policy, jobs=2_000, replications=8, seed=1)
    wait = short.queueing.mean_wait
    goal = Goal.of(scenario, None, max_wait=0.5 * (wait.value + wait.interval[1]))
    doubtful = Choice(policy, "", short, kept=False)
    for seed in (1, 2):
        answer = decided(doubtful, goal, replace(OPTIONS, seed=seed)).performance
        assert 1_000_000 <= answer.detail.arrivals <= 2_000_000
        seen.append(answer.queueing.mean_wait)
    apart = abs(seen[0] - seen[1]) / math.hypot(*(one.half_width / 1.96 for one in seen))
    assert apart < 4.0
    assert seen[0].half_width < 0.3 * wait.half_width


def test_more_servers_than_are_tried_is_refused():
    with pytest.raises(ControlError, match="200,000 servers"):
        size(narrow(1e7), max_blocking=0.01)
