"""How chains are listed, solved, checked and refused."""

from __future__ import annotations

import dataclasses
from itertools import product

import numpy as np
import pytest

from moldable import Greedy, JobClass, Scenario, SpeedUp, Thresholds, Workload
from moldable.arrivals import Renewal
from moldable.errors import ChainError
from moldable.exact import pool, states, stationary
from moldable.exact.exact import stationary_law
from moldable.exact.pool import Joint, PoolLaw, predicted_states
from moldable.exact.states import product_form
from moldable.policies import FixedWidth, GreedyP
from moldable.sizes import Deterministic, Lognormal, MixedErlang
from moldable.system.count_model import chain_model
from moldable.system.loss_system import build_system
from naive.erlang import erlang_b

SUB_LINEAR = SpeedUp([1, 1.8, 2.5, 3, 3.4])


def chain_of(workload, servers, policy=None):
    return states.whole_chain(chain_model(build_system(Scenario(workload, servers), policy)))


@pytest.mark.parametrize("load", [0.55, 0.85, 1.1])
def test_iterating_gives_what_factorising_gives(monkeypatch, load):
    mixed = GreedyP({"jobs": {2: 0.3, 3: 0.5, 5: 0.2}})
    chain = chain_of(Scenario.single(SUB_LINEAR, load, 26).workload, 26, mixed)
    guess = product_form(chain.counts, np.full(chain.counts.shape[0], 2.0))
    assert chain.states <= stationary.FACTORISED[False]
    factorised, small = stationary.stationary(chain, guess)
    monkeypatch.setattr(stationary, "FACTORISED", {True: 0, False: 0})
    iterated, bound = stationary.stationary(chain, guess)
    np.testing.assert_allclose(iterated, factorised, rtol=0, atol=1e-11)
    assert max(small, bound) <= 1e-11
    assert not np.array_equal(iterated, factorised)  # two solvers were at work


def test_the_answer_does_not_depend_on_the_first_guess():
    chain = chain_of(Scenario.single(SUB_LINEAR, 0.95, 30).workload, 30)
    answers = [
        stationary.stationary(chain, guess)[0]
        for guess in (np.ones(chain.states), np.exp(-0.1 * np.arange(chain.states)))
    ]
    np.testing.assert_allclose(*answers, rtol=0, atol=1e-13)


def test_widths_that_are_all_but_never_granted_do_not_mislead_the_guess():
    """Two servers are given only where 87 of 100 are idle: Erlang's system to all digits."""
    scenario = Scenario.single(SpeedUp([1, 1.8]), 0.8, 100)
    policy = Thresholds({"jobs": {1: 1, 87: 2}})
    found = stationary_law(scenario, policy).performance()
    assert found.blocking.value == pytest.approx(erlang_b(80.0, 100), rel=1e-10)


@pytest.mark.parametrize(
    ("widths", "servers"), [((1, 2), 9), ((3, 1, 4), 17), ((2, 2, 5), 12), ((7,), 3)]
)
def test_states_are_counted_as_they_are_listed(widths, servers):
    listed = [
        jobs
        for jobs in product(*(range(servers // width + 1) for width in widths))
        if sum(w * x for w, x in zip(widths, jobs, strict=True)) <= servers
    ]
    assert states.count_states(np.array(widths), servers) == len(listed)


def test_every_state_is_listed_once():
    chain = chain_of(
        Scenario.single(SpeedUp.linear(3), 0.9, 11).workload,
        11,
        GreedyP({"jobs": {1: 0.2, 2: 0.3, 3: 0.5}}),
    )
    found = {tuple(column) for column in chain.counts.T.tolist()}
    expected = {
        (a, b, c) for a, b, c in product(range(12), range(6), range(4)) if a + 2 * b + 3 * c <= 11
    }
    assert found == expected
    assert chain.states == len(expected)


def test_the_predicted_states_are_those_of_the_chain():
    mixed = GreedyP({"jobs": {1: 0.5, 3: 0.5}})
    workload = Workload((JobClass("jobs", 4.0, SpeedUp.linear(3), size=MixedErlang()),))
    system = build_system(Scenario(workload, 8), mixed)
    assert predicted_states(system) == chain_of(workload, 8, mixed).states


def test_transient_states_are_left_out():
    """From an empty cluster the narrow width is only granted next to three wide jobs."""
    chain = chain_of(Scenario.single(SpeedUp.linear(3), 0.9, 10).workload, 10, FixedWidth(3))
    narrow = chain.counts[0]
    assert chain.counts.shape[0] == 3
    assert set(narrow.tolist()) == {0, 1}
    assert chain.states == 8  # up to three wide jobs, with and without one narrow


# What is refused, and how.


def test_too_many_states_are_refused_with_their_number_the_limit_and_advice():
    scenario = Scenario.single(SUB_LINEAR, 0.8, 4000)
    with pytest.raises(ChainError, match="more than") as refused:
        stationary_law(scenario)
    text = str(refused.value)
    widths, servers = np.array([1, 2, 3, 4]), 4000
    assert f"{states.count_states(widths, servers):,}" in text
    assert f"{states.MOST_STATES:,}" in text
    assert "simulate instead" in text


def test_nothing_is_listed_before_a_chain_is_refused(monkeypatch):
    def never(*_):
        raise AssertionError

    monkeypatch.setattr(pool, "whole_chain", never)
    monkeypatch.setattr(states, "MOST_STATES", 100)
    mixed = GreedyP({"jobs": {1: 0.5, 2: 0.3, 3: 0.2}})
    with pytest.raises(ChainError, match="100 that can be solved"):
        stationary_law(Scenario.single(SpeedUp.linear(3), 0.8, 30), mixed)


def test_a_closed_form_is_refused_where_none_is_known():
    with pytest.raises(ChainError, match="no closed form is known for greedy"):
        stationary_law(Scenario.single(SUB_LINEAR, 0.95, 20), method="closed-form")


def test_sizes_without_phases_are_refused_by_name():
    job_class = JobClass("jobs", 9.5, SpeedUp([1, 1.8]), size=Lognormal(1.0))
    with pytest.raises(ChainError, match=r"lognormal.* have no phases"):
        stationary_law(Scenario(Workload((job_class,)), 10))


def test_sizes_without_phases_have_their_formula():
    job_class = JobClass("jobs", 9.5, SpeedUp.linear(2), size=Deterministic())
    law = stationary_law(Scenario(Workload((job_class,)), 10))
    assert law.performance().method == "closed-form"
    with pytest.raises(ChainError, match="deterministic have no phases"):
        stationary_law(Scenario(Workload((job_class,)), 10), method="chain")


@pytest.mark.parametrize("method", ["auto", "chain"])
def test_arrivals_that_are_not_poisson_are_refused(method):
    arrivals = Renewal(Deterministic())
    scenario = Scenario.single(SpeedUp.linear(2), 0.5, 10, arrivals=arrivals)
    with pytest.raises(ChainError, match="Poisson"):
        stationary_law(scenario, method=method)


def test_an_unknown_method_is_refused_with_the_likely_one():
    with pytest.raises(ChainError, match="did you mean 'chain'"):
        stationary_law(Scenario.single(SpeedUp.linear(2), 0.5, 10), method="chian")


def test_an_unknown_distribution_of_counts_is_none():
    classes = (JobClass("a", 1.0, SpeedUp([1.0])), JobClass("b", 1.0, SpeedUp({2: 2.0})))
    law = stationary_law(Scenario(Workload(classes), 6), Greedy())
    with pytest.raises(ChainError, match="use the method 'chain'"):
        law.jobs(2)
    with pytest.raises(ChainError, match=r"widths that occur: \[1, 2\]"):
        law.jobs(3)


# Every answer is checked before it is given.


def wrong_law(monkeypatch, change):
    honest = stationary.stationary

    def wrong(chain, guess, rare):
        law, bound = honest(chain, guess, rare)
        law = change(law)
        return law / law.sum(), bound

    monkeypatch.setattr(pool, "stationary", wrong)


def test_a_law_that_is_not_stationary_fails_its_own_check(monkeypatch):
    policy = Thresholds({"jobs": {2: 1, 6: 2}})
    scenario = Scenario.single(SUB_LINEAR, 0.9, 12)
    wrong_law(monkeypatch, lambda law: law * (1.0 + 1e-6 * np.arange(law.size)))
    with pytest.raises(ChainError, match="fails rate conservation"):
        stationary_law(scenario, policy)


def test_flows_that_balance_only_in_total_fail_littles_law():
    system = build_system(Scenario.single(SpeedUp([1, 1.8]), 0.95, 12), None)
    honest = pool.solve_pool(system)
    shifted = honest.mean_jobs + 1e-6 * np.array([1.0, -1.0]) * system.kind_scale
    dishonest = dataclasses.replace(honest, mean_jobs=shifted)
    with pytest.raises(ChainError, match="fails Little's law"):
        dishonest.checked()


def test_a_distribution_of_nan_is_refused():
    system = build_system(Scenario.single(SpeedUp([1, 1.8]), 0.95, 4), None)
    counts = np.zeros((2, 1), dtype=np.int64)
    law = PoolLaw.of(system, Joint(counts, np.array([np.nan])), states=1, how="nonsense")
    with pytest.raises(ChainError):
        law.checked()


def test_equations_that_are_not_solved_are_an_error(monkeypatch):
    monkeypatch.setattr(stationary, "REFINEMENTS", 0)
    monkeypatch.setattr(stationary._Factors, "weights", lambda self: self.entering_guess())  # noqa: SLF001
    monkeypatch.setattr(
        stationary._Factors,  # noqa: SLF001
        "entering_guess",
        lambda self: np.ones(self.chain.states),
        raising=False,
    )
    with pytest.raises(ChainError, match="nearly decomposable"):
        stationary_law(Scenario.single(SUB_LINEAR, 0.95, 30))
