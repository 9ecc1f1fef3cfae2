"""Each kernel of policy iteration against dense matrices and dictionaries."""

from __future__ import annotations

import numpy as np
import pytest

from moldable import JobClass, SpeedUp, Workload
from moldable.control.problem import control_problem
from moldable.kernels.policy_chain import policy_inflow, recurrent
from moldable.kernels.value_iteration import improve, outflow, policy_values, sweep_down, sweep_up
from naive.optimal_control import NaiveControl

ONE = Workload((JobClass("jobs", 4.0, SpeedUp((1.0, 1.8, 2.5, 3.0))),))
TWO = Workload(
    (
        JobClass("wide", 1.3, SpeedUp({2: 1.9, 3: 2.2, 6: 4.0}), mean_size=2.0),
        JobClass("narrow", 2.0, SpeedUp({1: 1.0, 3: 3.3})),
    )
)


class Case:
    """A system, random values, and the decisions that are best for them, in both spellings."""

    def __init__(self, workload, servers, seed):
        self.problem = control_problem(workload, servers)
        self.naive = NaiveControl(workload, servers)
        problem, naive = self.problem, self.naive
        pairs = list(zip(problem.owner.tolist(), problem.widths.tolist(), strict=True))
        self.kind_of = [pairs.index((j, width)) for j, width, _ in naive.kinds]
        columns = [tuple(column) for column in problem.jobs().T.tolist()]
        self.order = [
            columns.index(tuple(state[self.kind_of.index(k)] for k in range(len(pairs))))
            for state in naive.states
        ]
        self.price = 3.0
        self.values = np.random.default_rng(seed).random(problem.states)
        self.decisions = np.full((len(workload.classes), problem.states), -1, dtype=np.int8)
        self.target = np.empty(self.decisions.shape, dtype=np.int32)
        self.bounds = self.improve(0.0)
        self.lines = (problem.start, problem.counts, problem.before)
        self.fixed = (*self.lines, problem.rates, problem.arrivals, self.target)
        best, self.changes = naive.improved(
            {state: self.values[i] for state, i in zip(naive.states, self.order, strict=True)},
            self.price,
        )
        self.best = best
        rates = np.empty((problem.states, problem.states))
        rates[np.ix_(self.order, self.order)] = naive.generator(best)
        self.generator = rates
        # The equations that policy evaluation solves.
        self.matrix = -rates
        self.matrix[:, 0] += 1.0

    def improve(self, keep):
        p = self.problem
        blocked = np.full(len(p.workload.classes), self.price * p.mean_size)
        return improve(
            self.values, p.start, p.counts, p.before, p.after, p.room, p.rates, p.times,
            *p.members, p.arrivals, blocked, keep, self.decisions, self.target,
        )  # fmt: skip


@pytest.fixture(params=[(ONE, 7, 1), (ONE, 4, 2), (TWO, 9, 3), (TWO, 6, 4)], ids=str)
def case(request):
    return Case(*request.param)


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
    outflow(case.values, *case.fixed, found)
    assert found == pytest.approx(case.matrix @ case.values, rel=1e-12)


@pytest.mark.parametrize(("sweep", "part"), [(sweep_up, np.tril), (sweep_down, np.triu)])
def test_sweeps_solve_their_triangle(case, sweep, part):
    found = np.empty(case.problem.states)
    sweep(case.values, *case.fixed, found)
    # The empty state's column below the diagonal is left to the solver.
    triangle = part(-case.generator)
    triangle[0, 0] += 1.0
    assert triangle @ found == pytest.approx(case.values, rel=1e-11)


def test_policy_values_solve_the_equations(case):
    cost = np.random.default_rng(9).random(case.problem.states)
    values = np.zeros(case.problem.states)
    _, left = policy_values(values, cost, *case.fixed, 1e-13, 200)
    assert left < 1e-12
    assert values == pytest.approx(np.linalg.solve(case.matrix, cost), rel=1e-9)


def test_policy_values_without_steps_stay(case):
    values = case.values.copy()
    done, left = policy_values(values, case.values, *case.fixed, 1e-9, 0)
    assert (done, left) == (0, 1.0)
    assert np.array_equal(values, case.values)


def test_the_chain_holds_exactly_the_states_the_empty_one_leads_to(case):
    p = case.problem
    place, waiting = (np.empty(p.states, dtype=np.int32) for _ in range(2))
    met = recurrent(*case.lines, case.target, place, waiting)
    reach = np.zeros(p.states, dtype=bool)
    reach[0] = True
    for _ in range(p.states):
        reach |= (case.generator[reach] > 0.0).any(axis=0)
    assert np.array_equal(place >= 0, reach)
    assert np.array_equal(place[reach], np.arange(met))
    row, out = np.empty(met + 1, dtype=np.int32), np.empty(met)
    source, rate = np.empty(2 * met * p.widths.size, np.int32), np.empty(2 * met * p.widths.size)
    choices = (p.after, p.room, p.rates, p.arrivals, p.owner)
    used = policy_inflow(*case.lines, *choices, case.decisions, place, row, source, rate, out)
    dense = np.zeros((met, met))
    for state in range(met):
        for entry in range(row[state], row[state + 1]):
            dense[source[entry], state] += rate[entry]
    assert row[-1] == used
    among = case.generator[np.ix_(reach, reach)]
    assert dense == pytest.approx(among - np.diag(np.diag(among)), rel=1e-12)
    assert out == pytest.approx(-np.diag(among), rel=1e-12)
