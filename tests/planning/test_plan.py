"""What a plan says, against independent evaluations."""

from __future__ import annotations

import dataclasses
import io
import json
import math
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from scipy.optimize import brentq

from moldable import JobClass, Observation, Scenario, Workload, evaluate, plan, reserve, simulate
from moldable.errors import ControlError, InputError, MoldableError, UnstableError, WorkloadError
from moldable.files.policy_file import as_policy
from moldable.planning.actions import actions
from moldable.planning.alternatives import alternatives
from moldable.planning.choice import Options, choose
from moldable.planning.goal import Goal
from moldable.planning.sensitivity import _or_problem
from moldable.policies.even_price import EvenPrice
from moldable.reporting.html.plan_words import _needed
from moldable.reporting.plan_text import one_more_server, show_plan
from moldable.results import Plan
from naive.erlang import erlang_b

CURVE = [1, 1.8, 2.5]
TWO = Workload([JobClass("a", 2.0, CURVE), JobClass("b", 0.4, {2: 1.8, 4: 3.0}, 2.0)])


@pytest.fixture(scope="module")
def losses() -> Plan:
    return plan(Scenario(TWO, 8), max_blocking=0.15, growth=1.3, seed=1)


@pytest.fixture(scope="module")
def queue() -> Plan:
    return plan(Scenario.single(CURVE, 0.87, 6, waiting="unlimited"), seed=1)


def test_the_prediction_is_that_of_an_independent_evaluation(losses):
    answer = evaluate(losses.scenario, losses.policy)
    assert losses.performance.blocking == pytest.approx(answer.blocking, rel=1e-9)
    assert losses.throughput == pytest.approx(2.4 * (1.0 - answer.blocking), rel=1e-9)
    assert losses.choice.kept
    assert losses.performance.blocking <= 0.15


@pytest.mark.parametrize("waiting", [0, 5, "unlimited"])
def test_simulated_predictions_agree_with_another_simulation(waiting):
    jobs = JobClass("jobs", 6.0, [1, 1.8], 1.0, size="lognormal:1.5")
    scenario = Scenario(Workload([jobs]), 9, waiting=waiting)
    options = Options(0.02, 1, 2, lambda _: None, thorough=False)
    found = choose(scenario, Goal.of(scenario, None), options)
    other = simulate(scenario, found.policy, jobs=100_000, replications=32, seed=2)
    pairs = [(found.performance.mean_execution_time, other.mean_execution_time)]
    if waiting != "unlimited":
        pairs.append((found.performance.blocking, other.blocking))
    if waiting:
        ours, theirs = found.performance.queueing, other.queueing
        pairs.append((ours.mean_response_time, theirs.mean_response_time))
    for one, two in pairs:
        error = math.hypot(one.half_width, two.half_width) / 1.96
        assert 0.0 < error < 0.02 * two
        assert abs(one - two) < 4.0 * error


def test_other_policies_have_the_figures_of_evaluate(losses):
    found = {other.key: other.performance for other in losses.alternatives}
    assert set(found) == {"greedy", "fixed", "pooled", "reserved"}
    own = Scenario(dataclasses.replace(TWO, sharing="reserved"), 8)
    cases = {
        "greedy": evaluate(losses.scenario, "greedy"),
        "pooled": evaluate(losses.scenario),
        "reserved": evaluate(own),
    }
    for key, answer in cases.items():
        assert found[key].blocking == pytest.approx(answer.blocking, rel=1e-9), key


def test_the_best_fixed_width_is_the_best_of_all(queue):
    fixed = next(other for other in queue.alternatives if other.key == "fixed")
    response = {}
    for width in (1, 2, 3):
        try:
            answer = evaluate(queue.scenario, f"fixed:{width}")
        except UnstableError:
            continue
        response[width] = answer.queueing.mean_response_time.value
    best = min(response, key=response.get)
    assert fixed.name == f"fixed width {best}"
    assert fixed.performance.queueing.mean_response_time == pytest.approx(response[best], rel=1e-9)


def test_a_policy_whose_queue_grows_has_a_reason_instead_of_a_number(queue):
    greedy = next(other for other in queue.alternatives if other.key == "greedy")
    assert greedy.performance is None
    assert "the queue grows without limit" in greedy.problem
    with pytest.raises(UnstableError):
        evaluate(queue.scenario, "greedy")


def test_the_recommended_policy_is_near_the_optimum_and_better_than_others(queue):
    response = queue.performance.queueing.mean_response_time
    assert queue.optimum.mean_response_time <= response * (1 + 1e-4)
    assert response < 1.03 * queue.optimum.mean_response_time
    for other in queue.alternatives:
        if other.performance is not None:
            assert response < other.performance.queueing.mean_response_time


def test_one_more_server_shortens_the_response_by_the_difference_of_predictions(queue):
    change = queue.server_value.mean_response_time
    assert change < 0
    larger = dataclasses.replace(queue.scenario, servers=7)
    kept = evaluate(larger, queue.policy).queueing.mean_response_time
    now = evaluate(queue.scenario, queue.policy).queueing.mean_response_time
    assert change <= kept - now + 1e-9
    price = reserve(queue.scenario).time_saved_by_one_server
    assert queue.server_value.time_saved_on_large_clusters == pytest.approx(price)


def test_a_server_that_no_policy_can_use_changes_nothing():
    found = plan(Scenario.single({2: 1.9, 4: 3.5}, 0.5, 12), max_blocking=0.1, seed=1)
    value = found.server_value.to_dict()
    assert value["blocking"] == value["mean_execution_time"] == value["throughput"] == 0.0
    assert "-0.0" not in str(value)
    assert one_more_server(found).startswith("One more server does not improve these figures")
    used = plan(Scenario.single({2: 1.9, 4: 3.5}, 0.5, 11), max_blocking=0.2, seed=1)
    assert used.server_value.blocking < 0.0 or used.server_value.mean_execution_time < 0.0
    assert one_more_server(used).startswith("One more server, with a policy for it")


def test_the_cases_are_those_of_evaluate(losses):
    cases = {case.name: case for case in losses.sensitivity.cases}
    for factor in (0.8, 1.2):
        other = losses.scenario.at_load(factor * losses.scenario.load)
        answer = evaluate(other, losses.policy)
        case = cases[f"load {100 * factor:.0f} %"]
        assert case.performance.blocking == pytest.approx(answer.blocking, rel=1e-9)
        assert case.kept == (answer.blocking <= 0.15)
        assert case.retuned is not None
    worse = [
        dataclasses.replace(
            part,
            speedup={
                int(w): 1 + 0.95 * (s - 1)
                for w, s in zip(part.speedup.widths, part.speedup.speedups, strict=True)
            },
        )
        for part in TWO.classes
    ]
    answer = evaluate(Scenario(Workload(worse), 8), losses.policy)
    case = cases["speed-up gains -5 %"]
    assert case.performance.blocking == pytest.approx(answer.blocking, rel=1e-9)
    assert {"deterministic sizes", "lognormal:2 sizes", "interarrival CV 3"} <= set(cases)


def test_the_largest_load_is_the_root_of_erlangs_formula():
    found = plan(Scenario(Workload([JobClass("jobs", 8.0, [1])]), 14), max_blocking=0.05, seed=1)
    root = brentq(lambda factor: erlang_b(8.0 * factor, 14) - 0.05, 1.0, 2.0)
    assert found.sensitivity.policy_holds_to == pytest.approx(root, rel=0.012)
    assert found.sensitivity.policy_holds_to <= root
    assert found.sensitivity.cluster_holds_to == found.sensitivity.policy_holds_to


def test_the_decisions_are_those_of_the_policy(queue):
    for part in actions(queue.scenario, queue.policy):
        covered = [n for row in part.rows for n in range(row.least, row.most + 1)]
        assert covered == list(range(1, 7))
        for row in part.rows:
            for idle in range(row.least, row.most + 1):
                for waiting, shares in row.shares.items():
                    granted = queue.policy.grant(part.job_class, Observation(idle, waiting))
                    if shares is None:
                        assert idle > 3
                    else:
                        assert shares == ({granted: 1.0} if granted else {})


def test_series_have_every_policy_at_every_point(losses, queue):
    for found in (losses, queue):
        for series in (found.by_servers, found.by_load):
            assert all(len(row) == len(series.points) for row in series.policies.values())
            assert list(series.points) == sorted(series.points)
    at = losses.by_load.points.index(losses.scenario.load)
    answer = losses.by_load.policies["recommended"][at]
    assert answer.blocking == pytest.approx(losses.performance.blocking, rel=1e-9)
    servers = [answer.scenario.servers for answer in losses.by_servers.policies["greedy"]]
    assert servers == list(losses.by_servers.points)
    blocking = [answer.blocking.value for answer in losses.by_servers.policies["greedy"]]
    assert np.all(np.diff(blocking) < 0)


def test_a_plan_is_repeated_by_its_seed():
    scenario = Scenario.single([1], 0.7, 3, size="lognormal:2")
    first, second = (plan(scenario, precision=0.1, seed=7).to_dict() for _ in range(2))
    assert first["sensitivity"]["cases"][-1]["performance"]["blocking"] > 0.1
    assert json.dumps(first) == json.dumps(second)


def test_reserved_classes_are_pooled_and_a_note_says_so():
    found = plan(Scenario(dataclasses.replace(TWO, sharing="reserved"), 8), seed=1)
    assert found.scenario.workload.sharing == "pool"
    assert any("share one pool" in note for note in found.notes)


UNLIMITED = Scenario.single(CURVE, 0.8, 6, waiting="unlimited")
LOSSES = Scenario.single(CURVE, 0.8, 6)


@pytest.mark.parametrize(
    ("scenario", "options", "error", "message"),
    [
        (LOSSES, {"max_blocking": 0.1, "max_wait": 1}, ControlError, "at most one target"),
        (LOSSES, {"max_wait": 1}, ControlError, "max_wait=1 does not apply with 0 waiting places"),
        (UNLIMITED, {"max_blocking": 0.1}, ControlError, "no job is blocked"),
        (UNLIMITED, {"blocking_cost": 4}, ControlError, "no job is blocked"),
        (LOSSES, {"max_blocking": 0.1, "blocking_cost": 4}, ControlError, "two targets"),
        (LOSSES, {"max_blocking": 1.5}, ControlError, "above 0 and below 1"),
        (LOSSES, {"max_blocking": 0.0}, ControlError, "above 0 and below 1"),
        (UNLIMITED, {"max_wait": "10min"}, ControlError, "the scenario has none"),
        (UNLIMITED, {"max_wait": -1}, ControlError, "above 0"),
        (LOSSES, {"max_blocking": 0.1, "growth": 0}, ControlError, "growth=0 must be"),
        (LOSSES, {"max_blocking": 0.1, "growth": -1.2}, ControlError, "growth=-1.2 must be"),
        (LOSSES, {"max_blocking": 0.1, "growth": 1e9}, ControlError, "at most 1000"),
        (LOSSES, {"growth": 1.2}, ControlError, "no effect without a limit"),
        (LOSSES, {"precision": 2}, MoldableError, "precision"),
        (LOSSES, {"burstiness": -1}, ControlError, "burstiness"),
    ],
)
def test_bad_requests_are_refused(scenario, options, error, message):
    with pytest.raises(error, match=message):
        plan(scenario, seed=1, **options)


def test_files_other_than_scenarios_are_read_as_logs():
    log = Path(__file__).resolve().parents[2] / "examples" / "slurm-week.txt"
    with pytest.raises(ControlError, match="no job is blocked"):  # drafts have a queue
        plan(log, max_blocking=0.1)
    with pytest.raises(InputError, match="sacct"):
        plan(str(log.parents[1] / "README.md"), max_blocking=0.1)


def test_a_list_of_arrival_times_is_refused(tmp_path):
    times = tmp_path / "times.csv"
    times.write_text("0\n1\n2\n")
    with pytest.raises(WorkloadError, match="its own rate"):
        plan(Scenario.single(CURVE, 0.8, 6, arrivals=str(times)))


def test_an_overloaded_cluster_is_refused_with_the_servers_it_needs():
    scenario = Scenario(Workload([JobClass("jobs", 9.5, [1])]), 8, waiting="unlimited")
    with pytest.raises(UnstableError, match="plan with more than 9"):
        plan(scenario, seed=1)
    least = next(n for n in range(10, 30) if _wait(9.5, n) <= 0.1)
    with pytest.raises(UnstableError, match=f"smallest cluster that meets the target has {least}:"):
        plan(scenario, max_wait=0.1, seed=1)


@pytest.mark.parametrize(
    ("problem", "in_table", "in_page"),
    [
        ("undecided", "servers are nearly saturated: simulations of a plan", "too short to show"),
        ("overloaded", "overloaded", "one fewer cannot carry the load"),
        ("at least 3", "at least 3", "one fewer gives at least 3"),
    ],
)
def test_why_one_server_fewer_has_no_figures_is_said(losses, problem, in_table, in_page):
    sizes = tuple(
        dataclasses.replace(size, fewer=None, problem=problem, choice=losses.choice)
        for size in losses.sizes
    )
    answer = dataclasses.replace(losses, sizes=sizes)
    console = Console(width=120, record=True, file=io.StringIO())
    show_plan(console, answer)
    assert in_table in " ".join(console.export_text().split())
    assert in_page in _needed(answer)


def test_a_prediction_near_saturation_is_refused_not_simulated_for_minutes():
    jobs = JobClass("jobs", 9.99, [1], size="lognormal:1.5")
    options = Options(0.02, 1, 2, lambda _: None)
    for servers, problem in ((9, "queue grows"), (10, "nearly saturated"), (12, "")):
        scenario = Scenario(Workload([jobs]), servers, waiting="unlimited")
        found = options.predict(scenario, as_policy("fixed:1", scenario), precise=5.0)
        assert _or_problem(found)[1] == problem


def _wait(offered, servers):
    blocked = erlang_b(offered, servers)
    waits = servers * blocked / (servers - offered * (1.0 - blocked))
    return waits / (servers - offered)


def test_a_goal_counts_the_cost_of_blocked_jobs():
    goal = Goal.of(LOSSES, 4.0)
    answer = evaluate(LOSSES, "fixed:1")
    lost = erlang_b(4.8, 6)
    assert goal.figure(answer) == pytest.approx((1 - lost) * 1.0 + 4.0 * lost)


def possible_idles(scenario, policy):
    """Follow all sequences of arrivals and departures, and return the numbers of idle servers."""
    tables = [
        (part.speedup.widths, policy.tabulate_class(part, scenario.servers))
        for part in scenario.workload.classes
    ]
    seen, open_states = {()}, [()]
    while open_states:
        running = open_states.pop()
        idle = scenario.servers - sum(running)
        following = [(*running[:k], *running[k + 1 :]) for k in range(len(running))]
        for widths, table in tables:
            granted = widths[: table.shape[1]][table[min(idle, len(table) - 1)] > 1e-6]
            following += [tuple(sorted((*running, int(width)))) for width in granted]
        for state in set(following) - seen:
            seen.add(state)
            open_states.append(state)
    return {scenario.servers - sum(running) for running in seen}


@pytest.mark.parametrize("curve", [{1: 1, 2: 1.9, 4: 3.5}, {2: 1.9, 4: 3.5}, {3: 2.0, 5: 3.0}])
@pytest.mark.parametrize("policy", ["greedy", "value:8"])
def test_only_idle_counts_that_occur_are_tabulated(curve, policy):
    scenario = Scenario.single(curve, 0.5, 11)
    rule = as_policy(policy, scenario)
    (found,) = actions(scenario, rule)
    tabulated = set()
    for row in found.rows:
        tabulated |= {row.least, row.most}
    occurring = possible_idles(scenario, rule)
    if 3 not in curve:  # sums of 3 and 5 that the policy does not reach are tabulated, too
        assert tabulated <= occurring
        assert min(occurring - {0}) == found.rows[0].least
    table, widths = rule.tabulate_class(scenario.workload.classes[0], 11), list(curve)
    for idle in occurring - {0}:
        (row,) = (one for one in found.rows if one.least <= idle <= one.most)
        shares = table[min(idle, len(table) - 1)]
        listed = {w: float(s) for w, s in zip(widths, shares, strict=False) if s > 1e-6}
        assert row.shares[0] == pytest.approx(listed)


def test_a_queue_with_even_widths_has_no_odd_idle_counts():
    scenario = Scenario.single({2: 1.8, 4: 3.0}, 0.5, 10, waiting="unlimited")
    (found,) = actions(scenario, EvenPrice(1.0, 4.0))
    assert {end % 2 for row in found.rows for end in (row.least, row.most)} == {0}
    assert {row.least for row in found.rows} >= {2}


def test_gains_are_relative_differences_of_the_predictions(losses):
    ours = losses.performance
    for other in losses.alternatives:
        theirs = other.performance
        assert other.gains["blocking"] == pytest.approx(
            ours.blocking / theirs.blocking - 1, rel=1e-6
        )
        change = ours.mean_execution_time / theirs.mean_execution_time - 1
        assert other.gains["mean_execution_time"] == pytest.approx(change, rel=1e-6)


def test_simulated_gains_have_shorter_intervals_than_independent_figures():
    jobs = JobClass("jobs", 6.0, [1, 1.8], 1.0, size="lognormal:1.5")
    scenario = Scenario(Workload([jobs]), 9, waiting="unlimited")
    predict = Options(0.05, 1, 2, lambda _: None).predict
    goal = Goal.of(scenario, None)
    found = alternatives(scenario, goal, EvenPrice(0.5, 5.0), predict, reserved=False)
    (greedy,) = (one for one in found if one.key == "fixed")
    gain, theirs = (
        greedy.gains["mean_response_time"],
        greedy.performance.queueing.mean_response_time,
    )
    ours = simulate(scenario, EvenPrice(0.5, 5.0), jobs=100_000, replications=32, seed=2)
    other = simulate(scenario, greedy.policy, jobs=100_000, replications=32, seed=3)
    known = ours.queueing.mean_response_time / other.queueing.mean_response_time - 1
    assert 0.0 < gain.half_width < theirs.half_width / theirs
    assert abs(gain - known) < 4.0 * gain.half_width / 1.96
    assert set(greedy.gains) == {"mean_response_time", "mean_wait"}
