"""Clusters with a queue whose values were known before the program was written."""

from __future__ import annotations

import math

import pytest

from moldable import Scenario
from moldable.exact.erlang_c import erlang_c
from moldable.exact.queue_law import solve_queue
from naive.queue_systems import even_price, even_share, fixed, greedy, queue_system

SUB_LINEAR = [1, 1.8, 2.5, 3, 3.4]


def solved(curve, load, servers, choose, places=math.inf, behind=20):
    scenario = Scenario.single(curve, load, servers)
    return solve_queue(queue_system(scenario, choose, places, behind=behind))


def response(law):
    return law.overall(law.mean_response)


def test_greedy_on_2_servers_is_a_queue_with_one_slot():
    law = solved([1, 1.8], 0.8, 2, greedy(2), behind=0)
    assert response(law) == pytest.approx(5.0, rel=1e-10)
    assert law.arrivals_waiting == pytest.approx([1.6 / 1.8], rel=1e-10)


def test_greedy_on_10_servers_is_a_queue_with_two_slots():
    law = solved(SUB_LINEAR, 0.5, 10, greedy(5), behind=0)
    assert response(law) == pytest.approx(0.640301318267, rel=0.0, abs=6e-13)
    assert law.arrivals_waiting == pytest.approx([erlang_c(2, 5 / 3.4)], rel=1e-10)


def test_fixed_width_2_on_16_servers_is_a_queue_with_eight_slots():
    law = solved(SUB_LINEAR, 0.8, 16, fixed(2), behind=3)
    assert law.mean_wait == pytest.approx([0.419798685955], rel=0.0, abs=6e-13)
    assert response(law) == pytest.approx(0.975354241511, rel=0.0, abs=6e-13)
    assert law.arrivals_waiting == pytest.approx([0.671677897529], rel=0.0, abs=6e-13)


@pytest.mark.parametrize(
    ("servers", "curve", "value"), [(2, [1, 1.8], 2.712077295), (6, SUB_LINEAR, 1.285132784)]
)
def test_idle_servers_divided_by_the_waiting_jobs(servers, curve, value):
    law = solved(curve, 0.8, servers, even_share(len(curve)))
    assert response(law) == pytest.approx(value, rel=0.0, abs=6e-10)


def test_the_even_price_with_its_default_numbers():
    curve = [1, 1.8, 2.5, 3]
    law = solved(curve, 0.6, 4, even_price(curve, 4))
    assert response(law) == pytest.approx(1.006498312, rel=0.0, abs=6e-10)
    assert law.arrivals_waiting == pytest.approx([0.701695294], rel=0.0, abs=6e-10)
    assert law.neglected_mass < 1e-12
    assert law.error_bound < 1e-9


@pytest.mark.parametrize(
    ("places", "lost"), [(0, 4 / 9), (1, 0.262295082), (3, 0.121846740), (10, 0.001145842)]
)
def test_the_even_price_with_few_places_loses_jobs(places, lost):
    curve = [1, 1.8, 2.5, 3]
    law = solved(curve, 0.6, 4, even_price(curve, 4), places)
    assert law.blocking == pytest.approx([lost], rel=0.0, abs=6e-10)


def test_a_rate_one_percent_off_would_be_noticed():
    law = solved(SUB_LINEAR, 0.808, 6, even_share(5))
    assert response(law) != pytest.approx(1.285132784, rel=1e-3)
