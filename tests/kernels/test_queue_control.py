"""Each kernel of control with a queue against dense matrices and dictionaries."""

from __future__ import annotations

import numpy as np
import pytest

from moldable.optimal.queue_problem import grant_nodes


def test_states_are_those_of_the_naive_version_in_lines_and_levels(queue_case):
    assert sorted(queue_case.order) == list(range(queue_case.states))
    jobs = [queue_case.naive.jobs(state) for state in queue_case.naive.states]
    assert queue_case.queue.jobs(queue_case.places)[queue_case.order].tolist() == jobs


def test_improving_finds_the_bounds_of_the_naive_version(queue_case):
    changes = queue_case.naive.changes(queue_case.values[queue_case.order])
    _, least, most = queue_case.bounds
    assert least == pytest.approx(changes.min(), rel=1e-12)
    assert most == pytest.approx(changes.max(), rel=1e-12)


def test_improving_finds_the_widths_of_the_naive_version_at_arrivals(queue_case):
    naive = queue_case.naive
    for running in naive.pool.states:
        here = queue_case.index((running, 0))
        for j in range(len(naive.shares)):
            if naive.is_full(running):
                assert queue_case.decisions[j, here] == -1
                onward = queue_case.index((running, 1)) if queue_case.places else here
            else:
                kind = naive.best_rule(queue_case.values[queue_case.order])[0](running, 1, j)
                assert queue_case.decisions[j, here] == queue_case.kind_of[kind]
                onward = queue_case.index((naive.pool.moved(running, kind, +1), 0))
            assert queue_case.target[j, here] == onward


def test_improving_twice_changes_nothing(queue_case):
    assert queue_case.bounds[0] > 0
    assert queue_case.improve(0.0)[0] == 0


def test_decisions_stay_when_others_are_hardly_better(queue_case):
    queue_case.values = queue_case.values[::-1].copy()
    before = queue_case.decisions.copy(), queue_case.goes.copy()
    assert queue_case.improve(1e9)[0] == 0
    assert np.array_equal(before[0], queue_case.decisions)
    assert np.array_equal(before[1], queue_case.goes)
    assert queue_case.improve(0.0)[0] > 0


def test_the_rates_out_are_the_diagonal(queue_case):
    assert queue_case.out == pytest.approx(-queue_case.generator.diagonal(), rel=1e-13)


def test_the_sweep_up_solves_what_is_below_the_diagonal(queue_case):
    """Which shows that heads are granted the widths of the naive version, too."""
    lower = np.tril(-queue_case.generator)
    shift = np.random.default_rng(5).random(queue_case.states)
    found = np.empty(queue_case.states)
    queue_case.kernels.queue_control.sweep_up(queue_case.values, shift, *queue_case.up, found)
    right = queue_case.values - queue_case.out * shift + shift[0]
    assert found == pytest.approx(np.linalg.solve(lower, right) + shift, rel=1e-10)


def test_the_sweep_down_solves_what_is_above_the_diagonal(queue_case):
    upper, found = np.triu(-queue_case.generator), np.empty(queue_case.states)
    queue_case.kernels.queue_control.sweep_down(queue_case.values, *queue_case.down, found)
    assert upper @ found == pytest.approx(queue_case.values, rel=1e-11)


def test_completions_lead_to_earlier_states_and_arrivals_to_later_ones(queue_case):
    jobs = queue_case.queue.jobs(queue_case.places)
    for part, step in ((np.tril, -1.0), (np.triu, +1.0)):
        here, to = np.nonzero(part(queue_case.generator, int(step)))
        assert here.size > 0
        assert (jobs[to] - jobs[here] == step).all()


def test_values_solve_the_equations(queue_case):
    matrix = -queue_case.generator
    matrix[:, 0] += 1.0
    cost = np.random.default_rng(9).random(queue_case.states)
    values = queue_case.values.copy()
    _, left = queue_case.kernels.queue_control.queue_values(
        values, cost, *queue_case.solver, 1e-13, 300
    )
    assert left < 1e-11
    assert values == pytest.approx(np.linalg.solve(matrix, cost), rel=1e-8)


def test_values_are_left_alone_if_no_step_is_allowed(queue_case):
    values = queue_case.values.copy()
    cost = np.ones(queue_case.states)
    kernel = queue_case.kernels.queue_control.queue_values
    assert kernel(values, cost, *queue_case.solver, 1e-3, 0) == (0, 1.0)
    assert np.array_equal(values, queue_case.values)


def test_the_law_is_that_of_dense_equations(queue_case):
    law = np.full(queue_case.states, 1.0 / queue_case.states)
    kernel = queue_case.kernels.queue_law.improve_queue_law
    for _ in range(6):
        residual = kernel(law, *queue_case.solver, 1e-14, 1e-8, 100)
        law /= law.sum()
    assert residual < 1e-12
    expected = queue_case.naive.law(queue_case.rule)
    assert law[queue_case.order] == pytest.approx(expected, rel=1e-8, abs=1e-13)


def test_a_law_that_is_good_enough_is_left_alone(queue_case):
    law = np.empty(queue_case.states)
    law[queue_case.order] = queue_case.naive.law(queue_case.rule)
    before = law.copy()
    kernel = queue_case.kernels.queue_law.improve_queue_law
    assert kernel(law, *queue_case.solver, 1e-9, 1e-8, 100) < 1e-9
    assert np.array_equal(law, before)


def test_flows_are_the_transposes_of_sweeps(queue_case):
    shift = np.random.default_rng(5).random(queue_case.states)
    found = np.empty(queue_case.states)
    queue_case.kernels.queue_law.flow_down(queue_case.values, shift, *queue_case.up, found)
    right = queue_case.values - queue_case.out * shift
    expected = np.linalg.solve(np.tril(-queue_case.generator).T, right) + shift
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-12)
    queue_case.kernels.queue_law.flow_up(queue_case.values, *queue_case.down, found)
    expected = np.linalg.solve(np.triu(-queue_case.generator).T, queue_case.values)
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-12)


def test_heads_are_counted_by_class_queue_idle_servers_and_kind(queue_case):
    naive, pool, queue = queue_case.naive, queue_case.queue.pool, queue_case.queue
    rows = 3
    law = np.random.default_rng(2).random(queue_case.states)
    found = np.zeros((len(naive.shares), rows, pool.servers + 1, pool.widths.size))
    queue_case.kernels.queue_law.head_grants(
        law, pool.start, *pool.members, pool.arrivals, queue_case.goes, queue.node, queue.ends,
        queue.onto, queue.idle_at_nodes(), found,
    )  # fmt: skip
    expected = np.zeros(found.shape)

    def follow(running, waiting, flow):
        if waiting and not naive.is_full(running):
            for j, share in enumerate(naive.shares):
                kind = queue_case.rule(running, waiting, j)
                row, idle = min(waiting - 1, rows - 1), naive.pool.idle(running)
                expected[j, row, idle, queue_case.kind_of[kind]] += share * flow
                follow(naive.pool.moved(running, kind, +1), waiting - 1, share * flow)

    for (running, waiting), here in zip(naive.states, queue_case.order, strict=True):
        for after, rate in naive.pool.departures(running):
            follow(after, waiting, rate * law[here])
    assert found == pytest.approx(expected, rel=1e-11, abs=1e-13)


def test_head_values_are_those_after_the_best_grants_from_anywhere(queue_case):
    pool, queue = queue_case.queue.pool, queue_case.queue
    onto = grant_nodes(pool, int(np.diff(pool.start).max()) - 1)
    for waiting in range(queue_case.places + 1):
        found = queue_case.kernels.queue_control.head_values(
            queue_case.values, pool.start, *pool.members, pool.arrivals, onto, waiting
        )
        for running in queue_case.naive.pool.states:
            if waiting == 0 or not queue_case.naive.is_full(running):
                here = queue_case.index((running, 0))
                line = int(np.searchsorted(pool.start, here, side="right")) - 1
                node = (queue.full[line] - here) * queue.lines + line
                expected = queue_case.after_grants(running, waiting)
                assert found[node] == pytest.approx(expected, rel=1e-12)
