"""Each kernel of policy iteration against dense matrices and dictionaries."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.control_case import SYSTEMS, ControlCase
from moldable import JobClass, SpeedUp, Workload

STIFF = Workload(
    (
        JobClass("slow", 1.0, SpeedUp({1: 1.0, 2: 1.3}), mean_size=100.0),
        JobClass("fast", 1.0, SpeedUp({1: 1.0, 3: 3.3})),
    )
)


def test_states_stand_in_the_order_of_their_lines(case):
    problem = case.problem
    assert sorted(case.order) == list(range(problem.states))
    names = [part.name for part in problem.workload.classes]
    for column, state in enumerate(problem.jobs().T.tolist()):
        running = {name: {} for name in names}
        for jobs, j, width in zip(state, problem.owner, problem.widths.tolist(), strict=True):
            running[names[j]][width] = jobs
        assert problem.state_of(running) == column


def test_improving_finds_the_widths_and_bounds_of_the_twin(case):
    _, least, most = case.bounds
    assert least == pytest.approx(min(case.changes.values()), rel=1e-12)
    assert most == pytest.approx(max(case.changes.values()), rel=1e-12)
    for (j, state), kind in case.best.items():
        place = case.order[case.naive.place[state]]
        expected = -1 if kind is None else case.kind_of[kind]
        assert case.decisions[j, place] == expected


def test_improving_twice_changes_nothing(case):
    assert case.bounds[0] > 0
    assert case.improve(0.0)[0] == 0


def test_decisions_stay_when_others_are_hardly_better(case):
    case.values = case.values[::-1].copy()
    before = case.decisions.copy()
    assert case.improve(1e9)[0] == 0
    assert np.array_equal(before, case.decisions)
    assert case.improve(0.0)[0] > 0


def test_the_outflow_is_the_matrix_times_the_values(case):
    found = np.empty(case.problem.states)
    case.kernels.value_iteration.outflow(case.values, *case.fixed, found)
    assert found == pytest.approx(case.matrix @ case.values, rel=1e-12)


def lower(case):
    """Return the equations at or below the diagonal, but for the empty state's column."""
    triangle = np.tril(-case.generator)
    triangle[0, 0] += 1.0
    return triangle


def swept(case):
    """Run both sweeps on the values: (the sweep up, what the sweep down adds, their sum)."""
    kernels, (*lines, rates, arrivals, target) = case.kernels.value_iteration, case.fixed
    inverse, up, both = (np.empty(case.problem.states) for _ in range(3))
    kernels.invert_diagonal(*case.fixed, inverse)
    kernels.sweep_up(case.values, *lines, rates, inverse, up)
    added = up.copy()
    kernels.sweep_down(added, arrivals, target, inverse, both)
    return up, added, both


def test_the_diagonal_is_inverted(case):
    found = np.empty(case.problem.states)
    case.kernels.value_iteration.invert_diagonal(*case.fixed, found)
    assert found * lower(case).diagonal() == pytest.approx(np.ones(case.problem.states), rel=1e-13)


def test_the_sweep_up_solves_what_is_below_the_diagonal(case):
    up, _, _ = swept(case)
    assert lower(case) @ up == pytest.approx(case.values, rel=1e-11)


def test_the_sweep_down_solves_what_is_then_left_above_it(case):
    up, added, both = swept(case)
    upper = np.triu(-case.generator)
    upper[0, 0] += 1.0
    left = case.values - case.matrix @ up
    assert upper @ added == pytest.approx(left, rel=1e-11, abs=1e-12)
    assert both == pytest.approx(up + added, rel=1e-15)


def test_the_outflow_of_both_sweeps_is_known_from_what_the_second_adds(case):
    _, added, both = swept(case)
    found = np.empty(case.problem.states)
    *lines, rates, _, _ = case.fixed
    case.kernels.value_iteration.swept_outflow(case.values, added, *lines, rates, found)
    assert found == pytest.approx(case.matrix @ both, rel=1e-11, abs=1e-12)


def valued(case, values, cost, accuracy, steps):
    """Run the solver on a copy: (values, steps done, share of the residual left)."""
    values = values.copy()
    done, left = case.kernels.value_iteration.policy_values(
        values, cost, *case.fixed, accuracy, steps
    )
    return values, done, left


def residual(case, values, cost):
    return np.linalg.norm(cost - case.matrix @ values)


def test_policy_values_solve_the_equations(case):
    cost = np.random.default_rng(9).random(case.problem.states)
    values, _, left = valued(case, np.zeros(case.problem.states), cost, 1e-13, 200)
    assert left < 1e-12
    assert values == pytest.approx(np.linalg.solve(case.matrix, cost), rel=1e-9)


def test_policy_values_stop_as_soon_as_they_are_good_enough(case):
    cost = np.random.default_rng(9).random(case.problem.states)
    values, done, left = valued(case, case.values, cost, 1e-3, 200)
    begun = residual(case, case.values, cost)
    assert left <= 1e-3
    assert residual(case, values, cost) == pytest.approx(left * begun, rel=1e-6)
    one_less = valued(case, case.values, cost, 1e-3, done - 1)
    assert one_less[1] == done - 1
    assert one_less[2] > 1e-3


def test_policy_values_never_end_worse_than_they_were(kernels):
    """Where jobs of one class stay a hundred times longer, the residual rises before it falls."""
    case = ControlCase(kernels, STIFF, 5, 1)
    cost = np.random.default_rng(9).random(case.problem.states)
    begun = residual(case, case.values, cost)
    values, done, left = valued(case, case.values, cost, 1e-9, 3)
    assert (done, left) == (3, 1.0)
    assert np.array_equal(values, case.values)
    values, done, left = valued(case, case.values, cost, 1e-9, 10)
    assert done == 10
    assert left < 0.5
    assert residual(case, values, cost) == pytest.approx(left * begun, rel=1e-6)


def test_policy_values_are_kept_when_half_a_step_is_the_answer(kernels):
    """On one server the sweeps alone solve the equations; all numbers here are exact in binary."""
    case = ControlCase(kernels, Workload((JobClass("jobs", 1.0, SpeedUp([1.0])),)), 1, 1)
    cost = np.array([1.0, 3.0])
    values, done, left = valued(case, np.zeros(2), cost, 1e-9, 50)
    assert (done, left) == (1, 0.0)
    assert values == pytest.approx(np.linalg.solve(case.matrix, cost), rel=1e-15)


def test_policy_values_without_steps_stay(case):
    values, done, left = valued(case, case.values, case.values, 1e-9, 0)
    assert (done, left) == (0, 1.0)
    assert np.array_equal(values, case.values)


def test_policy_values_that_are_right_already_stay(case):
    cost = np.empty(case.problem.states)
    case.kernels.value_iteration.outflow(case.values, *case.fixed, cost)
    values, done, left = valued(case, case.values, cost, 0.0, 50)
    assert (done, left) == (0, 0.0)
    assert np.array_equal(values, case.values)


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_same_digits_come_out_with_the_jit_off(both_ways, system):
    compiled, plain = (digits(ControlCase(kernels, *system)) for kernels in both_ways)
    assert compiled == plain


def digits(case):
    """Return all that the kernels write for a system, to the last bit."""
    cost = np.random.default_rng(9).random(case.problem.states)
    written = [case.decisions, case.target, case.bounds, *swept(case)]
    found = np.empty(case.problem.states)
    case.kernels.value_iteration.outflow(case.values, *case.fixed, found)
    written.append(found)
    written += valued(case, case.values, cost, 1e-10, 100)
    return [np.asarray(part).tobytes() for part in written]
