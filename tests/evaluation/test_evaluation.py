"""Which method `evaluate` uses, the reason it gives, and what the answer contains."""

from __future__ import annotations

import json
import math
import threading

import numpy as np
import pytest

from moldable import (
    Greedy,
    JobClass,
    MoldableError,
    Policy,
    Scenario,
    SpeedUp,
    Workload,
    compare,
    evaluate,
)
from moldable.arrivals import Renewal
from moldable.errors import ChainError
from moldable.exact.exact import stationary_law
from moldable.files import parse_arrivals
from moldable.policies import Equi, FixedWidth, GreedyP
from moldable.results import SimulationDetail
from moldable.sizes import Deterministic, Lognormal, MixedErlang
from moldable.threads import ended_by
from naive.erlang import erlang_b

LINEAR, SUB_LINEAR = SpeedUp.linear(5), SpeedUp([1, 1.8, 2.5, 3, 3.4])
ROUGH = {"precision": 0.2, "seed": 1, "threads": 1}


def mixed(size=None, servers=20):
    law = {} if size is None else {"size": size}
    return Workload((JobClass("jobs", 0.97 * servers, SUB_LINEAR, **law),))


# Which method.


@pytest.mark.parametrize(
    ("workload", "servers", "policy", "reason"),
    [
        (Scenario.single(LINEAR, 0.9, 20).workload, 20, None, "Erlang"),
        (mixed(Lognormal(2.0)), 20, FixedWidth(4, strict=True), "Erlang"),
        (mixed(), 22, Greedy(), "remainder"),
        (
            Workload((JobClass("a", 5.0, SpeedUp([1.0])), JobClass("b", 1.0, SpeedUp({4: 3.0})))),
            20,
            Greedy(),
            "Kaufman",
        ),
    ],
)
def test_a_formula_is_used_where_one_is_known(workload, servers, policy, reason):
    found = evaluate(Scenario(workload, servers), policy)
    assert found.method == "closed-form"
    assert found.reason.startswith("a formula is known: ")
    assert reason in found.reason


@pytest.mark.parametrize("size", [None, MixedErlang()], ids=str)
def test_a_small_chain_is_solved(size):
    found = evaluate(Scenario(mixed(size), 20))
    assert found.method == "chain"
    assert found.reason == (
        f"no formula is known, but the chain can be solved: the whole chain of "
        f"{found.detail.states:,} "
        f"states"
    )
    assert found.detail.error_bound <= 1e-11


def test_a_large_cluster_on_two_widths_is_solved_on_a_window():
    scenario = Scenario.single(SUB_LINEAR, 0.99, 1000)
    found = evaluate(scenario)
    assert found.method == "chain"
    assert f"a window of {found.detail.states:,} states" in found.reason
    assert 0.0 < found.detail.neglected_mass <= 1e-14


@pytest.mark.parametrize(
    ("scenario", "reason"),
    [
        (Scenario(mixed(Lognormal(1.0)), 20), "without phases"),
        (Scenario(mixed(), 20, Renewal(Deterministic())), "for Poisson arrivals only"),
        (Scenario(mixed(), 20, parse_arrivals("mmpp:0.5,2:0.1,0.2")), "for Poisson arrivals only"),
        (Scenario.single(SUB_LINEAR, 0.8, 400), "the chain would have"),
    ],
    ids=["sizes", "renewal", "mmpp", "states"],
)
def test_everything_else_is_simulated(scenario, reason):
    found = evaluate(scenario, **ROUGH)
    assert found.method == "simulate"
    assert reason in found.reason
    assert found.detail.seed == 1
    assert isinstance(found.detail, SimulationDetail)
    assert found.to_dict()["states"] is None


@pytest.mark.parametrize("method", ["closed-form", "chain", "simulate"])
def test_a_method_that_is_asked_for_is_used(method):
    scenario = Scenario.single(LINEAR, 0.9, 20)
    found = evaluate(scenario, method=method, **ROUGH)
    assert found.method == method
    assert found.reason.startswith("asked for")


def test_methods_agree_where_several_apply():
    scenario, exact = Scenario.single(LINEAR, 0.9, 20), erlang_b(3.6, 4)
    assert evaluate(scenario).blocking.value == pytest.approx(exact, rel=1e-14)
    assert evaluate(scenario, method="chain").blocking.value == pytest.approx(exact, rel=1e-12)
    found = evaluate(scenario, method="simulate", precision=0.003, seed=3, threads=1)
    error = found.blocking.half_width / 1.96
    assert abs(found.blocking.value - exact) < 4 * error
    assert 0.01 * exact > 4 * error  # so that an answer one percent off would be noticed


# What is refused.


@pytest.mark.parametrize("precision", [-0.01, 0.0, 1.0, math.nan])
def test_an_impossible_precision_is_refused_even_where_the_answer_is_exact(precision):
    with pytest.raises(MoldableError, match="must lie between 0 and 1"):
        evaluate(Scenario.single(LINEAR, 0.9, 20), precision=precision)


@pytest.mark.parametrize("option", [{"seed": 1.5}, {"seed": "1"}, {"threads": 0}])
@pytest.mark.parametrize("policy", ["fixed:1", "equi"])
def test_options_of_simulations_are_checked_even_where_the_answer_is_exact(policy, option):
    scenario = Scenario.single(LINEAR, 0.9, 20)
    with pytest.raises(MoldableError, match=f"^{next(iter(option))}="):
        evaluate(scenario, policy, **option)
    with pytest.raises(MoldableError, match=f"^{next(iter(option))}="):
        compare(scenario, [policy], **option)


def test_an_unknown_method_is_refused_with_the_likely_one():
    with pytest.raises(MoldableError, match="did you mean 'simulate'"):
        evaluate(Scenario(mixed(), 20), method="simulation")


def test_an_exact_method_that_does_not_apply_is_refused_not_replaced():
    with pytest.raises(MoldableError, match="no closed form"):
        evaluate(Scenario(mixed(), 20), method="closed-form")
    with pytest.raises(MoldableError, match="have no phases"):
        evaluate(Scenario(mixed(Lognormal(1.0)), 20), method="chain")
    with pytest.raises(MoldableError, match="more than the 5,000,000"):
        evaluate(Scenario.single(SUB_LINEAR, 0.8, 4000), method="chain")


# What an answer holds.


def test_exact_answers_have_intervals_without_width():
    for method in ("closed-form", "chain"):
        found = evaluate(Scenario.single(LINEAR, 0.9, 20), method=method)
        for part in (found, *found.classes):
            for estimate in (part.blocking, part.mean_execution_time):
                assert estimate.interval == (estimate.value, estimate.value)
                assert "±" not in str(estimate)


KEYS = {
    "blocking",
    "blocking_interval",
    "mean_execution_time",
    "mean_execution_time_interval",
    "quantiles",
    "width_shares",
    "mean_jobs",
    "busy_fraction",
    "departure_rate",
    "classes",
    "method",
    "reason",
    "states",
    "error_bound",
    "neglected_mass",
    "estimator",
    "arrivals",
    "arrivals_per_second",
    "seed",
    "kernel",
    "start",
    "warmup",
    "converged",
    "warnings",
    "provenance",
}


@pytest.mark.parametrize("method", ["closed-form", "chain", "simulate"])
def test_every_method_fills_the_same_dictionary(method):
    found = evaluate(Scenario.single(LINEAR, 0.9, 20), method=method, **ROUGH).to_dict()
    assert set(found) >= KEYS
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    exact = method != "simulate"
    assert (found["seed"] is None) == exact
    assert (found["states"] is None) == (not exact)
    assert found["provenance"]["servers"] == 20


def test_an_answer_adds_up():
    """Little's law, rate conservation and the mixture of execution times, from outside."""
    classes = (
        JobClass("a", 4.0, SUB_LINEAR, 1.5),
        JobClass("b", 3.0, SpeedUp([1.0, 1.6]), 0.8, size=MixedErlang()),
    )
    policy = GreedyP({"a": {2: 0.5, 4: 0.5}, "b": {1: 0.3, 2: 0.7}})
    found = evaluate(Scenario(Workload(classes), 9), policy, method="chain")
    accepted = [
        c.arrival_rate * (1 - part.blocking.value)
        for c, part in zip(classes, found.classes, strict=True)
    ]
    for rate, part in zip(accepted, found.classes, strict=True):
        jobs = 9 * sum(part.mean_jobs.values())
        assert jobs == pytest.approx(rate * part.mean_execution_time.value, rel=1e-11)
        assert sum(part.width_shares.values()) == pytest.approx(1.0, rel=1e-14)
    assert 9 * found.departure_rate == pytest.approx(sum(accepted), rel=1e-11)
    busy = sum(width * jobs for width, jobs in found.mean_jobs.items())
    assert found.busy_fraction == pytest.approx(busy, rel=1e-12)
    assert 7.0 * (1 - found.blocking.value) == pytest.approx(sum(accepted), rel=1e-12)
    below = sum(
        rate * share * float(c.size.cdf(np.array([found.quantiles[0.9] * s / c.mean_size]))[0])
        for rate, c, part in zip(accepted, classes, found.classes, strict=True)
        for width, share in part.width_shares.items()
        for s in (c.speedup[width],)
    )
    assert below / sum(accepted) == pytest.approx(0.9, rel=1e-9)


# EQUI.


def test_equi_has_its_own_formula():
    scenario = Scenario.single(SpeedUp([1.0]), 0.9, 20)
    for method in ("auto", "closed-form"):
        found = evaluate(scenario, Equi(), method=method)
        assert found.method == "closed-form"
        assert found.blocking.value == pytest.approx(erlang_b(18.0, 20), rel=1e-13)
        assert found.to_dict()["provenance"]["policy"] == "equi"


@pytest.mark.parametrize("method", ["chain", "simulate"])
def test_equi_is_known_by_formula_only(method):
    with pytest.raises(MoldableError, match="closed form only"):
        evaluate(Scenario.single(LINEAR, 0.9, 20), Equi(), method=method)


def test_equi_needs_poisson_arrivals_and_one_class():
    with pytest.raises(MoldableError, match="Poisson"):
        evaluate(Scenario(mixed(), 20, Renewal(Deterministic())), Equi())
    two = Workload((JobClass("a", 1.0, LINEAR), JobClass("b", 1.0, LINEAR)))
    with pytest.raises(MoldableError, match="has 2"):
        evaluate(Scenario(two, 20), Equi())


# Classes that own servers.


def reserved(*classes):
    return Workload(tuple(classes), sharing="reserved")


def test_reserved_classes_are_independent_systems_side_by_side():
    one = JobClass("one", 7.0, LINEAR)
    two = JobClass("two", 3.0, SUB_LINEAR, 2.0)
    policy = GreedyP({"one": {3: 0.4, 5: 0.6}, "two": {1: 0.2, 2: 0.8}})
    law = stationary_law(Scenario(reserved(one, two), 20), policy)
    found = evaluate(Scenario(reserved(one, two), 20), policy)
    pools = found.provenance["pools"]
    assert sum(pools) == 20
    alone = [
        stationary_law(
            Scenario(Workload((part,)), own), GreedyP({part.name: policy.shares[part.name]})
        )
        for part, own in zip((one, two), pools, strict=True)
    ]
    exact = [single.performance() for single in alone]
    for part, single in zip(found.classes, exact, strict=True):
        assert part.blocking.value == pytest.approx(single.blocking.value, rel=1e-13)
        assert part.mean_execution_time.value == pytest.approx(
            single.mean_execution_time.value, rel=1e-13
        )
    assert found.blocking.value == pytest.approx(
        0.7 * exact[0].blocking.value + 0.3 * exact[1].blocking.value, rel=1e-13
    )
    # The sum of two independent numbers of busy servers, written out.
    both = np.zeros(21)
    for a, p in enumerate(alone[0].busy_servers):
        for b, q in enumerate(alone[1].busy_servers):
            both[a + b] += p * q
    np.testing.assert_allclose(law.busy_servers, both, rtol=0, atol=1e-15)
    assert found.busy_fraction == pytest.approx(float(both @ np.arange(21)) / 20, rel=1e-12)
    assert found.detail.states == sum(single.detail.states for single in exact)


def test_reserved_classes_are_solved_each_by_its_own_method():
    # By formula: one width that fits; by chain: two widths.
    classes = (JobClass("formula", 7.0, SpeedUp([1.0])), JobClass("chain", 3.0, SUB_LINEAR, 2.0))
    policy = GreedyP({"formula": {1: 1.0}, "chain": {1: 0.2, 2: 0.8}})
    found = evaluate(Scenario(reserved(*classes), 20), policy)
    assert found.method == "chain"
    assert "Erlang" in found.reason
    assert "whole chain" in found.reason


def test_a_class_that_can_never_run_on_its_own_servers_is_refused():
    classes = (JobClass("small", 2.0, LINEAR), JobClass("large", 10.0, LINEAR))
    with pytest.raises(MoldableError, match="class 'small' owns 3 servers"):
        evaluate(Scenario(reserved(*classes), 16), FixedWidth(5, strict=True))


def test_a_chain_that_turns_out_unsolvable_is_simulated_unless_it_was_asked_for(monkeypatch):
    def refuse(*_):
        raise ChainError("no luck")

    monkeypatch.setattr("moldable.evaluation.evaluate.solve_system", refuse)
    found = evaluate(Scenario(mixed(), 20), **ROUGH)
    assert found.method == "simulate"
    assert "no luck" in found.reason
    with pytest.raises(ChainError, match="no luck"):
        evaluate(Scenario(mixed(), 20), method="chain")


class Counted(Policy):
    """One width for all, which counts how often it is asked."""

    asked = 0

    def decide(self, job_class, idle):  # noqa: ARG002
        self.asked += 1
        return {3: 1.0}


@pytest.mark.parametrize("method", ["chain", "simulate"])
def test_a_policy_is_tabulated_once(method):
    alone, compared = Counted(), Counted()
    evaluate(Scenario(mixed(), 20), alone, method=method, **ROUGH)
    assert alone.asked == 21  # once for each number of idle servers
    compare(Scenario(mixed(), 20), [compared], method=method, **ROUGH)
    assert compared.asked == 21


def test_shares_that_only_round_to_one_block_no_job():
    shares = GreedyP({"jobs": {1: 0.7, 2: 0.2, 3: 0.1}})
    found = evaluate(Scenario.single(SUB_LINEAR, 0.1, 60), shares)
    assert found.blocking.value < 1e-20


def test_small_chains_are_solved_without_another_thread_and_large_ones_with_one(monkeypatch):
    threads = []

    def noted(run, *args):
        threads.append(run)
        return run(*args)

    monkeypatch.setattr("moldable.evaluation.evaluate.interruptible", noted)
    small = Scenario.single([1, 1.8, 2.5], 0.8, 8)
    exact = evaluate(small, "value:10")
    assert (exact.method, threads) == ("chain", [])
    assert evaluate(small, "value:10", method="chain").blocking == exact.blocking
    assert len(threads) == 1  # any number of states may have been asked for


def test_a_search_ends_between_small_chains_when_it_is_interrupted():
    stopped = threading.Event()
    stopped.set()
    with pytest.raises(KeyboardInterrupt), ended_by(stopped):
        evaluate(Scenario.single([1, 1.8, 2.5], 0.8, 8), "value:10")
