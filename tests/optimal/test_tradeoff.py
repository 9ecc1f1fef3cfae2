"""The curve between blocking and time as the blocking cost grows."""

from __future__ import annotations

import json
from threading import Event

import numpy as np
import pytest

from moldable import MoldableError, Scenario, SpeedUp
from moldable.optimal.constrained import least_time
from moldable.optimal.curve import _solve_run, tradeoff
from moldable.optimal.problem import control_problem
from tuning.systems import SUBLINEAR


def test_blocking_falls_and_cost_rises_with_the_blocking_cost():
    curve = tradeoff(Scenario.single(SUBLINEAR, 0.8, 20), tolerance=1e-9)
    charges, losses, times, costs = (
        np.array([getattr(control, name) for control in curve.controls])
        for name in ("blocking_cost", "blocking", "accepted_time", "cost")
    )
    assert (np.diff(charges) > 0).all()
    assert (np.diff(losses) <= 1e-9).all()
    assert (np.diff(times) >= -1e-9).all()
    # The least cost is concave in the blocking cost, and blocking is its slope.
    slopes = np.diff(costs) / np.diff(charges)
    assert (slopes <= losses[:-1] + 1e-8).all()
    assert (slopes >= losses[1:] - 1e-8).all()


def test_threads_do_not_change_the_curve():
    scenario = Scenario.single(SUBLINEAR, 0.8, 15)
    one, two = (tradeoff(scenario, threads=threads).to_dict() for threads in (1, 2))
    assert one == two
    json.dumps(one)


def test_the_curve_is_read_between_its_points():
    curve = tradeoff(Scenario.single(SUBLINEAR, 0.8, 15), (4.0, 2.0, 2.0))
    cheap, dear = curve.controls
    assert "2 blocking costs" in repr(curve)
    assert curve.mean_time_at(dear.blocking) == pytest.approx(dear.mean_execution_time)
    halfway = 0.5 * (cheap.blocking + dear.blocking)
    expected = 0.5 * (cheap.accepted_time + dear.accepted_time) / (1 - halfway)
    assert curve.mean_time_at(halfway) == pytest.approx(expected)
    with pytest.raises(MoldableError, match="outside this curve"):
        curve.mean_time_at(0.9)


def test_the_edge_lies_between_no_policy_and_every_mixture():
    """The least time itself is found by another search, of blocking costs in between."""
    scenario = Scenario.single(SUBLINEAR, 0.8, 15)
    curve = tradeoff(scenario, (2.0, 16.0), tolerance=1e-9)
    edge = curve.edge(9)
    for control in curve.controls:
        reached = (control.blocking, pytest.approx(control.mean_execution_time))
        assert reached in edge
    gaps = []
    for blocking, least in edge[1:-1]:
        found = least_time(scenario, blocking).mean_execution_time
        assert least * (1 - 1e-6) <= found <= curve.mean_time_at(blocking) * (1 + 1e-6)
        gaps.append(curve.mean_time_at(blocking) / least - 1)
    assert max(gaps) > 1e-3  # there is something between the two
    assert curve.least_time_at(0.999) >= 0.0
    with pytest.raises(MoldableError, match="below 1"):
        curve.least_time_at(1.0)


@pytest.mark.parametrize("threads", [0, -1])
def test_threads_are_whole_numbers_from_1(threads):
    with pytest.raises(MoldableError, match="must be a whole number from 1"):
        tradeoff(Scenario.single(SUBLINEAR, 0.8, 10), [4.0], threads=threads)


def test_a_curve_needs_a_blocking_cost():
    with pytest.raises(MoldableError, match="no blocking cost was given"):
        tradeoff(Scenario.single(SUBLINEAR, 0.8, 10), ())


def test_an_interrupted_run_of_costs_ends_before_the_next():
    stopped = Event()
    problem = control_problem(Scenario.single(SpeedUp([1, 1.5]), 0.8, 4))
    assert len(_solve_run(problem, [2.0, 4.0], 1e-6, stopped)) == 2
    stopped.set()
    assert _solve_run(problem, [2.0, 4.0], 1e-6, stopped) == []
