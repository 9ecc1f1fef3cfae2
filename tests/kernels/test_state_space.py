"""States, rates and solvers of chains of counts, against dense matrices and plain enumeration."""

from __future__ import annotations

from itertools import product
from math import factorial, prod
from typing import NamedTuple

import numpy as np
import pytest
from scipy.linalg import solve_triangular
from scipy.sparse.linalg import LinearOperator, bicgstab

from moldable import JobClass, Policy, Scenario, SpeedUp, Workload
from moldable.exact.states import state_table
from moldable.policies import GreedyP
from moldable.policies.greedy import Greedy
from moldable.sizes import MixedErlang, PhaseType
from moldable.system.count_model import chain_model
from moldable.system.loss_system import build_system
from naive import dense_chain

LOOP = PhaseType([0.5, 0.3, 0.2], [[-3.0, 2.0, 0.5], [0.4, -1.0, 0.3], [0.0, 0.5, -2.0]])
TWO_WIDTHS = SpeedUp([1.0, 1.8])


class NarrowWhenBusy(Policy):
    """Mixes two widths, but on few idle servers is narrow although a wide job would fit."""

    def decide(self, job_class, idle):  # noqa: ARG002
        return {1: 1.0} if idle < 3 else {1: 0.4, 2: 0.6}


SYSTEMS = {
    "two widths": (Scenario.single(TWO_WIDTHS, 0.9, 9).workload, 9, NarrowWhenBusy()),
    "two widths, mixed alike": (
        Workload((JobClass("jobs", 6.0, TWO_WIDTHS, 1.5),)),
        9,
        GreedyP({"jobs": {1: 0.4, 2: 0.6}}),
    ),
    "three widths": (
        Scenario.single(SpeedUp([1.0, 1.8, 2.5]), 0.8, 8).workload,
        8,
        GreedyP({"jobs": {1: 0.2, 2: 0.3, 3: 0.5}}),
    ),
    "states never met": (Scenario.single(SpeedUp.linear(3), 0.9, 10).workload, 10, Greedy()),
    "phases": (Workload((JobClass("jobs", 4.0, TWO_WIDTHS, size=LOOP),)), 4, NarrowWhenBusy()),
    "two classes": (
        Workload(
            (
                JobClass("long", 1.0, TWO_WIDTHS, 3.0, size=MixedErlang()),
                JobClass("short", 2.0, SpeedUp({2: 1.7, 3: 2.2}), 0.7),
            )
        ),
        6,
        Greedy(),
    ),
}


class Rates(NamedTuple):
    """Rates into each state, as the solvers take them."""

    start: np.ndarray
    source: np.ndarray
    rate: np.ndarray
    out: np.ndarray

    def dense(self):
        """Return the rates from each state (row) to each."""
        found = np.zeros((self.out.size, self.out.size))
        for state in range(self.out.size):
            for entry in range(self.start[state], self.start[state + 1]):
                found[self.source[entry], state] += self.rate[entry]
        return found

    def balance(self):
        """Return the matrix of the balance equations: rate out minus rate in."""
        return np.diag(self.out) - self.dense().T


def memory(states, most):
    source, rate = np.empty(most, dtype=np.int32), np.empty(most)
    return Rates(np.empty(states + 1, dtype=np.int32), source, rate, np.empty(states))


def cut(rates, used):
    return rates._replace(source=rates.source[:used], rate=rates.rate[:used])


def listed(kernels, widths, servers):
    """Return the kernel's list of states (columns), their idle servers, and the table behind it."""
    widths = np.array(widths, dtype=np.int64)
    table = state_table(widths, servers)
    states = int(table[-1, -1])
    counts, idle = np.empty((widths.size, states), np.int32), np.empty(states, np.int64)
    kernels.state_space.list_states(widths, servers, counts, idle)
    return counts, idle, table


class System:
    """A workload under a policy, in the arrays that the kernels take."""

    def __init__(self, workload, servers, policy):
        self.asked = (workload, servers, policy)
        self.servers = servers
        self.system = build_system(Scenario(workload, servers), policy)
        self.model = chain_model(self.system)
        self.widths = self.model.widths.astype(np.int64)
        self.entries = self.model.outcomes[:, : self.widths.size] * self.model.arrival_rate

    def inflow(self, kernels):
        """Return the states, and the rates into each."""
        counts, idle, table = listed(kernels, self.widths, self.servers)
        model, slots = self.model, self.widths.size
        moves = np.diff(model.jumps.reshape(slots, model.phases), axis=1, prepend=0.0)
        rates = memory(idle.size, idle.size * slots * (2 + model.phases))
        fixed = (self.servers, self.widths, table, model.rates, self.entries, moves)
        used = kernels.state_space.inflow(counts, idle, *fixed, *rates)
        return [tuple(column) for column in counts.T.tolist()], cut(rates, used)

    def twin(self):
        """Return the twin's number of each state that is ever met, and its rates between them."""
        states, rates = dense_chain.all_rates(*self.asked)
        return {jobs: k for k, jobs in enumerate(map(self._jobs, states))}, rates

    def law(self, states):
        """Return the twin's stationary law of these states."""
        law = dense_chain.solve(*self.asked).law
        by_jobs = {self._jobs(state): weight for state, weight in law.items()}
        return np.array([by_jobs.get(jobs, 0.0) for jobs in states])

    def _jobs(self, state):
        """Return the jobs in each slot of a state of the twin's."""
        kinds = zip(self.system.kind_class.tolist(), self.system.kind_width.tolist(), strict=True)
        jobs = dict(state)
        return tuple(jobs.get((*kind, k), 0) for kind in kinds for k in range(self.model.phases))


@pytest.fixture(params=SYSTEMS.values(), ids=SYSTEMS.keys())
def system(request):
    return System(*request.param)


# States.


@pytest.mark.parametrize(
    ("widths", "servers"), [((1, 2), 9), ((3, 1, 4), 11), ((2, 2, 5), 12), ((7,), 3)]
)
def test_states_are_listed_with_the_first_slot_running_fastest(kernels, widths, servers):
    ranges = [range(servers // width + 1) for width in reversed(widths)]
    fitting = [jobs[::-1] for jobs in product(*ranges) if np.dot(jobs[::-1], widths) <= servers]
    counts, idle, table = listed(kernels, widths, servers)
    assert [tuple(column) for column in counts.T.tolist()] == fitting
    assert idle.tolist() == [servers - np.dot(jobs, widths) for jobs in fitting]
    places = [
        kernels.state_space.place(column.copy(), servers, np.array(widths), table)
        for column in counts.T.astype(np.int64)
    ]
    assert places == list(range(len(fitting)))
    fewer, more = np.empty(counts.shape, np.int64), np.empty(counts.shape, np.int64)
    kernels.state_space.neighbours(counts, idle, servers, np.array(widths), table, fewer, more)
    place = {jobs: k for k, jobs in enumerate(fitting)}
    for change, found in ((-1, fewer), (1, more)):
        for slot, row in enumerate(found.tolist()):
            expected = [
                place.get((*jobs[:slot], jobs[slot] + change, *jobs[slot + 1 :]), -1)
                for jobs in fitting
            ]
            assert row == expected


# Rates.


def test_rates_are_those_of_the_dense_twin(kernels, system):
    states, rates = system.inflow(kernels)
    number, twin = system.twin()
    met = [state for state, jobs in enumerate(states) if jobs in number]
    assert len(met) == len(number)
    order = [number[states[state]] for state in met]
    dense = rates.dense()
    np.testing.assert_allclose(dense[np.ix_(met, met)], twin[np.ix_(order, order)], rtol=1e-12)
    # Nothing else is ever met, though all that leaves a state is counted.
    np.testing.assert_allclose(dense[met].sum(), twin.sum(), rtol=1e-12)
    np.testing.assert_allclose(rates.out, dense.sum(axis=1), rtol=1e-12)


WINDOWS = {
    "all": (0, [0, 0, 0, 0, 0], [9, 7, 5, 3, 1]),
    "many wide jobs": (2, [1, 0, 0], [5, 3, 1]),
    "few wide jobs": (0, [3, 2], [9, 7]),
    "one line": (1, [2], [5]),
    "one state": (3, [2], [2]),
}


def windowed(kernels, system, first, least, most):
    """Return the states of a window, and the rates into each."""
    states = [
        (narrow, first + line)
        for line in range(len(least))
        for narrow in range(least[line], most[line] + 1)
    ]
    rates = memory(len(states), 4 * len(states))
    fixed = (first, system.servers, system.widths, system.model.rates, system.entries)
    used = kernels.state_space.window_inflow(np.array(least), np.array(most), *fixed, *rates)
    return states, cut(rates, used)


each_window = pytest.mark.parametrize("window", WINDOWS.values(), ids=WINDOWS.keys())


@each_window
@pytest.mark.parametrize("name", ["two widths", "two widths, mixed alike"])
def test_a_window_keeps_the_rates_between_its_states_and_no_others(kernels, name, window):
    system = System(*SYSTEMS[name])
    states, rates = windowed(kernels, system, *window)
    number, twin = system.twin()
    order = [number[jobs] for jobs in states]
    expected = twin[np.ix_(order, order)]
    np.testing.assert_allclose(rates.dense(), expected, rtol=1e-12)
    np.testing.assert_allclose(rates.out, expected.sum(axis=1), rtol=1e-12)


# Solvers.


@pytest.fixture
def vector():
    return np.random.default_rng(4).random


def test_a_sweep_solves_the_product_of_both_triangles(kernels, system, vector):
    _, rates = system.inflow(kernels)
    right, found = vector(rates.out.size), np.empty(rates.out.size)
    kernels.state_space.sweep(*rates, right, found)
    balance = rates.balance()
    product = np.tril(balance) @ (np.triu(balance) @ found / np.diag(balance))
    np.testing.assert_allclose(product, right, rtol=1e-10, atol=1e-12)


def test_the_imbalance_is_the_rate_out_less_the_rate_in(kernels, system, vector):
    _, rates = system.inflow(kernels)
    weight, gap = vector(rates.out.size), np.empty(rates.out.size)
    kernels.state_space.imbalance(*rates, weight, gap)
    np.testing.assert_allclose(gap, rates.balance() @ weight, rtol=0, atol=1e-12)
    assert np.abs(gap).max() > 0.1


def test_relaxing_balances_states_one_after_another(kernels, system, vector):
    _, rates = system.inflow(kernels)
    weight = vector(rates.out.size)
    expected = weight.copy()
    into = rates.dense().T
    for state, row in enumerate(into):
        expected[state] = row @ expected / rates.out[state]
    kernels.state_space.relax(*rates, weight)
    np.testing.assert_allclose(weight, expected, rtol=1e-12)


def improved(kernels, rates, weight, gain, steps):
    """Return the steps taken, the better weights, and by how much their imbalance is less."""
    gap, step, left = (np.empty(rates.out.size) for _ in range(3))
    kernels.state_space.imbalance(*rates, weight, gap)
    taken = kernels.state_space.improve(rates, -gap, steps, gain, step)
    better = weight + step
    kernels.state_space.imbalance(*rates, better, left)
    return taken, better, np.linalg.norm(left) / np.linalg.norm(gap)


def test_improving_finds_the_law_of_the_dense_twin(kernels, system):
    states, rates = system.inflow(kernels)
    taken, better, left = improved(kernels, rates, np.ones(len(states)), 1e-11, 100)
    assert taken < 100
    assert left < 1e-10
    np.testing.assert_allclose(better / better.sum(), system.law(states), rtol=0, atol=1e-10)


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_improving_takes_the_steps_of_scipy(kernels, system, vector, steps):
    """Wrong directions, too, may lead to the law in the end, but only by other steps."""
    _, rates = system.inflow(kernels)
    balance = rates.balance()
    diagonal = np.diag(balance)

    def both(right):
        half = solve_triangular(np.tril(balance), right, lower=True)
        return solve_triangular(np.triu(balance), diagonal * half)

    sweep = LinearOperator(balance.shape, both)
    gap, step = balance @ vector(rates.out.size), np.empty(rates.out.size)
    assert kernels.state_space.improve(rates, gap, steps, 0.0, step) == steps
    passed = [np.zeros(gap.size)]
    bicgstab(
        balance, gap, rtol=0.0, maxiter=steps, M=sweep, callback=lambda x: passed.append(x + 0)
    )
    expected = min(passed, key=lambda x: np.linalg.norm(gap - balance @ x))
    np.testing.assert_allclose(step, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("scale", [1e-6, 1.0])
def test_improving_stops_as_soon_as_the_imbalance_is_down(kernels, system, scale):
    states, rates = system.inflow(kernels)
    weight = np.full(len(states), scale)
    taken, _, left = improved(kernels, rates, weight, 1e-3, 100)
    assert 1 < taken < 100
    assert left <= 1e-3 * (1 + 1e-9)
    fewer, _, left = improved(kernels, rates, weight, 1e-3, taken - 1)
    assert fewer == taken - 1
    assert left > 1e-3


ONE_SERVER = Rates(
    np.array([0, 1, 2], dtype=np.int32), np.array([1, 0], dtype=np.int32), np.ones(2), np.ones(2)
)


@pytest.mark.parametrize(
    ("gap", "taken", "step"),
    [
        ([1.0, -1.0], 1, [1.0, 0.0]),  # the sweep alone is the whole answer
        ([0.0, 0.0], 0, [0.0, 0.0]),  # there is nothing to do
    ],
)
def test_improving_ends_where_nothing_is_left_to_gain(kernels, gap, taken, step):
    found = np.empty(2)
    assert kernels.state_space.improve(ONE_SERVER, np.array(gap), 9, 1e-9, found) == taken
    assert found.tolist() == step


def test_improving_changes_nothing_where_no_step_is_better(kernels):
    found = np.ones(2)
    # Flows always cancel in total, and these do not.
    kernels.state_space.improve(ONE_SERVER, np.array([1.0, 0.0]), 9, 1e-9, found)
    assert found.tolist() == [0.0, 0.0]


# Rigid jobs.


def test_the_recursion_sums_the_product_form(kernels):
    widths, offered, servers = (1, 3, 4), (2.0, 0.7, 1.1), 11
    law = np.zeros(servers + 1)
    for jobs in product(*(range(servers // width + 1) for width in widths)):
        if (busy := np.dot(jobs, widths)) <= servers:
            law[busy] += prod(a**x / factorial(x) for a, x in zip(offered, jobs, strict=True))
    found = kernels.state_space.kaufman_roberts(servers, np.array(widths), np.array(offered))
    np.testing.assert_allclose(found, law / law.sum(), rtol=1e-13)


@pytest.mark.parametrize(("servers", "offered"), [(90, 4e4), (300, 1e5)])
def test_the_recursion_is_scaled_down_before_it_overflows(kernels, servers, offered):
    """Weights grow to 1e276 and 1e885: here they are counted down from the last instead."""
    law = np.ones(servers + 1)
    for busy in range(servers, 0, -1):
        law[busy - 1] = law[busy] * busy / offered
    found = kernels.state_space.kaufman_roberts(servers, np.array([1]), np.array([offered]))
    np.testing.assert_allclose(found, law / law.sum(), rtol=1e-11, atol=1e-300)


# Compiled and plain.


def test_the_same_digits_come_out_with_the_jit_off(both_ways, system, vector):
    weight = vector(10_000)
    compiled, plain = (digits(kernels, system, weight) for kernels in both_ways)
    assert compiled == plain


def digits(kernels, system, weight):
    """Return all that the kernels write for a system, to the last bit."""
    states, rates = system.inflow(kernels)
    weight = weight[: len(states)].copy()
    found, gap = np.empty(len(states)), np.empty(len(states))
    kernels.state_space.sweep(*rates, weight, found)
    kernels.state_space.imbalance(*rates, weight, gap)
    better = improved(kernels, rates, weight, 1e-11, 100)
    kernels.state_space.relax(*rates, weight)
    written = (states, *rates, found, gap, *better, weight)
    return [np.asarray(part).tobytes() for part in written]


@each_window
def test_windows_have_the_same_digits_with_the_jit_off(both_ways, window):
    system = System(*SYSTEMS["two widths"])
    compiled, plain = (windowed(kernels, system, *window)[1] for kernels in both_ways)
    for one, other in zip(compiled, plain, strict=True):
        assert one.tobytes() == other.tobytes()
