"""Which initial states count as stationary."""

from __future__ import annotations

import numpy as np
import pytest

from moldable import Greedy, JobClass, Policy, Scenario, SpeedUp, Workload
from moldable.policies import FixedWidth
from moldable.policies.policy_table import PolicyTable
from moldable.simulation.start import exactly_stationary
from moldable.system.loss_system import build_system
from simulation.coverage import OWN, Reserve


class Thinned(Policy):
    """Grants one width with the same probability whenever it fits."""

    def decide(self, job_class, idle):  # noqa: ARG002 - the interface
        return {2: 1.0}

    def tabulate(self, workload, pools):  # noqa: ARG002 - the interface
        rows = np.zeros((5, 1))
        rows[2:] = 0.7
        return PolicyTable(workload.classes, (rows,))


TWO = Workload((JobClass("jobs", 4.0, SpeedUp({2: 2.0})),))


@pytest.mark.parametrize(
    ("workload", "servers", "policy", "stationary"),
    [
        (TWO, 8, Greedy(), True),
        (TWO, 8, FixedWidth(2, strict=True), True),
        (TWO, 8, Thinned(), True),
        (TWO, 9, Greedy(), False),  # a server is left over
        (OWN, 64, Reserve(), False),  # jobs are blocked although servers are idle
    ],
)
def test_admission_that_depends_on_idle_servers_needs_a_warm_up(
    workload, servers, policy, stationary
):
    system = build_system(Scenario(workload, servers), policy)
    assert exactly_stationary(system, "equilibrium") is stationary
    assert not exactly_stationary(system, "empty")
