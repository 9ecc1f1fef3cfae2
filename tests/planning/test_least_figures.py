"""Lower bounds on waits: against exact waits, formulas and dynamic programming."""

from __future__ import annotations

import pytest

from moldable import JobClass, Scenario, Workload, evaluate
from moldable.errors import UnstableError
from moldable.optimal import optimal_queueing
from moldable.planning.goal import Goal
from moldable.planning.least_figures import least_figure, least_wait, least_wait_probability
from naive.erlang import erlang_b

CURVE = [1, 1.8, 2.5]


def queue(curve, load, servers, **more):
    return Scenario.single(curve, load, servers, waiting="unlimited", **more)


@pytest.mark.parametrize(("size", "variance"), [("exponential", 1.0), ("deterministic", 0.0)])
def test_on_one_server_it_is_the_formula_of_pollaczek_and_khinchine(size, variance):
    for load in (0.3, 0.9, 0.9999):
        wait = 0.5 * (1.0 + variance) * load / (1.0 - load)
        assert least_wait(queue([1], load, 1, size=size)) == pytest.approx(wait, rel=1e-9)


def test_with_several_classes_on_one_server_it_is_that_formula_too():
    jobs = [JobClass("a", 0.3, [1], 1.0), JobClass("b", 0.2, [1], 1.0, size="deterministic")]
    found = least_wait(Scenario(Workload(jobs), 1, waiting="unlimited"))
    squares = 0.3 * 2.0 + 0.2 * 1.0
    assert found == pytest.approx(squares / (2.0 * 0.5), rel=1e-9)


@pytest.mark.parametrize("servers", [2, 10, 64])
@pytest.mark.parametrize("load", [0.6, 0.95, 0.999])
def test_it_is_below_erlangs_wait_and_near_it_close_to_saturation(servers, load):
    scenario, offered = queue([1], load, servers), load * servers
    blocked = erlang_b(offered, servers)
    waits = servers * blocked / (servers - offered * (1.0 - blocked))
    wait, least = waits / (servers - offered), least_wait(scenario)
    assert least <= wait * (1.0 + 1e-9)
    assert load < 0.999 or least > 0.9 * wait
    assert least_wait_probability(scenario) <= waits
    assert servers * (1.0 - load) > 0.1 or least_wait_probability(scenario) > 0.9


@pytest.mark.parametrize("load", [0.7, 0.9, 0.97, pytest.param(0.99, marks=pytest.mark.long)])
def test_no_policy_is_below_it(load):
    scenario = queue(CURVE, load, 4)
    best = optimal_queueing(scenario)
    response = least_figure(scenario, Goal.of(scenario, None, max_response=10.0))
    assert 0.0 < response <= best.mean_response_time
    for policy in ("fixed:1", "fixed:2", "even-price", "greedy"):
        try:
            queueing = evaluate(scenario, policy).queueing
        except UnstableError:
            continue
        assert least_wait(scenario) <= queueing.mean_wait
        assert least_wait_probability(scenario) <= queueing.wait_probability


def test_where_none_is_known_it_is_0():
    bursty = queue([1], 0.99, 1, arrivals="renewal:2")
    assert least_wait(bursty) == least_wait_probability(bursty) == 0.0
    assert least_wait(queue([1], 0.99, 1, size="pareto:1.5")) == 0.0
    lossy = Scenario.single([1], 0.99, 1, waiting=5)
    assert least_figure(lossy, Goal.of(lossy, None, max_blocking=0.1)) == 0.0
