"""Nearly decomposable chains are solved accurately or refused."""

from __future__ import annotations

import pytest

from moldable import JobClass, Policy, Scenario, SpeedUp, Workload, compare, evaluate
from moldable.errors import ChainError
from moldable.exact.exact import stationary_law
from moldable.policies import GreedyP
from naive import dense_chain


class TwoWaysToLive(Policy):
    """Very fast wide jobs while many servers are idle, slow narrow ones once few are."""

    def decide(self, job_class, idle):  # noqa: ARG002
        return {10: 1.0} if idle >= 42 else {1: 0.7, 2: 0.3}


def test_two_metastable_states_are_refused():
    """The answer used to be blocking of 3e-16 where 0.0023 is true, with a tiny residual."""
    workload = Workload((JobClass("jobs", 200.0, SpeedUp({1: 1, 2: 2, 10: 640})),))
    with pytest.raises(ChainError, match="simulate instead"):
        stationary_law(Scenario(workload, 84), TwoWaysToLive(), method="chain")


@pytest.mark.long
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
        except ChainError:
            assert apart > 1e10
            continue
        truth = dense_chain.solve(workload, 8, policy)
        assert [c.blocking.value for c in found.classes] == pytest.approx(truth.blocking, rel=1e-8)
        assert found.mean_execution_time.value == pytest.approx(truth.mean_time, rel=1e-8)
