"""Iterated solutions of chains with a queue against factorised ones, also of rare states."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from moldable import Scenario
from moldable.exact import stationary
from moldable.exact.iterated import iterated, relatively_iterated
from moldable.exact.queue_chain import first_chain
from moldable.exact.queue_law import solve_queue
from moldable.exact.queue_model import queue_model
from naive.queue_systems import even_price, even_share, queue_system

SUB_LINEAR = [1, 1.8, 2.5, 3, 3.4]
SYSTEMS = {
    "many places": (Scenario.single(SUB_LINEAR, 0.8, 8), even_share(5), 200),
    "few places": (Scenario.single(SUB_LINEAR, 0.8, 8), even_price(SUB_LINEAR, 8), 40),
    "overloaded": (Scenario.single(SUB_LINEAR, 1.2, 8), even_price(SUB_LINEAR, 8), 60),
    "unlimited": (Scenario.single(SUB_LINEAR, 0.9, 6), even_share(5), math.inf),
    "variable sizes": (
        Scenario.single([1, 1.8], 0.7, 5, size="hyperexponential:2"),
        even_share(2),
        100,
    ),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_iterating_agrees_with_factorising(name, monkeypatch):
    scenario, choose, places = SYSTEMS[name]
    system = queue_system(scenario, choose, places, behind=8)
    monkeypatch.setattr(stationary, "FACTORISED", {True: 10**6, False: 10**6})
    factorised = solve_queue(system)
    monkeypatch.setattr(stationary, "FACTORISED", {True: 0, False: 0})
    monkeypatch.setattr(stationary, "LAST_RESORT", 0)
    monkeypatch.setattr(stationary, "NARROW", 0)
    monkeypatch.setattr(stationary, "SPARSE", 0)
    found = solve_queue(system)
    assert 0.0 < found.error_bound <= stationary.GOOD
    scale = found.error_bound + factorised.error_bound
    assert np.abs(found.queue_length - factorised.queue_length).sum() <= scale
    if places < math.inf:
        assert found.blocking == pytest.approx(
            factorised.blocking, rel=scale, abs=scale * stationary.NEVER
        )
    else:
        assert found.mean_queue == pytest.approx(factorised.mean_queue, rel=scale)


@pytest.mark.parametrize(("group", "place"), [(40, 0), (150, -1)])
def test_long_chains_are_factorised_first_where_groups_are_small_and_last_elsewhere(group, place):
    chain = SimpleNamespace(states=40_000, counts=np.zeros((3, 40_000)))
    solvers = stationary._solvers(chain, np.arange(40_000) // group)  # noqa: SLF001
    assert solvers[place] is stationary._factorised  # noqa: SLF001
    assert len(solvers) == (1 if place == 0 else 3)


def test_blocking_that_is_rare_keeps_its_digits_relative_to_a_distribution():
    scenario, choose, _ = SYSTEMS["many places"]
    chain = first_chain(queue_model(queue_system(scenario, choose, 120, behind=8))).extended(120)
    rough = np.where(chain.queue > 0, 0.9**chain.queue, 1.0)
    plain, _, _ = iterated(chain.chain, rough / rough.sum(), chain.groups)
    found, rho, bound = relatively_iterated(chain.chain, plain, chain.groups)
    exact = stationary._Factors(chain.chain, int(np.argmax(found)))  # noqa: SLF001
    law, _ = exact.refined(exact.weights())
    lengths, exact_lengths = (np.bincount(chain.queue, part) for part in (found, law))
    assert exact_lengths[-1] < 1e-12
    np.testing.assert_allclose(lengths, exact_lengths, rtol=1e-10)
    # The bound knows it, too.
    full = np.where(chain.queue == 120, 1.0, 0.0)
    assert bound.mean(rho, full, float(found @ full)) < 1e-9
    assert np.abs(np.bincount(chain.queue, plain) / exact_lengths - 1.0).max() > 1e-9


def test_the_groups_follow_busy_servers_and_then_waiting_jobs():
    scenario, choose, _ = SYSTEMS["few places"]
    chain = first_chain(queue_model(queue_system(scenario, choose, 5, behind=8)))
    idle = chain.configurations.idle[chain.config]
    order = np.where(chain.queue > 0, chain.queue, -idle)
    assert np.all((chain.groups[:, None] < chain.groups) == (order[:, None] < order))
    assert set(chain.groups.tolist()) == set(range(int(chain.groups.max()) + 1))


def test_a_long_queue_with_few_states_of_each_length_is_factorised():
    """At a load of 0.995 lengths up to thousands matter."""
    scenario = Scenario.single([1, 1.8], 0.995, 3, size="mixed-erlang")
    law = solve_queue(queue_system(scenario, even_share(2), math.inf, behind=4))
    assert law.states > 10 * stationary.FACTORISED[False]
    assert law.error_bound < 1e-10
