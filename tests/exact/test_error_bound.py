"""The error bound of a stationary distribution, against what elimination gives."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from moldable import (
    Greedy,
    GreedyP,
    JobClass,
    Policy,
    Scenario,
    SpeedUp,
    Thresholds,
    Workload,
    compare,
    evaluate,
)
from moldable.errors import NearlyDecomposableError
from moldable.exact import stationary
from moldable.exact.error_bound import ErrorBound
from moldable.exact.exact import stationary_law
from moldable.exact.states import whole_chain
from moldable.exact.window import product_form
from moldable.kernels.state_space import exact_imbalance
from moldable.system.count_model import chain_model
from moldable.system.loss_system import build_system
from naive import dense_chain


class TwoWaysToLive(Policy):
    """Very fast wide jobs while many servers are idle, slow narrow ones once few are."""

    def decide(self, job_class, idle):  # noqa: ARG002
        return {10: 1.0} if idle >= 42 else {1: 0.7, 2: 0.3}


def chain_of(workload, servers, policy):
    model = chain_model(build_system(Scenario(workload, servers), policy))
    return whole_chain(model, servers), model


def rates_of(chain):
    rates = np.zeros((chain.states, chain.states))
    for state in range(chain.states):
        for entry in range(chain.start[state], chain.start[state + 1]):
            rates[chain.source[entry], state] += chain.rate[entry]
    return rates


def test_two_metastable_states_are_refused():
    """The answer used to be blocking of 3e-16 where 0.0023 is true, with a tiny residual."""
    workload = Workload((JobClass("jobs", 200.0, SpeedUp({1: 1, 2: 2, 10: 640})),))
    with pytest.raises(NearlyDecomposableError, match="simulate instead"):
        stationary_law(Scenario(workload, 84), TwoWaysToLive(), method="chain")


def test_a_simulation_in_place_of_a_nearly_decomposable_chain_carries_a_warning():
    workload = Workload((JobClass("jobs", 200.0, SpeedUp({1: 1, 2: 2, 10: 640})),))
    found = evaluate(Scenario(workload, 84), TwoWaysToLive(), precision=0.1, seed=1)
    assert found.method == "simulate"
    assert any("nearly decomposable" in warning for warning in found.warnings)
    assert found.blocking.interval is None  # it would not hold the true 0.0023
    assert found.mean_execution_time.interval is None
    side_by_side = compare(Scenario(workload, 84), {"own": TwoWaysToLive()}, precision=0.1, seed=1)
    own = side_by_side.policies[0].performance
    assert any("nearly decomposable" in warning for warning in own.warnings)
    assert own.blocking.interval is None


def test_sizes_ten_orders_of_magnitude_apart_are_right_or_refused():
    for apart in (1e2, 1e4, 1e6, 1e8, 1e10, 1e13):
        workload = Workload(
            (
                JobClass("short", 6.0, SpeedUp([1, 1.8])),
                JobClass("long", 1.5 / apart, SpeedUp([1, 1.7, 2.3]), apart),
            )
        )
        policy = GreedyP({"short": {1: 0.5, 2: 0.5}, "long": {1: 0.3, 3: 0.7}})
        try:
            found = stationary_law(Scenario(workload, 8), policy, method="chain").performance()
        except NearlyDecomposableError:
            assert apart > 1e10
            continue
        truth = dense_chain.solve(workload, 8, policy)
        assert [c.blocking.value for c in found.classes] == pytest.approx(truth.blocking, rel=1e-8)
        assert found.mean_execution_time.value == pytest.approx(truth.mean_time, rel=1e-8)


def test_the_bound_holds_for_laws_that_are_wrong():
    scenario = Scenario.single(SpeedUp([1, 1.8, 2.5]), 0.9, 12)
    chain, model = chain_of(scenario.workload, 12, GreedyP({"jobs": {1: 0.3, 2: 0.3, 3: 0.4}}))
    truth = dense_chain._eliminate(rates_of(chain))  # noqa: SLF001 - the law itself is wanted
    rng = np.random.default_rng(1)
    blocked = model.blocked(chain.counts, 12)
    for size in (1e-3, 1e-6, 1e-9):
        law = truth * (1.0 + size * rng.uniform(-1, 1, truth.size))
        law /= law.sum()
        reference = int(np.argmax(law))
        gap = np.empty(law.size)
        exact_imbalance(chain.start, chain.source, chain.rate, law, np.zeros(law.size), gap)
        rho = np.abs(gap)
        rho[reference] = 0.0
        bound = ErrorBound(chain, reference, stationary._iterated_solver)  # noqa: SLF001
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
    found = ErrorBound(chain, 0, stationary._iterated_solver).hitting_times  # noqa: SLF001
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
    law, bound = stationary.stationary(chain, guess, model.blocked(chain.counts, 30))
    truth = dense_chain._eliminate(rates_of(chain))  # noqa: SLF001
    blocked = model.blocked(chain.counts, 30)
    assert float(truth @ blocked) < 1e-9
    assert float(law @ blocked) == pytest.approx(float(truth @ blocked), rel=1e-9)
    assert bound <= 1e-9
