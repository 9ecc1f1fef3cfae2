"""The error bound of a stationary distribution, against what elimination gives."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from moldable import Greedy, Scenario, SpeedUp, Thresholds
from moldable.exact import stationary
from moldable.exact.error_bound import ErrorBound
from moldable.exact.iterated import iterated_solution
from moldable.exact.states import product_form, whole_chain
from moldable.kernels.state_space import exact_imbalance
from moldable.policies import GreedyP
from moldable.system.count_model import chain_model
from moldable.system.loss_system import build_system
from naive import dense_chain


def chain_of(workload, servers, policy):
    model = chain_model(build_system(Scenario(workload, servers), policy))
    return whole_chain(model), model


def rates_of(chain):
    rates = np.zeros((chain.states, chain.states))
    for state in range(chain.states):
        for entry in range(chain.start[state], chain.start[state + 1]):
            rates[chain.source[entry], state] += chain.rate[entry]
    return rates


def test_the_bound_holds_for_laws_that_are_wrong():
    scenario = Scenario.single(SpeedUp([1, 1.8, 2.5]), 0.9, 12)
    chain, model = chain_of(scenario.workload, 12, GreedyP({"jobs": {1: 0.3, 2: 0.3, 3: 0.4}}))
    truth = dense_chain._eliminate(rates_of(chain))  # noqa: SLF001 - the law itself is wanted
    rng = np.random.default_rng(1)
    blocked = model.blocked(chain.counts)
    for size in (1e-3, 1e-6, 1e-9):
        law = truth * (1.0 + size * rng.uniform(-1, 1, truth.size))
        law /= law.sum()
        reference = int(np.argmax(law))
        gap = np.empty(law.size)
        exact_imbalance(chain.start, chain.source, chain.rate, law, np.zeros(law.size), gap)
        rho = np.abs(gap)
        rho[reference] = 0.0
        bound = ErrorBound(chain, reference, iterated_solution)
        error = np.abs(law / law[reference] - truth / truth[reference]).sum() * law[reference]
        assert error <= bound.total(rho) < 1e4 * error
        mean = float(law @ blocked)
        off = abs(mean / law[reference] - float(truth @ blocked) / truth[reference])
        assert off * law[reference] <= bound.mean(rho, blocked, mean) * mean


def test_hitting_times_are_never_below_the_true_ones():
    chain, _ = chain_of(Scenario.single(SpeedUp([1, 1.8, 2.5]), 0.8, 9).workload, 9, Greedy())
    rates = rates_of(chain)
    others = np.arange(chain.states) != 0
    matrix = (np.diag(rates.sum(axis=1)) - rates)[others][:, others]
    true = np.linalg.solve(matrix, np.ones(others.sum()))
    found = ErrorBound(chain, 0, iterated_solution).hitting_times
    assert np.all(found[others] >= true * (1 - 1e-12))


def test_an_exact_imbalance_is_that_of_fractions():
    chain, _ = chain_of(
        Scenario.single(SpeedUp([1, 1.7]), 0.9, 4).workload, 4, GreedyP({"jobs": {1: 0.3, 2: 0.7}})
    )
    rng = np.random.default_rng(3)
    high = rng.uniform(size=chain.states)
    low = high * 1e-17 * rng.uniform(-1, 1, chain.states)
    found = np.empty(chain.states)
    exact_imbalance(chain.start, chain.source, chain.rate, high, low, found)
    true = [Fraction(0)] * chain.states
    for state in range(chain.states):
        for entry in range(chain.start[state], chain.start[state + 1]):
            origin = int(chain.source[entry])
            flow = Fraction(chain.rate[entry]) * (Fraction(high[origin]) + Fraction(low[origin]))
            true[origin] += flow
            true[state] -= flow
    np.testing.assert_allclose(found, [float(x) for x in true], rtol=1e-14, atol=1e-30)


def test_rare_blocking_is_bounded_relatively():
    scenario = Scenario.single(SpeedUp([1, 1.8, 2.5]), 0.1, 30)
    policy = Thresholds({"jobs": {1: 1, 6: 2, 12: 3}})
    chain, model = chain_of(scenario.workload, 30, policy)
    guess = product_form(chain.counts, np.full(3, 2.0))
    law, bound = stationary.stationary(chain, guess, model.blocked(chain.counts))
    truth = dense_chain._eliminate(rates_of(chain))  # noqa: SLF001
    blocked = model.blocked(chain.counts)
    assert float(truth @ blocked) < 1e-9
    assert float(law @ blocked) == pytest.approx(float(truth @ blocked), rel=1e-9)
    assert bound <= 1e-9
