"""More classes than the count chain can encode run in the bucket ring."""

from __future__ import annotations

import numpy as np
import pytest

from moldable import JobClass, Policy, Scenario, SpeedUp, Workload, evaluate, simulate
from moldable.errors import SimulationError
from moldable.policies.policy_table import PolicyTable
from moldable.simulation.chain_run import kernel_arguments
from moldable.simulation.replications import choose_kernel
from moldable.system.count_model import chain_model
from moldable.system.loss_system import build_system


class FirstTwo(Policy):
    """Grants a server to jobs of the first two classes and blocks all others."""

    def decide(self, job_class, idle):  # noqa: ARG002 - the interface
        return {1: 1.0}

    def tabulate(self, workload, pools):  # noqa: ARG002 - the interface
        none, one = np.zeros((2, 1)), np.array([[0.0], [1.0]])
        rows = [one if j < 2 else none for j in range(len(workload.classes))]
        return PolicyTable(workload.classes, tuple(rows), "first two")


def classes(count):
    return Workload(tuple(JobClass(f"c{k}", 1.0, SpeedUp([1])) for k in range(count)))


def test_blocking_of_many_classes_is_right():
    exact = evaluate(Scenario(classes(80), 40), FirstTwo()).blocking.value
    answer = simulate(Scenario(classes(80), 40), FirstTwo(), jobs=5000, replications=16, seed=1)
    assert abs(answer.blocking.value - exact) < 2 * answer.blocking.half_width < 0.005


@pytest.mark.parametrize(("count", "chain"), [(62, True), (63, False)])
def test_the_chain_runs_as_many_outcomes_as_it_can_encode(count, chain):
    system = build_system(Scenario(classes(count), 40), FirstTwo())
    kernel = choose_kernel(system, "assigned", replications=8)
    assert kernel == ("count-chain" if chain else "bucket-ring")


def test_the_chain_refuses_outcomes_that_it_cannot_encode():
    model = chain_model(build_system(Scenario(classes(63), 40), FirstTwo()))
    with pytest.raises(SimulationError, match=r"65 outcomes .* exceed the 64"):
        kernel_arguments(model, 8, 63)
