"""The lock-step chain against its naive twin, path by path."""

from __future__ import annotations

import numpy as np
import pytest

from moldable import JobClass, Scenario, SpeedUp, Workload
from moldable.kernels import count_chain as kernel
from moldable.policies.greedy import Greedy
from moldable.simulation.alias_table import alias_table, columns_needed
from moldable.simulation.chain_run import LANE_SETS, TICKS, kernel_arguments
from moldable.sizes import Exponential, Hyperexponential, MixedErlang
from moldable.system.count_model import chain_model
from moldable.system.loss_system import build_system
from naive.count_chain import Xoshiro, run

PAPER = SpeedUp([1, 1.8, 2.5, 3, 3.4])


def systems():
    one = JobClass("a", 16.0, PAPER)
    yield "one class, two widths", Workload((one,)), None
    yield "greedy", Workload((one,)), Greedy()
    yield "one width", Workload((JobClass("a", 12.0, SpeedUp.linear(4)),)), None
    phases = JobClass("a", 8.0, SpeedUp([1, 1.7]), size=MixedErlang((0.2, 0.3, 0.5)))
    yield "phases", Workload((phases,)), None
    two = (
        JobClass("a", 6.0, SpeedUp([1, 1.7]), size=Hyperexponential(2.0)),
        JobClass("b", 5.0, SpeedUp({2: 1.8, 3: 2.4}), mean_size=0.7),
    )
    yield "two classes", Workload(two), None


def lanes_after(system, blocks, function, lanes=8, seeds=None):
    model = chain_model(system)
    slots, classes = model.rates.size, len(system.workload.classes)
    buffer = np.zeros((kernel.JOBS + 2 * slots + classes, lanes))
    words = buffer.view(np.uint64)
    if seeds is None:
        seeds = np.random.default_rng(5).integers(0, 2**64, (4, lanes), dtype=np.uint64)
    words[:4] = seeds
    buffer[kernel.IDLE] = system.servers
    sums = np.zeros(slots * lanes)
    with np.errstate(over="ignore"):
        arguments = kernel_arguments(model, lanes, classes)
        function(words.ravel(), buffer.ravel(), *arguments, blocks, TICKS, sums)
    return model, buffer, seeds, sums


each_system = pytest.mark.parametrize(
    ("workload", "policy"), [s[1:] for s in systems()], ids=[s[0] for s in systems()]
)


@each_system
def test_every_lane_walks_the_path_of_the_naive_twin(workload, policy):
    system = build_system(Scenario(workload, 20), policy)
    blocks = 60
    model, buffer, seeds, sums = lanes_after(system, blocks, kernel.count_chain)
    table = alias_table(model.outcomes, columns_needed(model.outcomes))
    slots = model.rates.size
    for lane in (0, 3, 7):
        draws = Xoshiro(seeds[:, lane])
        uniforms = iter(draws.uniform, None)
        jobs, total = [0] * slots, np.zeros(slots)
        granted, blocked = np.zeros(slots), np.zeros(len(workload.classes))
        for _ in range(blocks):
            jobs, idle, got, lost = run(uniforms, model, table, 20, jobs, TICKS)
            total += jobs
            granted += got
            blocked += lost
        rows = buffer[:, lane]
        assert rows[kernel.IDLE] == idle
        assert rows[kernel.JOBS : kernel.JOBS + slots].tolist() == jobs
        assert rows[kernel.JOBS + slots : kernel.JOBS + 2 * slots].tolist() == granted.tolist()
        assert rows[kernel.JOBS + 2 * slots :].tolist() == blocked.tolist()
        assert sums.reshape(slots, -1)[:, lane].tolist() == total.tolist()
        assert granted.sum() > 20


@each_system
def test_the_same_numbers_come_out_with_the_jit_off(workload, policy):
    system = build_system(Scenario(workload, 20), policy)
    _, compiled, _, sums = lanes_after(system, 4, kernel.count_chain)
    _, interpreted, _, plain_sums = lanes_after(system, 4, kernel.count_chain.py_func)
    assert compiled.tobytes() == interpreted.tobytes()
    assert sums.tobytes() == plain_sums.tobytes()


def test_scripted_draws_take_the_planned_path():
    # One class, one width 2 on 4 servers, rate 1 each: clock 1 + 4/2 = 3 at most.
    workload = Workload((JobClass("a", 1.0, SpeedUp({2: 2.0}), mean_size=2.0),))
    model = chain_model(build_system(Scenario(workload, 4), None))
    assert model.total_rate == pytest.approx(1.0 + 4 * (1.0 / 2))
    table = alias_table(model.outcomes, columns_needed(model.outcomes))
    arrive, leave, nothing = 0.1, 0.34, 0.99
    plan = iter([nothing, arrive, arrive, arrive, leave, arrive, leave, leave])
    jobs, idle, granted, blocked = run(plan, model, table, 4, [0], 8)
    assert (jobs, idle, granted, blocked) == ([0], 4, [3], [1])


def test_law_of_sizes_does_not_change_a_one_phase_model():
    plain = JobClass("a", 16.0, PAPER, size=Exponential())
    one_phase = JobClass("a", 16.0, PAPER, size=MixedErlang((1.0,)))
    left = chain_model(build_system(Scenario(Workload((plain,)), 20), None))
    right = chain_model(build_system(Scenario(Workload((one_phase,)), 20), None))
    assert np.array_equal(left.rates, right.rates)
    assert np.array_equal(left.outcomes, right.outcomes)


@pytest.mark.parametrize("function", [kernel.count_chain, kernel.count_chain.py_func])
def test_lanes_do_not_depend_on_the_number_of_lanes(function):
    system = build_system(Scenario(Workload((JobClass("a", 16.0, PAPER),)), 20), None)
    seeds = np.random.default_rng(5).integers(0, 2**64, (4, max(LANE_SETS)), dtype=np.uint64)
    alone, *wider = (
        lanes_after(system, 4, function, lanes, seeds[:, :lanes])[1] for lanes in LANE_SETS
    )
    for buffer in wider:
        assert np.array_equal(buffer[:, : alone.shape[1]], alone)
        assert not np.array_equal(buffer[:, -alone.shape[1] :], alone)
