"""EQUI with a queue against sums over its states, and as a lower bound."""

from __future__ import annotations

import math

import numpy as np
import pytest

from moldable import Scenario, SpeedUp
from moldable.errors import ChainError, UnstableError
from moldable.exact.equi import equi_performance
from moldable.exact.erlang_c import SlotQueue
from moldable.exact.queue_law import solve_queue
from moldable.policies.equi import Equi
from moldable.system.equi_queue import equi_queue
from naive.queue_systems import even_price, even_share, fixed, queue_system

SUB_LINEAR = [1, 1.8, 2.5, 3, 3.4]


def summed(scenario, places):
    """Return (blocking, P(wait), mean queue, mean response) by adding up states one by one."""
    (job_class,) = scenario.workload.classes
    rates = Equi.departure_rates(job_class, scenario.servers).tolist()
    weights = [1.0]
    for jobs in range(1, scenario.servers + places + 1):
        weights.append(weights[-1] * job_class.arrival_rate / rates[min(jobs, scenario.servers)])
    law = np.array(weights) / math.fsum(weights)
    jobs = np.arange(law.size)
    queue = np.maximum(jobs - scenario.servers, 0)
    response = law @ jobs / (job_class.arrival_rate * (1.0 - law[-1]))
    return law[-1], law[scenario.servers : -1].sum(), law @ queue, response


@pytest.mark.parametrize("curve", [SUB_LINEAR, [1, 2, 3], {2: 1.7, 3: 2.6}])
@pytest.mark.parametrize("places", [0, 1, 9, 300])
@pytest.mark.parametrize("load", [0.3, 0.8, 1.4])
def test_a_limited_queue_is_summed_state_by_state(curve, places, load):
    scenario = Scenario.single(SpeedUp(curve), load, 12)
    found = equi_queue(scenario, places)
    exact = summed(scenario, places)
    assert found.blocking == pytest.approx(exact[0], rel=1e-11)
    assert found.arrivals_waiting == pytest.approx(exact[1], rel=1e-11)
    assert found.mean_queue == pytest.approx(exact[2], rel=1e-11)
    assert found.mean_response == pytest.approx(exact[3], rel=1e-11)


def test_without_places_it_is_the_loss_system():
    scenario = Scenario.single(SUB_LINEAR, 0.8, 12)
    loss, queue = equi_performance(scenario), equi_queue(scenario, 0)
    assert queue.blocking == loss.blocking.value
    assert queue.mean_response == pytest.approx(loss.mean_execution_time.value, rel=1e-14)
    assert queue.mean_queue == queue.arrivals_waiting == 0.0


@pytest.mark.parametrize("load", [0.3, 0.8, 0.95])
def test_an_unlimited_queue_is_the_limit_of_limited_ones(load):
    scenario = Scenario.single(SUB_LINEAR, load, 12)
    limit, found = equi_queue(scenario, 2000), equi_queue(scenario, math.inf)
    assert found.blocking == 0.0
    for name in ("arrivals_waiting", "mean_jobs", "mean_queue", "mean_response"):
        assert getattr(found, name) == pytest.approx(getattr(limit, name), rel=1e-12)


def test_one_width_is_erlangs_queue():
    found = equi_queue(Scenario.single([1.0], 0.8, 10), math.inf)
    assert found.arrivals_waiting == pytest.approx(0.409180150796, rel=0.0, abs=6e-13)
    assert found.mean_response == pytest.approx(SlotQueue(10, 8.0, 1.0).mean_response, rel=1e-13)


@pytest.mark.parametrize(("servers", "load"), [(4, 0.6), (6, 0.8), (10, 0.7)])
def test_no_policy_responds_faster_on_a_concave_curve(servers, load):
    scenario = Scenario.single(SUB_LINEAR, load, servers)
    bound = equi_queue(scenario, math.inf).mean_response
    for choose in (even_share(5), even_price(SUB_LINEAR, servers), fixed(1)):
        law = solve_queue(queue_system(scenario, choose, math.inf))
        assert law.overall(law.mean_response) > 1.02 * bound


def test_what_is_not_known_is_refused():
    with pytest.raises(UnstableError, match="without limit"):
        equi_queue(Scenario.single(SUB_LINEAR, 1.0, 12), math.inf)
    with pytest.raises(ChainError, match="lower the load"):
        equi_queue(Scenario.single(SUB_LINEAR, 1e17, 12), 0)
    with pytest.raises(ChainError, match="exponential sizes only"):
        equi_queue(Scenario.single(SUB_LINEAR, 0.8, 12, size="pareto:2.5"), 3)
    assert equi_queue(Scenario.single(SUB_LINEAR, 0.8, 12, size="pareto:2.5"), 0).blocking > 0.0
