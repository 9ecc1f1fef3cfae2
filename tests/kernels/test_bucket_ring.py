"""The bucket ring against its naive twin, path by path."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldable import JobClass, Scenario, SpeedUp, Workload
from moldable.kernels.bucket_ring import bucket_ring
from moldable.policies.greedy import Greedy, GreedyP
from moldable.simulation.alias_table import alias_table
from moldable.simulation.ring_run import RingState, _with_blocked, ring_model
from moldable.sizes import Pareto
from moldable.system.loss_system import build_system
from naive.loss_system import run
from strategies import curves


def walk(system, jobs, seed, function=bucket_ring, spread=1.0):
    """Run the kernel and the twin on the same draws."""
    model = ring_model(system)
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.exponential(spread, jobs))  # in widths of a bucket
    sizes = Pareto(1.3).sample(rng, jobs)
    classes = len(system.workload.classes)
    labels = rng.integers(0, classes, jobs) if classes > 1 else np.zeros(0, np.int64)
    picks = rng.random(jobs) if model.draws else np.zeros(0)
    state = RingState.empty(model, durations=True)
    granted = np.zeros(model.widths.size, np.int64)
    booked, blocked = np.zeros(model.widths.size), np.zeros(classes, np.int64)
    function(times, sizes, labels, picks, *model.tables(), *state, granted, booked, blocked)
    kinds = list(
        zip(
            model.pool_of_kind.tolist(),
            model.widths.tolist(),
            model.scales.tolist(),
            strict=True,
        )
    )
    tables = [alias_table(_with_blocked(rows), model.columns) for rows in system.wishes]
    twin = run(
        times, sizes, labels, picks, tables, model.pools.tolist(), model.pool_of.tolist(), kinds
    )
    return model, times, state, granted, blocked, twin


def check(model, times, state, granted, blocked, twin):
    decisions, idle, running = twin
    now = times[-1]
    listed = jobs_in(state)
    # What is kept is a lower bound of the idle servers; with the jobs that have left it is exact.
    found = state.idle.copy()
    for departure, kind in listed:
        if departure <= now:
            found[model.pool_of_kind[kind]] += model.widths[kind]
    running = [job for job in running if job[0] > now]
    for _, kind in set(twin[2]) - set(running):
        idle[model.pool_of_kind[kind]] += model.widths[kind]
    assert found.tolist() == idle
    counted = [decisions.count(kind) for kind in range(granted.size)]
    assert granted.tolist() == counted
    assert blocked.sum() == decisions.count(None)
    assert sorted(job for job in listed if job[0] > now) == sorted(running)
    ring = state.survey(granted.size, now, -1.0)
    assert ring.held.tolist() == [sum(k == kind for _, k in listed) for kind in range(granted.size)]
    left = [sum(t - now for t, k in running if k == kind) for kind in range(granted.size)]
    assert ring.left == pytest.approx(left)
    assert ring.young.tolist() == [
        sum(k == kind for _, k in running) for kind in range(granted.size)
    ]


def jobs_in(state):
    """Walk the lists of the ring."""
    found = []
    for head in state.heads.tolist():
        job = head
        while job >= 0:
            found.append((float(state.departure[job]), int(state.kind[job])))
            job = int(state.following[job])
    return found


@settings(max_examples=60)
@given(
    st.lists(curves(6), min_size=1, max_size=3),
    st.integers(6, 40),
    st.booleans(),
    st.integers(0, 10**6),
    st.sampled_from([0.05, 1.0, 300.0]),
)
def test_the_ring_walks_the_path_of_the_naive_twin(several, servers, greedy, seed, spread):
    classes = tuple(JobClass(f"c{j}", 1.0 + j, curve) for j, curve in enumerate(several))
    wishes = {c.name: dict.fromkeys(c.speedup.widths.tolist(), 1 / len(c.speedup)) for c in classes}
    policy = Greedy() if greedy else GreedyP(wishes)
    system = build_system(Scenario(Workload(classes), servers), policy)
    check(*walk(system, 400, seed, spread=spread))


def test_classes_with_servers_of_their_own_do_not_meet():
    classes = (JobClass("a", 3.0, SpeedUp([1, 1.8])), JobClass("b", 5.0, SpeedUp([1, 1.9, 2.6])))
    system = build_system(Scenario(Workload(classes, "reserved"), 12), None)
    model, times, state, granted, blocked, twin = walk(system, 3000, 4)
    check(model, times, state, granted, blocked, twin)
    assert state.idle.size == 2
    assert (blocked > 0).all()


@pytest.mark.parametrize("seed", range(3))
def test_the_same_path_with_the_jit_off(seed):
    system = build_system(
        Scenario(Workload((JobClass("a", 9.0, SpeedUp([1, 1.8, 2.5])),)), 10), None
    )
    check(*walk(system, 300, seed, function=bucket_ring.py_func))
