"""Formulas against the chain, against naive recursions and against simulation."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy.special import gammaincc, pdtr, xlog1py

from moldable import Greedy, JobClass, Scenario, SpeedUp, Workload
from moldable.errors import ChainError
from moldable.exact.closed_forms import erlang_b, occupied_slots
from moldable.exact.equi import equi_performance
from moldable.exact.exact import stationary_law
from moldable.policies import Equi, FixedWidth, Rigid
from moldable.sizes import Deterministic, Hyperexponential, Lognormal, MixedErlang
from moldable.system.equi_queue import jobs_present
from naive import equi as naive_equi
from naive.erlang import erlang_b as naive_erlang_b

SUB_LINEAR = SpeedUp([1, 1.8, 2.5, 3, 3.4])
CURVES = {
    "linear": SpeedUp.linear(5),
    "sub-linear": SUB_LINEAR,
    "dipping": SpeedUp([1.0, 1.9, 1.5, 3.0, 2.8, 4.2]),
    "super-linear": SpeedUp([1.0, 2.5, 4.5, 6.0]),
    "with gaps": SpeedUp({1: 1.0, 2: 1.7, 3: 2.4, 7: 5.0}),
}


# Erlang.


@pytest.mark.parametrize("slots", [1, 2, 7, 100, 5000])
@pytest.mark.parametrize("relative", [1e-3, 0.5, 0.99, 1.0, 1.7, 40.0])
def test_erlang_b_is_what_the_recursion_gives(slots, relative):
    offered = slots * relative
    assert erlang_b(slots, offered) == pytest.approx(naive_erlang_b(offered, slots), rel=1e-12)


@pytest.mark.parametrize("distance", [-3.0, -0.1, 0.0, 2.0])
def test_erlang_b_is_stable_with_a_million_slots(distance):
    """Against a Poisson density by Stirling's series over a tail by incomplete gamma functions."""
    slots = 1_000_000
    offered = slots + distance * math.sqrt(slots)
    stirling = 1 / (12 * slots) - 1 / (360 * slots**3)
    # log(offered**slots e**-offered / slots!), with the large terms cancelled by hand.
    gap = (offered - slots) / slots
    log_term = (
        float(xlog1py(slots, gap)) - slots * gap - 0.5 * math.log(2 * math.pi * slots) - stirling
    )
    tail = float(gammaincc(slots + 1, offered))  # P(at most this number), see also pdtr
    assert tail == pytest.approx(float(pdtr(slots, offered)), rel=1e-12)
    assert erlang_b(slots, offered) == pytest.approx(math.exp(log_term) / tail, rel=1e-9)


def test_taken_slots_are_a_cut_poisson_number():
    law = occupied_slots(3, 2.0)
    np.testing.assert_allclose(law, np.array([6, 12, 12, 8]) / 38, rtol=1e-15)


@pytest.mark.parametrize("size", [MixedErlang(), Hyperexponential(3.0), Lognormal(2.0)], ids=str)
def test_one_width_is_insensitive_to_the_law_of_sizes(size):
    workload = Workload((JobClass("jobs", 9.0, SpeedUp.linear(4), 2.0, size=size),))
    found = stationary_law(Scenario(workload, 20), FixedWidth(4)).performance()
    assert found.method == "closed-form"
    assert found.blocking.value == pytest.approx(naive_erlang_b(4.5, 5), rel=1e-14)
    if size.phases is not None:
        chain = stationary_law(Scenario(workload, 20), FixedWidth(4), method="chain").performance()
        assert chain.blocking.value == pytest.approx(found.blocking.value, rel=1e-12)


# One width with a remainder.


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("servers", [7, 9, 23, 38, 41])
@pytest.mark.parametrize("load", [0.4, 0.97, 1.8])
def test_a_remainder_is_solved_as_by_the_chain(name, servers, load):
    scenario = Scenario.single(CURVES[name], load, servers)
    formula = stationary_law(scenario, Greedy())
    chain = stationary_law(scenario, Greedy(), method="chain")
    # Where the best narrow width leaves servers unused, no formula is known.
    exact = formula.performance()
    assert exact.blocking.value == pytest.approx(chain.performance().blocking.value, rel=1e-11)
    assert exact.mean_execution_time.value == pytest.approx(
        chain.performance().mean_execution_time.value, rel=1e-12
    )
    np.testing.assert_allclose(formula.busy_servers, chain.busy_servers, rtol=0, atol=1e-13)


def test_the_formula_of_the_remainder_is_really_used():
    found = stationary_law(Scenario.single(SUB_LINEAR, 0.9, 4003), Greedy()).performance()
    assert found.method == "closed-form"
    assert "remainder" in found.reason
    assert found.width_shares[3] > 0.0


def test_a_remainder_needs_exponential_sizes():
    """Beside a remainder the narrow job's age matters, so the law of sizes does too."""
    answers = {}
    for size in (None, Hyperexponential(3.0)):
        law = {} if size is None else {"size": size}
        workload = Workload((JobClass("jobs", 6.0, SUB_LINEAR, **law),))
        answers[size] = stationary_law(Scenario(workload, 13), Greedy()).performance()
    plain, varied = answers.values()
    assert (plain.method, varied.method) == ("closed-form", "chain")
    assert abs(plain.blocking.value / varied.blocking.value - 1) > 1e-3


# Kaufman and Roberts.

TWO = Workload(
    (
        JobClass("narrow", 6.0, SpeedUp({1: 1.0})),
        JobClass("wide", 2.0, SpeedUp({3: 2.5}), 1.5),
    )
)
THREE = Workload((*TWO.classes, JobClass("widest", 0.8, SpeedUp.linear(5), 3.0)))


@pytest.mark.parametrize(("workload", "servers"), [(TWO, 17), (TWO, 40), (THREE, 16), (THREE, 25)])
def test_rigid_jobs_by_recursion_and_by_chain(workload, servers):
    widths = dict(zip(("narrow", "wide", "widest"), (1, 3, 5), strict=True))
    policy = Rigid({part.name: widths[part.name] for part in workload.classes})
    recursion = stationary_law(Scenario(workload, servers), policy)
    chain = stationary_law(Scenario(workload, servers), policy, method="chain")
    assert recursion.performance().method == "closed-form"
    np.testing.assert_allclose(recursion.busy_servers, chain.busy_servers, rtol=1e-10)
    for a, b in zip(recursion.performance().classes, chain.performance().classes, strict=True):
        assert a.blocking.value == pytest.approx(b.blocking.value, rel=1e-11)
        assert a.mean_jobs == pytest.approx(b.mean_jobs, rel=1e-11)


@pytest.mark.parametrize("size", [MixedErlang(), Hyperexponential(2.0)], ids=str)
def test_rigid_jobs_are_insensitive_to_the_law_of_sizes(size):
    classes = tuple(dataclasses.replace(part, size=size) for part in TWO.classes)
    policy = Rigid({"narrow": 1, "wide": 3})
    plain = stationary_law(Scenario(TWO, 12), policy).busy_servers
    chain = stationary_law(Scenario(Workload(classes), 12), policy, method="chain").busy_servers
    np.testing.assert_allclose(plain, chain, rtol=1e-10)


def test_the_recursion_does_not_overflow_on_large_clusters():
    """A hundred thousand servers at width 1 are Erlang's: one class split in two."""
    servers, load = 100_000, 0.999
    classes = tuple(JobClass(n, servers * load / 2, SpeedUp([1.0])) for n in ("one", "two"))
    found = stationary_law(Scenario(Workload(classes), servers), Rigid()).performance()
    exact = naive_erlang_b(servers * load, servers)
    assert [part.blocking.value for part in found.classes] == pytest.approx([exact] * 2, rel=1e-10)


# EQUI.


def draw_deterministic(rng, count):  # noqa: ARG001
    return np.ones(count)


def draw_hyperexponential(rng, count):
    return Hyperexponential(2.0).sample(rng, count)


@pytest.mark.parametrize(
    ("size", "draw"),
    [
        (Deterministic(), draw_deterministic),
        (Hyperexponential(2.0), draw_hyperexponential),
    ],
    ids=["deterministic", "hyperexponential"],
)
def test_equi_is_what_a_simulation_of_shared_servers_gives(size, draw):
    servers, rate = 8, 9.0
    curve = {1: 1.0, 2: 1.8, 4: 2.6}
    estimate = naive_equi.simulate(
        curve, rate, draw, servers, arrivals=30_000, replications=16, warmup=500, seed=5
    )

    def standard_errors(factor):
        job_class = JobClass("jobs", factor * rate, SpeedUp(curve), size=size)
        exact = equi_performance(Scenario(Workload((job_class,)), servers))
        return (
            abs(estimate.blocking - exact.blocking.value) / estimate.blocking_error,
            abs(estimate.mean_time - exact.mean_execution_time.value) / estimate.mean_time_error,
        )

    assert max(standard_errors(1.0)) < 4
    assert max(standard_errors(1.02)) > 4
    assert max(standard_errors(0.98)) > 4


@pytest.mark.parametrize("load", [0.3, 0.95, 1.0, 1.4])
def test_equi_on_a_linear_curve_is_processor_sharing(load):
    """Any number of jobs uses all servers: M/M/1/n, whose law is geometric."""
    servers = 12
    scenario = Scenario.single(SpeedUp.linear(servers), load, servers)
    weights = [load**jobs for jobs in range(servers + 1)]
    np.testing.assert_allclose(jobs_present(scenario), np.array(weights) / sum(weights), rtol=1e-13)
    found = equi_performance(scenario)
    assert found.blocking.value == pytest.approx(weights[-1] / sum(weights), rel=1e-13)
    mean_jobs = sum(jobs * weight for jobs, weight in enumerate(weights)) / sum(weights)
    accepted = servers * load * (1 - weights[-1] / sum(weights))
    assert found.mean_execution_time.value == pytest.approx(mean_jobs / accepted, rel=1e-13)
    assert found.busy_fraction == pytest.approx(1 - weights[0] / sum(weights), rel=1e-13)


def test_equi_on_one_width_is_erlangs_system():
    scenario = Scenario.single(SpeedUp([1.0]), 0.999, 100_000)
    found = equi_performance(scenario)
    assert found.blocking.value == pytest.approx(naive_erlang_b(99_900.0, 100_000), rel=1e-12)


@pytest.mark.parametrize("load", [2.0, 3.0, 4.5])
def test_equi_has_two_peaks_on_a_super_linear_curve_and_both_are_weighed(load):
    """Few jobs run wide and leave fast, many run narrow and stay: no step ever overflows."""
    servers, curve = 4000, SpeedUp([1.0, 4.0, 9.0, 16.0, 25.0])
    scenario = Scenario.single(curve, load, servers)
    rates = Equi.departure_rates(scenario.workload.classes[0], servers)
    logs = [0.0]
    for jobs in range(1, servers + 1):
        logs.append(logs[-1] + math.log(servers * load) - math.log(rates[jobs]))
    total = math.fsum(math.exp(value - max(logs)) for value in logs)
    law = jobs_present(scenario)
    for jobs in (0, 100, servers // 5, servers // 2, servers):
        exact = math.exp(logs[jobs] - max(logs)) / total
        assert law[jobs] == pytest.approx(exact, rel=1e-9, abs=1e-300)


def test_equi_leaves_servers_idle_that_no_job_can_use():
    """One job at a time in effect; a width of 5 does not fit on 3 servers, so it runs on one."""
    found = equi_performance(
        Scenario(Workload((JobClass("jobs", 1e-6, SpeedUp({1: 1.0, 5: 5.0})),)), 3)
    )
    assert found.busy_fraction == pytest.approx(1e-6 / 3, rel=1e-5)


def test_a_law_of_equi_that_is_not_stationary_fails_its_own_check(monkeypatch):
    scenario = Scenario.single(SUB_LINEAR, 0.9, 12)
    law = jobs_present(scenario)
    wrong = law * (1.0 + 1e-6 * np.arange(13))
    monkeypatch.setattr("moldable.system.equi_queue.jobs_present", lambda *_: wrong / wrong.sum())
    with pytest.raises(ChainError, match="fails rate conservation"):
        equi_performance(scenario)
