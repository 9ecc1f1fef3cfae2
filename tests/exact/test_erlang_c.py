"""Queues in front of equal slots against fractions, matrix exponentials and the chain."""

from __future__ import annotations

import dataclasses
import doctest
import math

import numpy as np
import pytest

from moldable import JobClass, Scenario, SpeedUp, Workload
from moldable.errors import ChainError, UnstableError
from moldable.exact import erlang_c as module
from moldable.exact.erlang_c import SlotQueue, erlang_c, queue_closed_form, slot_queue
from moldable.exact.queue_law import solve_queue
from naive import slot_queue as naive
from naive.queue_systems import fixed, greedy, queue_system

SUB_LINEAR = [1, 1.8, 2.5, 3, 3.4]
QUEUES = [
    (1, 0.7, 1.0, 0),
    (1, 0.7, 1.0, 5),
    (1, 1.0, 1.0, 4),
    (2, 5.0, 1.5, 3),
    (3, 2.0, 0.5, 12),
    (8, 12.8, 1.8, 20),
    (5, 40.0, 1.0, 30),
]


@pytest.mark.parametrize(
    ("slots", "offered", "value"),
    [
        (1, 0.5, 0.5),
        (2, 1.0, 1 / 3),
        (4, 3.2, 0.596432471787),
        (8, 64 / 9, 0.671677897529),
        (10, 8.0, 0.409180150796),
        (16, 12.8, 0.304883912930),
        (100, 90.0, 0.216940480906),
    ],
)
def test_erlangs_formula_c_has_known_values(slots, offered, value):
    assert erlang_c(slots, offered) == pytest.approx(value, rel=0.0, abs=6e-13)


def test_fixed_width_2_on_16_servers():
    queue = SlotQueue(8, 16 * 0.8, 1.8)
    assert queue.mean_wait == pytest.approx(0.419798685955, rel=0.0, abs=6e-13)
    assert queue.mean_response == pytest.approx(0.975354241511, rel=0.0, abs=6e-13)


def test_its_examples_hold():
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(("slots", "arrival", "service", "places"), QUEUES)
def test_a_limited_queue_is_the_birth_death_chain_in_fractions(slots, arrival, service, places):
    queue = SlotQueue(slots, arrival, service, places)
    law = [float(share) for share in naive.jobs_present(slots, arrival, service, places)]
    accepted = arrival * (1.0 - law[-1])
    mean_queue = sum(share * max(0, k - slots) for k, share in enumerate(law))
    assert queue.blocking == pytest.approx(law[-1], rel=1e-13)
    assert queue.arrivals_waiting == pytest.approx(sum(law[slots:-1]), rel=1e-13, abs=1e-300)
    assert queue.mean_queue == pytest.approx(mean_queue, rel=1e-13, abs=1e-300)
    assert queue.mean_wait == pytest.approx(mean_queue / accepted, rel=1e-13, abs=1e-300)
    np.testing.assert_allclose(queue.slots_in_use[:-1], law[:slots], rtol=1e-13)
    np.testing.assert_allclose(queue.queue_length[1:], law[slots + 1 :], rtol=1e-13)
    assert queue.slots_in_use.sum() == pytest.approx(1.0, rel=1e-14)
    assert queue.queue_length.sum() == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize(("slots", "arrival", "service", "places"), QUEUES)
@pytest.mark.parametrize("time", [0.0, 0.3, 2.0, 9.0])
def test_waiting_and_response_times_are_absorption_times(slots, arrival, service, places, time):
    queue = SlotQueue(slots, arrival, service, places)
    waits, stays = naive.exceeds(slots, arrival, service, places, time)
    assert queue.wait_exceeds(time) == pytest.approx(waits, rel=1e-11, abs=1e-14)
    assert queue.response_exceeds(time) == pytest.approx(stays, rel=1e-11, abs=1e-14)


@pytest.mark.parametrize("slots", [1, 2, 5, 40])
@pytest.mark.parametrize("load", [0.1, 0.8, 0.95])
def test_an_unlimited_queue_is_the_limit_of_limited_ones(slots, load):
    unlimited = SlotQueue(slots, slots * load * 1.5, 1.5)
    limited = dataclasses.replace(unlimited, places=1000)
    for name in ("waiting_probability", "arrivals_waiting", "mean_queue", "mean_wait"):
        assert getattr(unlimited, name) == pytest.approx(getattr(limited, name), rel=1e-12)
    for time in (0.0, 0.5, 3.0):
        for name in ("wait_exceeds", "response_exceeds"):
            exact = getattr(limited, name)(time)
            assert getattr(unlimited, name)(time) == pytest.approx(exact, rel=1e-11)
    np.testing.assert_allclose(unlimited.slots_in_use, limited.slots_in_use, rtol=1e-12)
    common = min(unlimited.queue_length.size, limited.queue_length.size)
    np.testing.assert_allclose(
        unlimited.queue_length[:common], limited.queue_length[:common], rtol=1e-11
    )
    assert unlimited.queue_length.sum() == pytest.approx(1.0, rel=0.0, abs=1e-14)


@pytest.mark.parametrize("places", [3, 50, math.inf])
@pytest.mark.parametrize("level", [0.05, 0.5, 0.9, 0.999])
def test_quantiles_are_exceeded_by_the_rest(places, level):
    queue = SlotQueue(4, 3.6, 1.0, places)
    response = queue.response_quantile(level)
    assert queue.response_exceeds(response) == pytest.approx(1.0 - level, rel=1e-9)
    wait = queue.wait_quantile(level)
    if wait == 0.0:
        assert queue.wait_exceeds(0.0) <= 1.0 - level
    else:
        assert queue.wait_exceeds(wait) == pytest.approx(1.0 - level, rel=1e-9)


def test_one_slot_is_the_queue_whose_responses_are_exponential():
    queue = SlotQueue(1, 0.8, 1.0)
    assert queue.mean_response == pytest.approx(5.0, rel=1e-14)
    assert queue.response_exceeds(7.0) == pytest.approx(math.exp(-1.4), rel=1e-14)
    assert queue.response_quantile(0.9) == pytest.approx(math.log(10) / 0.2, rel=1e-12)


def test_equal_rates_of_waiting_and_service_cancel_nothing():
    near = SlotQueue(2, 1.0 - 1e-13, 1.0)  # waits fall at rate 1, services end at rate 1
    exact = SlotQueue(2, 1.0, 1.0)
    assert near.response_exceeds(2.0) == pytest.approx(exact.response_exceeds(2.0), rel=1e-12)
    gamma = math.exp(-2.0) * 3.0
    assert exact.response_exceeds(2.0) == pytest.approx(
        2 / 3 * math.exp(-2.0) + 1 / 3 * gamma, rel=1e-14
    )


def test_a_million_slots_agree_with_the_normal_limit():
    """Halfin and Whitt (1981): C -> 1/(1 + beta Phi(beta)/phi(beta)), c - a = beta sqrt(c)."""
    slots, beta = 1_000_000, 1.0
    phi = math.exp(-0.5 * beta**2) / math.sqrt(2.0 * math.pi)
    below = 0.5 * (1.0 + math.erf(beta / math.sqrt(2.0)))
    limit = 1.0 / (1.0 + beta * below / phi)
    found = erlang_c(slots, slots - beta * math.sqrt(slots))
    assert found == pytest.approx(limit, rel=1e-3)
    crowded = SlotQueue(slots, 1.2 * slots, 1.0, 1000)
    assert crowded.blocking == pytest.approx(1.0 - 1.0 / 1.2, rel=1e-12)
    assert crowded.mean_queue == pytest.approx(1000 - 1.0 / 0.2, rel=1e-12)


def test_a_long_queue_that_is_overloaded_keeps_its_digits():
    queue = SlotQueue(10, 20.0, 1.0, 1_000_000)
    assert queue.blocking == pytest.approx(0.5, rel=1e-14)
    assert queue.mean_queue == pytest.approx(999_999.0, rel=1e-14)


def test_an_overloaded_unlimited_queue_is_refused():
    with pytest.raises(UnstableError, match="grows without limit"):
        SlotQueue(4, 4.0, 1.0)
    with pytest.raises(ChainError, match="level"):
        SlotQueue(4, 3.0, 1.0).wait_quantile(1.0)


@pytest.mark.parametrize("places", [0, 1, 7, math.inf])
@pytest.mark.parametrize(("width", "servers"), [(1, 5), (2, 8), (3, 11)])
def test_the_chain_agrees_with_the_formula(width, servers, places):
    scenario = Scenario.single(SUB_LINEAR, 0.6, servers)
    system = queue_system(scenario, fixed(width), places, behind=2)
    formula, chain = queue_closed_form(system), solve_queue(system)
    assert formula.formula
    for name in ("blocking", "arrivals_waiting", "waiting_jobs", "mean_jobs", "granted"):
        found = getattr(chain, name)
        assert found == pytest.approx(getattr(formula, name), rel=1e-9, abs=1e-12)
    assert chain.overall(chain.mean_response) == pytest.approx(
        formula.overall(formula.mean_response), rel=1e-9
    )
    np.testing.assert_allclose(chain.busy, formula.busy, rtol=0.0, atol=1e-11)
    common = min(chain.queue_length.size, formula.queue_length.size)
    np.testing.assert_allclose(
        chain.queue_length[:common], formula.queue_length[:common], rtol=0.0, atol=1e-11
    )


def test_other_systems_have_no_formula():
    def one_width(**changes):
        job_class = JobClass("jobs", 3.0, SpeedUp(SUB_LINEAR), **changes)
        return Scenario(Workload((job_class,)), 8)

    assert slot_queue(queue_system(one_width(), fixed(2), 5)).slots == 4
    assert slot_queue(queue_system(one_width(), greedy(3), 5)) is None  # widths 3 and 2
    assert slot_queue(queue_system(one_width(size="mixed-erlang"), fixed(2), 5)) is None

    def holds_if_alone(_, idle, behind):
        return {2: 1.0} if idle >= (2 if behind else 4) else {}

    assert slot_queue(queue_system(one_width(), holds_if_alone, 5)) is None


def test_a_service_rate_one_percent_off_would_be_noticed():
    with pytest.raises(AssertionError):
        assert SlotQueue(8, 12.8, 1.818).mean_wait == pytest.approx(0.419798685955, abs=6e-13)
