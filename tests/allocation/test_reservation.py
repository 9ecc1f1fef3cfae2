"""Several classes: against HiGHS, against brute force, and when the cluster is too small."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldable import JobClass, Scenario, SpeedUp, Workload, optimum, reserve, reserve_whole
from moldable.allocation.division import pure_loads
from moldable.errors import InfeasibleError, WorkloadError
from naive.highs import solve_q
from naive.pairs import best_division
from strategies import job_classes

PAPER = SpeedUp([1, 1.8, 2.5, 3, 3.4])


def least_servers(classes) -> float:
    return sum(c.offered * float(np.min(c.speedup.widths / c.speedup.speedups)) for c in classes)


def most_servers(classes) -> float:
    return sum(c.offered * float(np.max(c.speedup.widths / c.speedup.speedups)) for c in classes)


@settings(max_examples=60)
@given(job_classes(50, 40), st.floats(0.0, 1.05))
def test_division_agrees_with_highs_and_certifies_itself(classes, share):
    least, most = least_servers(classes), most_servers(classes)
    widest = max(int(c.speedup.widths[-1]) for c in classes)
    servers = max(math.ceil(least + share * (most - least)), widest)
    division = reserve(Scenario(Workload(classes), servers))
    assert division.objective == pytest.approx(solve_q(classes, servers), rel=1e-9, abs=1e-9)
    assert max(c.max_violation for c in division.certificates()) < 1e-9
    assert len(division.randomising) <= 1
    assert all(len(part.support) <= 2 for part in division.classes)
    assert sum(part.servers for part in division.classes) <= servers * (1 + 1e-12)


@settings(max_examples=150)
@given(job_classes(3, 5), st.integers(0, 12))
def test_whole_servers_agree_with_brute_force(classes, spare):
    widest = max(int(c.speedup.widths[-1]) for c in classes)
    servers = max(math.ceil(least_servers(classes)) + spare, widest)
    curves = [
        dict(zip(c.speedup.widths.tolist(), c.speedup.speedups.tolist(), strict=True))
        for c in classes
    ]
    rates, sizes = [c.arrival_rate for c in classes], [c.mean_size for c in classes]
    best = best_division(curves, rates, sizes, [c.weight for c in classes], servers)
    if best == math.inf:
        with pytest.raises(InfeasibleError):
            reserve_whole(Scenario(Workload(classes), servers))
        return
    division = reserve_whole(Scenario(Workload(classes), servers))
    assert division.objective == pytest.approx(best, rel=1e-11)
    reserved = [part.servers for part in division.classes]
    assert sum(reserved) == servers
    assert all(isinstance(count, int) for count in reserved)


def test_one_class_is_problem_p():
    division = reserve(Scenario.single(PAPER, 0.8, 4000))
    single = optimum(PAPER, 0.8, servers=4000)
    (part,) = division.classes
    assert part.support == single.support
    assert part.probabilities == pytest.approx(single.probabilities)
    assert division.scaled_jobs(part) == pytest.approx(single.scaled_jobs)
    assert division.shadow_price == pytest.approx(single.shadow_price)
    assert division.time_saved_by_one_server == pytest.approx(single.time_saved_by_one_server)
    assert division.reserved_fraction(part) == pytest.approx(1)


def test_identical_classes_still_leave_at_most_one_randomising():
    classes = tuple(JobClass(f"c{j}", 1.0, PAPER) for j in range(20))
    for servers in range(20, 33):
        division = reserve(Scenario(Workload(classes), servers))
        assert len(division.randomising) <= 1
        assert division.objective == pytest.approx(solve_q(classes, servers), rel=1e-9)


def test_weights_move_servers_to_the_class_that_counts():
    def with_weight(weight):
        heavy, light = JobClass("a", 20, PAPER, weight=weight), JobClass("b", 20, PAPER)
        return reserve(Scenario(Workload((heavy, light)), 50)).classes[0].servers

    # 10 servers to spare: all go to the class that counts, up to the 29.4 it can use.
    assert with_weight(100) == pytest.approx(20 * 5 / 3.4)
    assert with_weight(0.01) == pytest.approx(50 - 20 * 5 / 3.4)
    assert with_weight(100) > with_weight(1) > with_weight(0.01)


def test_the_shadow_price_of_a_division_is_its_derivative():
    classes = (JobClass("a", 40, PAPER, 2.0, 1.5), JobClass("b", 30, SpeedUp.amdahl(0.9, 16)))
    workload = Workload(classes)
    division, larger = reserve(Scenario(workload, 160)), reserve(Scenario(workload, 161))
    saved = division.objective - larger.objective
    assert division.time_saved_by_one_server == pytest.approx(saved, rel=0.05)
    assert 0 < larger.shadow_price <= division.shadow_price


def test_spare_servers_are_spread_in_proportion_by_largest_remainder():
    # Alone, the classes can use 4 and 2 servers (widths 2 of a linear curve); 11 are there.
    classes = (JobClass("a", 4, SpeedUp.linear(2)), JobClass("b", 2, SpeedUp.linear(2)))
    division = reserve_whole(Scenario(Workload(classes), 11))
    # 5 spare in proportion 4:2 are 3.33 and 1.67: the largest remainder is the second's.
    assert [part.servers for part in division.classes] == [7, 4]
    assert division.shadow_price == 0
    assert sum(
        part.servers for part in reserve(Scenario(Workload(classes), 11)).classes
    ) == pytest.approx(6)


def test_overload_is_refused_with_what_is_needed():
    classes = (JobClass("a", 6, PAPER), JobClass("b", 5.5, PAPER))
    with pytest.raises(InfeasibleError, match=r"at least 11.5 busy servers \(a 6, b 5.5\)"):
        reserve(Scenario(Workload(classes), 11))
    # 12 busy servers are enough, and 11 whole ones are not.
    with pytest.raises(InfeasibleError, match=r"'b' cannot be served: it needs 6 whole servers"):
        reserve_whole(Scenario(Workload(classes), 11))
    assert [part.servers for part in reserve_whole(Scenario(Workload(classes), 12)).classes] == [
        6,
        6,
    ]


def test_widths_that_fit_nowhere_are_refused_by_name():
    classes = (JobClass("narrow", 1, PAPER), JobClass("wide", 1, SpeedUp({8: 6.0})))
    with pytest.raises(InfeasibleError, match="'wide' cannot be served: it needs 8 whole servers"):
        reserve_whole(Scenario(Workload(classes), 8))


def test_whole_servers_have_no_multipliers():
    with pytest.raises(WorkloadError, match="no multipliers"):
        reserve_whole(Scenario.single(PAPER, 0.8, 10)).certificates()


def test_divisions_are_readable():
    classes = tuple(JobClass(f"c{j}", 1.0, PAPER) for j in range(8))
    text = repr(reserve(Scenario(Workload(classes), 12)))
    assert text.startswith("Reservation(c0: ")
    assert "..." in text


def test_large_clusters_are_bought_in_runs():
    classes = tuple(JobClass(f"c{j}", 1e5, SpeedUp.amdahl(0.9 + j / 100, 16)) for j in range(9))
    division = reserve_whole(Scenario(Workload(classes), 3_000_000))
    assert sum(part.servers for part in division.classes) == 3_000_000
    fluid = reserve(Scenario(Workload(classes), 3_000_000))
    assert division.objective == pytest.approx(fluid.objective, rel=1e-6)
    assert division.objective >= fluid.objective * (1 - 1e-12)


def test_rounding_on_a_dense_curve_does_not_sell_edges_out_of_order():
    # Far out, neighbouring edges of this curve differ in slope by less than rounding.
    curve = SpeedUp.amdahl(0.95, 200_000)
    for load in (0.00012, 0.0005, 0.3):
        division = reserve(Scenario.single(curve, load, 200_000))
        single = optimum(curve, load)
        assert division.mean_execution_time == pytest.approx(single.mean_execution_time, rel=1e-12)
        assert sum(part.servers for part in division.classes) <= 200_000 * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_capacity_that_just_buys_whole_edges_leaves_no_class_randomising(seed):
    """Rounding errors must not be spent on a small class: rates here spread over nine decades."""
    rng = np.random.default_rng(seed)
    curves = (PAPER, SpeedUp([1, 1.9, 2.7, 3.3]), SpeedUp.amdahl(0.9, 8))
    rates = 10.0 ** rng.uniform(-6, 3, len(curves))
    target = int(rng.integers(5, 50)) * 100
    # Put every class on the corner it reaches at some price, then fill the servers exactly.
    price = float(rng.uniform(0.05, 3))
    reached = []
    for curve in curves:
        x, t = curve.widths / curve.speedups, 1 / curve.speedups
        reached.append(1 + int(np.sum(-np.diff(t) / np.diff(x) > price)))
    costs = [rate * w / curve[w] for rate, w, curve in zip(rates, reached, curves, strict=True)]
    rates = rates * target / sum(costs)
    classes = tuple(JobClass(f"c{j}", float(rates[j]), curves[j]) for j in range(len(curves)))
    division = reserve(Scenario(Workload(classes), target))
    assert division.randomising == ()
    assert [part.support for part in division.classes] == [(w,) for w in reached]
    assert max(c.max_violation for c in division.certificates()) < 1e-9


def test_servers_that_cannot_hold_a_width_are_flagged():
    classes = (JobClass("a", 0.1, SpeedUp({1: 1, 8: 16})), JobClass("b", 7.5, SpeedUp([1, 2, 3])))
    a, b = reserve_whole(Scenario(Workload(classes), 12)).classes
    assert a.support == (8,)
    assert not a.holds_its_widths
    assert b.holds_its_widths


def test_divisions_are_values():
    workload = Workload((JobClass("a", 2, PAPER), JobClass("b", 3, PAPER)))
    assert reserve(Scenario(workload, 7)) == reserve(Scenario(workload, 7))
    assert hash(reserve(Scenario(workload, 7))) == hash(reserve(Scenario(workload, 7)))
    assert reserve(Scenario(workload, 7)) != reserve(Scenario(workload, 8))


def test_long_lists_of_classes_are_shortened_in_messages():
    classes = tuple(JobClass(f"c{j}", 1.0, PAPER) for j in range(1000))
    for solve in (reserve, reserve_whole):
        with pytest.raises(InfeasibleError) as caught:
            solve(Scenario(Workload(classes), 500))
        assert len(str(caught.value)) < 500


@settings(max_examples=60)
@given(job_classes(4, 6))
def test_at_pure_loads_and_only_there_every_class_has_one_width(classes):
    workload, servers = Workload(classes), 200
    load = sum(c.offered for c in classes) / servers
    loads = pure_loads(Scenario(workload, servers))
    assert (np.diff(loads) < 0).all()
    for design in loads.tolist():
        assert not reserve(Scenario(_scaled(workload, design / load), servers)).randomising
    # Where two of them nearly coincide, nothing lies between.
    for high, low in zip(loads[:-1].tolist(), loads[1:].tolist(), strict=True):
        if low < 0.999 * high:
            between = _scaled(workload, math.sqrt(high * low) / load)
            assert len(reserve(Scenario(between, servers)).randomising) == 1


def _scaled(workload: Workload, times: float) -> Workload:
    classes = [replace(c, arrival_rate=c.arrival_rate * times) for c in workload.classes]
    return replace(workload, classes=tuple(classes))
