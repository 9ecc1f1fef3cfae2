"""Values of the wrong type are refused with an error of the library, wherever they are passed."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from moldable import (
    Greedy,
    JobClass,
    MoldableError,
    Regime,
    Scenario,
    SizeLaw,
    SpeedUp,
    Workload,
    compare,
    evaluate,
    fit,
    greedy_p,
    optimum,
    read_curve,
    read_policy_file,
    read_scenario,
    reserve,
    reserve_whole,
    simulate,
    tune,
    value_policy,
    write_policy_file,
)
from moldable.allocation import frontiers
from moldable.arrivals import ArrivalTimes, Poisson
from moldable.exact import erlang_b, stationary_law
from moldable.exact.theory import Theory
from moldable.files import parse_regime, parse_speedup
from moldable.fitting import Measurements, decision_under_uncertainty
from moldable.live import Journal, Snapshot, decide, write_plan
from moldable.optimal import (
    least_blocking,
    least_time,
    optimal_control,
    optimal_queueing,
    tradeoff,
)
from moldable.policies import Equi, Rigid
from moldable.sizes import Empirical, Exponential, MixedErlang
from moldable.theory import FluidPath, bounds
from moldable.tuning import value_tradeoff

CURVE = SpeedUp([1, 1.8])
ODD = (None, 3, "x", [], {"a": 1}, np.array([1, 2]), object())


@pytest.mark.parametrize("odd", ODD, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize(
    "ask",
    [
        lambda odd: simulate(Scenario(odd, 4)),
        lambda odd: evaluate(Scenario(odd, 4)),
        lambda odd: reserve(Scenario(odd, 4)),
        lambda odd: reserve_whole(Scenario(odd, 4)),
        lambda odd: greedy_p(Scenario(odd, 4)),
        lambda odd: greedy_p(Scenario(odd, 4), 0.7),
        lambda odd: optimal_control(Scenario(odd, 4), 2.0),
        lambda odd: tune(Scenario(odd, 4), max_blocking=0.3),
    ],
)
def test_what_is_not_a_workload_is_refused(ask, odd):
    with pytest.raises(MoldableError, match=r"workload=.* is of type .*, not Workload; pass"):
        ask(odd)


NOT_A_CURVE = (None, 3, "x", [], ["a"], [None], {"a": 1}, {1: "a"}, object(), Poisson())


@pytest.mark.parametrize("odd", NOT_A_CURVE, ids=lambda value: type(value).__name__)
def test_a_class_refuses_what_is_not_a_curve(odd):
    with pytest.raises(MoldableError, match=r"class 'a': .*(curve|width|s\(1\))"):
        JobClass("a", 1.0, odd)


@pytest.mark.parametrize("odd", ODD[:2] + ODD[3:], ids=lambda value: type(value).__name__)
def test_a_class_refuses_a_name_and_sizes_of_other_types(odd):
    for name, size in ((odd, Exponential()), ("a", odd)):
        with pytest.raises(MoldableError, match="is of type"):
            JobClass(name, 1.0, CURVE, size=size)
    with pytest.raises(MoldableError, match=r"is of type|has no class"):
        Workload(odd)
    with pytest.raises(MoldableError, match=r"classes=.* is of type"):
        Workload((odd,))
    with pytest.raises(MoldableError, match=r"sharing=.* is unknown"):
        Workload((JobClass("a", 1.0, CURVE),), odd)


@pytest.mark.parametrize("odd", NOT_A_CURVE, ids=lambda value: type(value).__name__)
def test_what_is_not_a_curve_is_refused(odd):
    for ask in (
        lambda: optimum(odd, 0.5),
        lambda: bounds(odd, 0.5, 4),
        lambda: Scenario.single(odd, 0.5, 4),
        lambda: frontiers([CURVE, odd]),
    ):
        with pytest.raises(MoldableError, match=r"curve|width|s\(1\)"):
            ask()


@pytest.mark.parametrize(
    "odd", [3, None, object(), "x", [1], b"x"], ids=lambda value: type(value).__name__
)
@pytest.mark.parametrize(
    "ask",
    [
        fit,
        Measurements,
        SpeedUp.from_times,
        SpeedUp.from_phases,
        frontiers,
        lambda odd: Theory(odd, ()),
        lambda odd: FluidPath(odd, [0.0, 0.0]),
        lambda odd: decision_under_uncertainty(odd, 0.5),
        lambda odd: decide(odd, Greedy()),
        lambda odd: decide(Snapshot(usable=4), odd),
        lambda odd: write_plan("plan.json", Greedy(), odd),
    ],
)
def test_functions_refuse_arguments_of_other_types(ask, odd):
    with pytest.raises(MoldableError):
        ask(odd)


@pytest.mark.parametrize("odd", [3, object(), [1], b"x"], ids=lambda value: type(value).__name__)
def test_a_journal_refuses_what_is_not_a_file_name(odd):
    with pytest.raises(MoldableError, match="is not a file name"):
        Journal(odd)


def test_arrivals_of_other_types_are_refused():
    for odd in ("poison", Poisson, 3):
        with pytest.raises(MoldableError, match="arrivals"):
            Scenario.single(CURVE, 0.5, 4, arrivals=odd)


@pytest.mark.parametrize("odd", [3, 1.5, None, np.array(3)], ids=repr)
def test_curves_laws_and_files_refuse_what_cannot_be_read(odd):
    for ask in (
        SpeedUp,
        parse_speedup,
        parse_regime,
        SizeLaw.parse,
        MixedErlang,
        read_curve,
        read_scenario,
        read_policy_file,
        lambda value: write_policy_file(Greedy(), value),
    ):
        with pytest.raises(MoldableError, match=r"pass|write"):
            ask(odd)


@pytest.mark.parametrize("odd", [np.array(["a", "b"]), None, 3], ids=repr)
def test_an_estimator_that_is_not_text_is_refused(odd):
    with pytest.raises(MoldableError, match=r"estimator=.* is unknown"):
        simulate(Scenario.single(CURVE, 0.5, 4), jobs=10, estimator=odd)


def test_a_policy_for_a_class_whose_name_is_not_text_is_refused():
    with pytest.raises(MoldableError, match="names class None"):
        evaluate(Scenario.single(CURVE, 0.5, 4), Rigid({None: 1}))


def test_whole_servers_are_divided_alike_whatever_the_type_of_their_number():
    workload = Workload((JobClass("a", 0.5, CURVE), JobClass("b", 0.8, CURVE)))
    plain = json.dumps(reserve_whole(Scenario(workload, 4)).to_dict())
    for servers in (4.0, np.int64(4), Fraction(4)):
        assert json.dumps(reserve_whole(Scenario(workload, servers)).to_dict()) == plain


@pytest.mark.parametrize("many", [10**7, 2**63, 2**64])
def test_more_replications_than_can_be_planned_are_refused(many):
    with pytest.raises(MoldableError, match=r"replications=\d+ must be a whole number from 1 to"):
        simulate(Scenario.single(CURVE, 0.5, 4), jobs=10, replications=many)


def test_a_regime_and_bounds_refuse_what_is_not_a_number():
    for odd in ("1", [1], None):
        with pytest.raises(MoldableError, match="is not a number"):
            Regime(odd, 0.1)
        with pytest.raises(MoldableError, match="is not a number"):
            Regime(0.5, odd)
        with pytest.raises(MoldableError, match="is not a number"):
            bounds(CURVE, odd, 4)
        with pytest.raises(MoldableError, match="is not a number"):
            bounds(CURVE, 0.5, 4, alpha=odd)


def test_bounds_of_numpy_numbers_can_be_written_as_json():
    plain = bounds(CURVE, 0.9, 4, alpha=0.5)
    numpy = bounds(CURVE, np.float64(0.9), np.int64(4), alpha=np.float64(0.5))
    assert json.dumps(numpy.to_dict()) == json.dumps(plain.to_dict())


TAKES_A_SCENARIO = (
    evaluate,
    simulate,
    stationary_law,
    reserve,
    reserve_whole,
    greedy_p,
    least_blocking,
    tradeoff,
    value_tradeoff,
    Greedy().with_classes,
    lambda odd: tune(odd, max_blocking=0.3),
    lambda odd: value_policy(odd, 4.0),
    lambda odd: optimal_control(odd, 4.0),
    lambda odd: optimal_queueing(odd, 4.0),
    lambda odd: least_time(odd, 0.1),
    lambda odd: compare(odd, [None]),
)


@pytest.mark.parametrize("odd", ODD, ids=lambda value: type(value).__name__)
def test_what_is_not_a_scenario_is_refused(odd):
    for ask in TAKES_A_SCENARIO:
        with pytest.raises(
            MoldableError, match=r"scenario=.* is of type .*, not Scenario; pass|x cannot be read"
        ):
            ask(odd)


@pytest.mark.parametrize(
    "odd", [3, "x", [], {"a": 1}, object(), Greedy, CURVE], ids=lambda value: type(value).__name__
)
def test_what_is_not_a_policy_is_refused(odd):
    scenario = Scenario.single(CURVE, 0.8, 4)
    for ask in (evaluate, simulate, stationary_law, lambda s, policy: compare(s, [policy])):
        with pytest.raises(MoldableError, match=r"is not a policy; pass|unknown policy 'x'"):
            ask(scenario, odd)


def test_a_fraction_as_target_is_refused_like_the_same_float():
    scenario = Scenario.single(SpeedUp([1, 1]), 2.5, 2)
    said = set()
    for limit in (0.5, Fraction(1, 2)):
        with pytest.raises(MoldableError) as caught:
            tune(scenario, max_blocking=limit, precision=0.5, seed=1)
        said.add(str(caught.value))
    assert len(said) == 1


@pytest.mark.parametrize("odd", [Poisson(), "x", [[1], [2, 3]], {None: 1}, -1, ["x"]], ids=str)
def test_a_fluid_path_refuses_a_start_and_times_that_are_not_numbers(odd):
    solution = optimum(CURVE, 0.9)
    with pytest.raises(MoldableError, match=r"the start|times"):
        FluidPath(solution, odd)
    with pytest.raises(MoldableError, match="times"):
        FluidPath(solution, [0, 0]).at([odd])


@pytest.mark.parametrize(
    "ask",
    [
        lambda workload: compare(Scenario(workload, 4), 3),
        lambda workload: compare(Scenario(workload, 4), None),
        lambda workload: evaluate(Scenario(workload, 4), method=np.array(["auto", "chain"])),
        lambda workload: simulate(Scenario(workload, 4), jobs=200, warmup=1.7e308),
        lambda _: erlang_b(4, float("nan")),
        lambda _: erlang_b(2**64, 1.0),
        lambda _: erlang_b(4, ["1"]),
        lambda _: ArrivalTimes(-(10**400)),
        lambda _: evaluate(Scenario({"a": 1}, 4), Equi()),
        lambda _: Exponential().cdf(Poisson()),
        lambda _: Empirical([1e-9, 1.0]).cdf(10**400),
        lambda _: Empirical([1e-9, 1.0]).cdf(1j),
        lambda workload: compare(Scenario(workload, 4), [None], method="simulate", threads=0.5),
        lambda workload: compare(Scenario(workload, 4), {float: None}),
    ],
)
def test_values_out_of_range_or_of_another_shape_are_refused(ask):
    with pytest.raises(MoldableError):
        ask(Scenario.single(CURVE, 0.8, 4).workload)


def test_policies_may_come_from_a_generator():
    scenario = Scenario.single(CURVE, 0.8, 4)
    found = compare(scenario, (policy for policy in (Greedy(), None)))
    assert [part.name for part in found.policies] == ["greedy", "greedy(p*)"]


def test_equi_on_a_numpy_number_of_servers_can_be_written_as_json():
    scenario = Scenario.single(CURVE, 0.8, 4)
    plain, numpy = (evaluate(Scenario(scenario.workload, n), Equi()) for n in (4, np.int64(4)))
    assert json.dumps(numpy.to_dict()) == json.dumps(plain.to_dict())


def test_a_numpy_seed_gives_what_the_same_integer_gives():
    scenario = Scenario.single(CURVE, 0.8, 4)
    found = [simulate(scenario, jobs=50, replications=2, seed=seed) for seed in (7, np.uint64(7))]
    figures = [json.dumps(answer.figures()) + str(answer.detail.seed) for answer in found]
    assert figures[0] == figures[1]
    json.dumps(found[1].to_dict())
