"""Answers, compared with other routes to the same numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from explorer.questions import JOBS, LOSS, PLACES, QUEUE, gpus
from moldable import evaluate, tune
from moldable.explorer import load_curves as curves_module
from moldable.explorer.answers import frontier, load_curves, performance, policies, trade_off
from moldable.explorer.evaluating import evaluated
from moldable.explorer.load_curves import loads
from moldable.explorer.measures import Value
from moldable.explorer.question import ClassInput, Question
from moldable.explorer.tuned_policy import tuned_policy
from moldable.files.policy_file import policy_data
from moldable.optimal import optimal_control, optimal_queueing

STANDARD_ERRORS = 4.0
Z = 1.96
BIG = Question((JOBS,), servers=64, load=0.8)


def _programme(question: Question) -> tuple[float, float]:
    """Return the least mean execution time and the price of a server by another solver."""
    scenario = question.scenario()
    rate = scenario.workload.arrival_rate
    cost, use, rows = [], [], []
    for j, part in enumerate(scenario.workload.classes):
        for width, speedup in zip(part.speedup.widths, part.speedup.speedups, strict=True):
            cost.append(part.arrival_rate / rate * part.mean_size / speedup)
            use.append(part.offered * width / speedup)
            rows.append(j)
    shares = np.equal.outer(range(len(scenario.workload.classes)), rows).astype(float)
    found = linprog(cost, [use], [scenario.servers], shares, np.ones(len(shares)))
    assert found.success
    return found.fun, -found.ineqlin.marginals[0]


@pytest.mark.parametrize("question", [LOSS, gpus(), replace(gpus(), load=0.95)])
def test_the_frontier_solves_the_linear_programme(question):
    answer = frontier(question)
    time, price = _programme(question)
    assert answer.mean_execution_time.value == pytest.approx(time, rel=1e-9)
    per_job = price * question.scenario().workload.arrival_rate
    # Per unit of server-time: of one class in mean sizes, of several in the time of all jobs.
    assert answer.shadow_price.value == pytest.approx(per_job, rel=1e-9)
    for part in answer.classes:
        assert sum(part.shares) == pytest.approx(1.0)
    assert math.fsum(part.servers for part in answer.classes) <= question.servers * (1 + 1e-12)


def test_a_load_that_is_too_high_still_shows_the_curve():
    answer = frontier(replace(LOSS, load=1.3))
    assert (answer.mean_execution_time, answer.classes[0].support) == (None, ())
    assert "too high" in answer.problem
    assert answer.largest_load == pytest.approx(1.0)
    assert frontier(replace(LOSS, load=1.0)).problem == ""


def _erlang_b(offered: float, servers: int) -> float:
    inverse = 1.0
    for k in range(1, servers + 1):
        inverse = 1.0 + inverse * k / offered
    return 1.0 / inverse


@pytest.mark.parametrize("servers", [8, 64])
def test_one_server_for_each_job_is_erlangs_system(servers):
    row = performance(replace(LOSS, servers=servers, target=None)).row("fixed:1")
    assert row.values["blocking"].value == pytest.approx(_erlang_b(0.8 * servers, servers))
    assert row.values["mean_execution_time"] == Value.known(1.0, "closed-form")


def test_one_server_for_each_waiting_job_is_erlangs_queue():
    row = performance(QUEUE).row("fixed:1")
    offered, servers = 0.7 * 6, 6
    blocked = _erlang_b(offered, servers)
    waits = blocked / (1.0 - 0.7 * (1.0 - blocked))
    assert row.values["wait_probability"].value == pytest.approx(waits)
    assert row.values["mean_wait"].value == pytest.approx(waits / (servers - offered))


@pytest.mark.parametrize("question", [LOSS, QUEUE, PLACES, gpus()])
def test_quick_numbers_that_are_exact_are_those_of_evaluate(question):
    answer = performance(question)
    for row in answer.rows:
        if row.kind in {"policy", "reference"} and row.values:
            assert row.exact, row.name
            found = evaluate(question.scenario(), row.name, seed=question.seed).figures()
            for name, value in row.values.items():
                assert found[name] == value.value, (row.name, name)


@pytest.mark.parametrize("question", [LOSS, gpus(), replace(LOSS, target=("blocking_cost", 3.0))])
def test_small_clusters_are_tuned_at_once_as_tune_does(question):
    found, (name, value) = tuned_policy(question, "quick"), question.target or ("blocking_cost", 10)
    same = tune(question.scenario(), **{name: value}, seed=question.seed)
    assert policy_data(found.policy) == policy_data(same.policy)
    row, best = performance(question).row("tuned"), performance(question).row("optimum")
    assert row.values["blocking"].value == same.performance.blocking
    assert best.values["mean_execution_time"].value == same.optimum.mean_execution_time
    assert performance(question).refined


def test_a_queue_shows_a_first_guess_and_then_the_tuned_policy():
    quick, full = performance(QUEUE), performance(QUEUE, "full")
    assert quick.row("tuned").provisional
    assert not quick.refined
    assert not full.row("tuned").provisional
    assert full.refined
    tuned = tune(QUEUE.scenario(), seed=1).performance.queueing
    assert full.row("tuned").values["mean_response_time"].value == tuned.mean_response_time
    best = optimal_queueing(QUEUE.scenario(), tolerance=1e-8).mean_response_time
    shown = full.row("optimum").values["mean_response_time"].value
    assert shown == pytest.approx(best, rel=1e-5)
    responses = [
        row.values["mean_response_time"].value for row in full.rows if row.kind != "reference"
    ]
    assert min(responses) == shown


def test_no_policy_beats_a_bound():
    for question in (replace(LOSS, load=1.5), QUEUE, replace(PLACES, load=2.0)):
        answer = performance(question)
        assert answer.bounds
        for bound in answer.bounds:
            for row in answer.rows:
                if bound.policy not in {"", row.name} or bound.measure not in row.values:
                    continue
                if row.kind == "reference" and bound.measure == "mean_execution_time":
                    continue  # it holds for policies that do not change widths
                low, high = row.values[bound.measure].interval
                assert high >= bound.value.value if bound.lower else low <= bound.value.value


def _errors(value: Value, exact: float) -> float:
    """Return the distance of an estimate from the exact value in standard errors."""
    low, high = value.interval
    return abs(value.value - exact) / ((high - low) / (2.0 * Z))


def test_quick_estimates_agree_with_the_exact_chain():
    row = performance(BIG).row("greedy-p")
    assert not row.exact
    exact = evaluate(BIG.scenario(), "greedy-p", method="chain")
    for name, value in row.values.items():
        right = exact.figures()[name]
        assert _errors(value, right) < STANDARD_ERRORS, name
        assert _errors(value, 1.2 * right) > STANDARD_ERRORS, name  # an error of a fifth is seen


def test_the_same_seed_gives_the_same_estimate_and_another_one_does_not():
    first = performance(BIG).row("greedy-p").values["blocking"]
    again = performance(replace(BIG, target=("blocking_cost", 5.0))).row("greedy-p")
    other = performance(replace(BIG, seed=2)).row("greedy-p")
    assert again.values["blocking"] == first
    assert other.values["blocking"] != first


def test_full_effort_refines_estimates():
    question = replace(BIG, servers=32, size="lognormal:1.5", seed=3)
    quick, full = (
        evaluated(question, ["greedy-p"], effort).policies["greedy-p"].values["blocking"]
        for effort in ("quick", "full")
    )
    assert np.ptp(full.interval) < 0.5 * np.ptp(quick.interval)
    assert _errors(quick, full.value) < STANDARD_ERRORS
    found = evaluate(question.scenario(), "fixed:3", seed=3)
    same = evaluated(question, ["fixed:3"], "full").policies["fixed:3"].values["blocking"]
    assert _errors(same, found.blocking) < STANDARD_ERRORS


def test_a_limit_that_no_policy_keeps_is_explained():
    answer = performance(replace(LOSS, target=("max_blocking", 0.001)))
    assert "cannot be reached" in answer.row("tuned").problem
    assert answer.row("greedy").values
    assert "cannot be reached" in policies(replace(LOSS, target=("max_blocking", 0.001))).problem


def test_queues_that_grow_have_a_reason_instead_of_numbers():
    answer = performance(replace(QUEUE, load=0.95))
    assert answer.row("fixed:1").values
    assert (answer.row("fixed:2").values, answer.row("fixed:2").exact) == ({}, True)
    assert "grows without limit" in answer.row("fixed:2").problem


@pytest.mark.parametrize("question", [LOSS, QUEUE, PLACES])
def test_curves_hold_what_evaluate_says_at_each_load(question):
    answer = load_curves(question)
    for curve in answer.curves:
        if curve.kind not in {"policy", "reference"} or not curve.exact:
            continue
        for load, point in zip(answer.loads[1::2], curve.points[1::2], strict=True):
            if point is not None:
                found = evaluate(replace(question, load=load).scenario(), curve.name).figures()
                assert {k: v.value for k, v in point.items()} == {k: found[k] for k in point}


def test_the_optimum_along_the_load_is_that_of_the_dynamic_programme():
    answer = load_curves(LOSS)
    (best,) = (curve for curve in answer.curves if curve.kind == "optimum")
    found = optimal_control(replace(LOSS, load=answer.loads[2]).scenario(), 10.0, tolerance=1e-8)
    point = best.points[2]
    cost = (1 - point["blocking"].value) * point["mean_execution_time"].value
    assert cost + 10.0 * point["blocking"].value == pytest.approx(found.cost, rel=1e-5)


def test_the_edge_of_the_trade_off_is_below_all_policies():
    answer = trade_off(LOSS)
    x, y = np.array(answer.edge).T
    for series in answer.series:
        for point in series.points:
            blocking, time = (point.values[m.name].value for m in (answer.across, answer.up))
            if x[0] <= blocking <= x[-1]:
                assert time >= np.interp(blocking, x, y) * (1 - 1e-3), (series.name, point.label)


def test_the_tuned_policy_lies_on_the_trade_off():
    x, y = np.array(trade_off(LOSS).edge).T
    row = performance(LOSS).row("tuned").values
    least = np.interp(row["blocking"].value, x, y)
    assert least * (1 - 1e-3) <= row["mean_execution_time"].value <= 1.02 * least


def test_what_a_slider_does_not_change_is_not_computed_again(monkeypatch):
    first = load_curves(LOSS)
    monkeypatch.setattr(curves_module, "_at_load", None)
    for moved in (replace(LOSS, load=0.55), replace(LOSS, target=("max_blocking", 0.3))):
        again = load_curves(moved)
        assert again.curves is first.curves
        assert again.question == moved
    assert frontier(replace(LOSS, seed=9, size="lognormal:2")).classes is frontier(LOSS).classes
    assert trade_off(replace(LOSS, target=None)).series is trade_off(LOSS).series


def test_loads_of_the_curves_reach_beyond_what_the_cluster_carries():
    assert loads(LOSS)[-1] == pytest.approx(1.2)
    assert loads(QUEUE)[-1] == pytest.approx(0.95)
    assert set(loads(LOSS, "quick")) <= set(loads(LOSS))


def test_a_single_width_has_answers_in_every_view():
    question = Question((ClassInput("rigid", (3.0,), (4,)),), servers=12, load=0.5)
    for asked in (question, replace(question, waiting=math.inf)):
        assert frontier(asked).classes[0].support == (4,)
        assert policies(asked).tables
        assert any(row.values for row in performance(asked).rows)
        assert load_curves(asked).curves
        assert trade_off(asked).series


def test_wide_curves_are_answered_later_rather_than_slowly():
    wide = ClassInput("wide", tuple(float(w) ** 0.8 for w in range(1, 513)))
    question = Question((wide,), servers=2048, load=0.7)
    for asked in (question, replace(question, waiting=math.inf)):
        assert "more than a moment" in policies(asked).problem
        answer = performance(asked)
        assert answer.row("fixed:1").values
        assert not answer.refined
        assert not answer.row("tuned").values
