"""The terms of the paper's proof under exact laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import pdtr

from moldable import Greedy, JobClass, Regime, Scenario, SpeedUp, Thresholds, Workload, greedy_p
from moldable.errors import ChainError
from moldable.exact.exact import stationary_law
from moldable.policies import GreedyP
from moldable.sizes import MixedErlang
from naive import dense_chain
from naive.random_systems import RandomTable

LINEAR, SUB_LINEAR = SpeedUp.linear(5), SpeedUp([1, 1.8, 2.5, 3, 3.4])


def dense_mean(workload, servers, function):
    """Average function(jobs of each width) over the law of the dense chain."""
    law = dense_chain.solve(workload, servers, greedy_p(Scenario(workload, servers))).law
    total = 0.0
    for state, weight in law.items():
        total += weight * function({width: jobs for (_, width, _), jobs in state})
    return total


@pytest.mark.parametrize("load", [0.6, 0.8, 0.97])
def test_the_distance_is_summed_state_by_state(load):
    servers = 12
    scenario = Scenario.single(SUB_LINEAR, load, servers)
    theory = stationary_law(scenario).theory
    y = dict(zip(theory.optimum.widths.tolist(), theory.optimum.scaled_jobs.tolist(), strict=True))

    def apart(jobs):
        return sum(abs(jobs.get(width, 0) / servers - y[width]) for width in y)

    assert theory.distance == pytest.approx(
        dense_mean(scenario.workload, servers, apart), rel=1e-11
    )


@pytest.mark.parametrize(
    "policy",
    [
        None,
        Greedy(),
        GreedyP({"jobs": {1: 0.2, 3: 0.5, 5: 0.3}}),
        Thresholds({"jobs": {2: 2, 6: 3, 9: 5}}),
        RandomTable(np.random.default_rng(4)),
    ],
    ids=["greedy(p*)", "greedy", "greedy(p)", "thresholds", "table"],
)
@pytest.mark.parametrize("load", [0.7, 0.95])
def test_the_identity_of_generators_holds_for_any_policy(policy, load):
    scenario = Scenario.single(SUB_LINEAR, load, 17)
    identity = stationary_law(scenario, policy).theory.generator_identity
    assert identity.squared_distance == pytest.approx(
        identity.noise + identity.mismatch, rel=0, abs=1e-13
    )
    assert identity.squared_distance > 1e-3


def test_the_terms_of_the_identity_are_summed_state_by_state():
    servers, load = 10, 0.8
    scenario = Scenario.single(SUB_LINEAR, load, servers)
    theory = stationary_law(scenario).theory
    optimum = theory.optimum
    assert optimum.support == (3, 4)
    y = {width: optimum.scaled_jobs[width - 1] for width in (3, 4)}
    policy = greedy_p(scenario)

    def granted(jobs, width):
        idle = servers - sum(w * x for w, x in jobs.items())
        return dense_chain.chances(policy, scenario.workload.classes[0], idle).get(width, 0.0)

    def squared(jobs):
        return sum(SUB_LINEAR[w] * (jobs.get(w, 0) / servers - y[w]) ** 2 for w in y)

    def noise(jobs):
        return load / servers * sum(granted(jobs, w) for w in y)

    def mismatch(jobs):
        return sum(
            (jobs.get(w, 0) / servers - y[w]) * (load * granted(jobs, w) - SUB_LINEAR[w] * y[w])
            for w in y
        )

    identity = theory.generator_identity
    found = (identity.squared_distance, identity.noise, identity.mismatch)
    exact = [dense_mean(scenario.workload, servers, term) for term in (squared, noise, mismatch)]
    assert found == pytest.approx(exact, rel=1e-11)


def test_the_departure_rate_exceeds_the_bound_of_the_drift_lemma():
    """P(r > load + delta): 0.309 on the linear curve, against a bound of 0.199."""
    servers, load = 4000, 0.8
    delta = 1 / math.sqrt(servers)
    theory = stationary_law(Scenario.single(LINEAR, load, servers)).theory
    found = theory.departure_rate_above(load + delta)
    # r = 5 x jobs / n, and jobs are a Poisson number of mean 640, cut at 800.
    slots, mean = servers // 5, servers * load / 5
    most = math.floor((load + delta) * servers / 5)
    exact = 1 - float(pdtr(most, mean)) / float(pdtr(slots, mean))
    assert found == pytest.approx(exact, rel=1e-11)
    assert found == pytest.approx(0.309, abs=5e-4)
    bound = (5 / load) * (1 / servers + 2 / (servers * delta))
    assert bound == pytest.approx(0.199, abs=5e-4)
    assert found > 1.5 * bound


# Collapse: "at most one job narrower than i1".


@pytest.mark.parametrize("servers", [8, 12, 20])
def test_two_narrow_jobs_do_meet_when_the_support_is_3_and_4(servers):
    scenario = Scenario.single(SUB_LINEAR, 0.8, servers)
    theory = stationary_law(scenario).theory
    assert theory.optimum.support == (3, 4)

    def several(jobs):
        return float(sum(x for width, x in jobs.items() if width < 3) > 1)

    def narrow(jobs):
        return sum(x for width, x in jobs.items() if width < 3) / servers

    exact = dense_mean(scenario.workload, servers, several)
    assert exact > 0.1
    assert theory.several_narrow_jobs == pytest.approx(exact, rel=1e-11)
    assert theory.narrow_jobs == pytest.approx(
        dense_mean(scenario.workload, servers, narrow), rel=1e-11
    )


def test_there_are_more_narrow_jobs_than_the_lemma_allows():
    theory = stationary_law(Scenario.single(SUB_LINEAR, 0.8, 20)).theory
    assert theory.narrow_jobs > 1 / 20


@pytest.mark.parametrize(
    ("curve", "load", "servers"),
    [
        (LINEAR, 0.8, 23),  # one width, with a remainder
        (SUB_LINEAR, 2.5 / 3, 23),  # one width, inside the curve
        (SUB_LINEAR, 0.97, 23),  # two widths, the narrower one server
    ],
)
def test_narrow_jobs_collapse_with_one_width_or_with_width_1(curve, load, servers):
    theory = stationary_law(Scenario.single(curve, load, servers)).theory
    assert len(theory.optimum.support) == 1 or theory.optimum.i1 == 1
    assert theory.several_narrow_jobs == 0.0
    assert theory.narrow_jobs <= 1 / servers


def test_the_distance_shrinks_as_the_cluster_grows():
    regime = Regime(1 / 2, 0.1)
    distances = []
    for servers in (25, 100, 400):
        scenario = Scenario.single(SUB_LINEAR, regime.load(servers), servers)
        distances.append(stationary_law(scenario).theory.distance)
    assert distances[0] > 1.5 * distances[1] > 2.25 * distances[2]


def test_the_lemmas_are_about_one_class():
    classes = (JobClass("a", 1.0, LINEAR), JobClass("b", 1.0, LINEAR))
    with pytest.raises(ChainError, match="one class; this workload has 2"):
        _ = stationary_law(Scenario(Workload(classes), 10), Greedy()).theory


def test_the_lemmas_are_about_exponential_sizes():
    phases = Workload((JobClass("jobs", 19.0, SpeedUp([1, 1.8]), size=MixedErlang()),))
    law = stationary_law(Scenario(phases, 20))
    assert law.busy_servers.sum() == pytest.approx(1)
    with pytest.raises(ChainError, match="exponential sizes"):
        _ = law.theory
