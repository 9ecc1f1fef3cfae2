"""Random small systems against their dense generator, eliminated state by state."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from moldable import JobClass, Scenario, SpeedUp, Workload
from moldable.exact.exact import stationary_law
from moldable.policies import Rigid
from moldable.sizes import Hyperexponential, MixedErlang, PhaseType
from naive import dense_chain
from naive.random_systems import random_policy, random_workload
from seeds import seeds

LOOP = PhaseType([0.5, 0.3, 0.2], [[-3.0, 2.0, 0.5], [0.4, -1.0, 0.3], [0.0, 0.5, -2.0]])
CURVE = SpeedUp([1.0, 1.8, 2.5])
TIGHT = {"rtol": 0.0, "atol": 1e-10}


def small_system(seed, *, most_classes, most_widths, most_states, size=None):
    """Draw (workload, servers, policy, dense answer) with not too many states."""
    attempt = 0
    while True:
        rng = np.random.default_rng([seed, attempt])
        servers = int(rng.integers(most_widths, 26))
        classes = int(rng.integers(1, most_classes + 1))
        workload = random_workload(
            rng, servers, classes=classes, most_widths=most_widths, size=size
        )
        policy = random_policy(rng, workload, servers)
        try:
            exact = dense_chain.solve(workload, servers, policy, most_states)
        except dense_chain.TooMany:
            attempt += 1
            continue
        return workload, servers, policy, exact


def assert_same(law, exact):
    """Compare everything that both know."""
    found = law.performance()
    assert [part.blocking.value for part in found.classes] == pytest.approx(
        exact.blocking, abs=1e-10
    )
    assert found.mean_execution_time.value == pytest.approx(exact.mean_time, abs=1e-10)
    shares = {width: share for width, share in found.width_shares.items() if share > 1e-15}
    assert shares == pytest.approx(exact.shares, abs=1e-10)
    np.testing.assert_allclose(law.busy_servers, exact.busy, **TIGHT)


@pytest.mark.parametrize("seed", seeds(200, few=50))
def test_a_random_system_is_solved_as_by_plain_elimination(seed):
    workload, servers, policy, exact = small_system(
        seed, most_classes=3, most_widths=5, most_states=400
    )
    law = stationary_law(Scenario(workload, servers), policy, method="chain")
    assert_same(law, exact)
    assert law.pools[0].states == len(exact.law)  # transient states are left out
    assert_same(
        stationary_law(Scenario(workload, servers), policy), exact
    )  # by formula where there is one
    for width in exact.shares:
        np.testing.assert_allclose(law.jobs(width), exact.jobs(width), **TIGHT)


@pytest.mark.parametrize("size", [MixedErlang(), Hyperexponential(2.5), LOOP], ids=str)
@pytest.mark.parametrize("seed", range(8))
def test_sizes_made_of_phases_are_followed_phase_by_phase(seed, size):
    workload, servers, policy, exact = small_system(
        seed, most_classes=2, most_widths=3, most_states=700, size=size
    )
    law = stationary_law(Scenario(workload, servers), policy, method="chain")
    assert_same(law, exact)
    assert law.pools[0].states == len(exact.law)


def test_classes_with_different_phases_share_one_chain():
    narrow = JobClass("narrow", 2.0, CURVE, 1.5, size=LOOP)
    wide = JobClass("wide", 1.0, CURVE, 0.5, size=MixedErlang())
    plain = JobClass("plain", 0.7, CURVE)
    workload = Workload((narrow, wide, plain))
    policy = Rigid({"narrow": 1, "wide": 2, "plain": 3})
    exact = dense_chain.solve(workload, 6, policy)
    assert_same(stationary_law(Scenario(workload, 6), policy, method="chain"), exact)


def test_a_rate_one_percent_off_would_be_noticed():
    workload, servers, policy, exact = small_system(
        3, most_classes=1, most_widths=5, most_states=400
    )
    part = workload.classes[0]
    wrong = Workload((dataclasses.replace(part, arrival_rate=1.01 * part.arrival_rate),))
    with pytest.raises(AssertionError):
        assert_same(stationary_law(Scenario(wrong, servers), policy, method="chain"), exact)
