"""The ring with a queue against its naive twin, job by job."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from kernels.queue_case import UNLIMITED, QueueCase, jobs_in, random_case
from moldable import Scenario
from moldable.kernels import queue_ring as kernel
from moldable.simulation.alias_table import alias_table
from moldable.simulation.ring_run import ring_model
from moldable.system.loss_system import build_system
from naive import loss_system


def check(case, found):
    """Compare everything that the kernel reports with the twin's jobs."""
    twin, classes = case.naive(), len(case.tables)
    jobs = range(len(case.times))
    started = [i for i in jobs if twin.starts[i] is not None]
    assert np.flatnonzero(found.kinds == -1).tolist() == twin.blocked
    assert np.flatnonzero(found.kinds == -2).tolist() == twin.waiting
    assert np.flatnonzero(found.kinds >= 0).tolist() == started
    assert [found.kinds[i] for i in started] == [twin.kinds[i] for i in started]
    assert [found.starts[i] for i in started] == [twin.starts[i] for i in started]
    _check_counts(case, found, twin, started)
    waiting = found.fifo.waiting
    assert found.fifo.numbers[waiting].tolist() == twin.waiting
    assert found.fifo.times[waiting].tolist() == case.times[twin.waiting].tolist()
    now = case.times[-1]
    there = jobs_in(found.ring)
    assert sorted(job for job in there if job[0] > now) == sorted(
        job for job in twin.running if job[0] > now
    )
    gone = sum(case.kinds[kind][0] for departure, kind in there if departure <= now)
    late = sum(case.kinds[kind][0] for departure, kind in twin.running if departure <= now)
    assert found.ring.idle[0] + gone == twin.idle + late
    count, waited = found.fifo.census(now, classes)
    stood = found.wait + waited
    assert count.sum() == len(twin.waiting)
    assert stood == pytest.approx(_queue_integral(twin, classes, now), rel=1e-9, abs=1e-9)


def _queue_integral(twin, classes, now):
    """Integrate the number of waiting jobs of each class up to now."""
    total = [0.0] * classes
    for time, label, change in twin.events:
        total[label] += change * (now - time)
    return total


def _check_counts(case, found, twin, started):
    classes, kinds = len(case.tables), len(case.kinds)
    labels = case.labels if classes > 1 else np.zeros(len(case.times), np.int64)
    assert found.blocked.tolist() == [
        sum(labels[i] == j for i in twin.blocked) for j in range(classes)
    ]
    runs = {i: case.sizes[i] * case.kinds[twin.kinds[i]][1] for i in started}
    waits = {i: twin.starts[i] - case.times[i] for i in started}
    for k in range(kinds):
        own = [i for i in started if twin.kinds[i] == k]
        assert found.granted[k] == len(own)
        assert found.booked[k] == pytest.approx(sum(runs[i] for i in own))
    edges = kernel.bin_edges()
    for j in range(classes):
        own = [i for i in started if labels[i] == j]
        wait, run = np.array([waits[i] for i in own]), np.array([runs[i] for i in own])
        assert found.waited[j] == np.count_nonzero(wait)
        assert found.wait[j] == pytest.approx(wait.sum())
        slowdowns = [
            (w + r) / r if r > 0.0 else np.inf if w > 0.0 else 1.0
            for w, r in zip(wait, run, strict=True)
        ]
        assert found.slowdown[j] == pytest.approx(sum(slowdowns))
        bounded = 0.0
        if case.bound > 0.0:
            bounded = np.maximum((wait + run) / np.maximum(run, case.bound), 1.0).sum()
        assert found.bounded[j] == pytest.approx(bounded)
        assert found.waits[j].tolist() == np.histogram(wait, edges)[0].tolist()
        assert found.responses[j].tolist() == np.histogram(wait + run, edges)[0].tolist()


@pytest.mark.parametrize("first", range(0, 600, 100))
def test_every_job_starts_when_and_as_wide_as_in_the_naive_twin(first):
    for seed in range(first, first + 100):
        case = random_case(seed)
        check(case, case.kernel(buckets=2 ** (seed % 8)))


@pytest.mark.parametrize("block", [1, 3, 64])
def test_neither_blocks_nor_the_memory_of_the_queue_change_anything(block):
    doublings = 0
    for seed in range(1000, 1060):
        case = random_case(seed)
        found = case.kernel(block=block, capacity=1)
        check(case, found)
        doublings += found.doublings
    assert doublings > 60


@pytest.mark.parametrize("places", [0, 1, 3, UNLIMITED])
def test_ties_and_places_with_the_jit_off(places):
    for seed in range(2000, 2012):
        case = random_case(seed, places=places, grid=seed % 2 == 0, jobs=80)
        check(case, case.kernel(kernel.queue_ring.py_func, capacity=2, block=30))


def test_the_random_cases_cover_what_can_happen():
    cases = [random_case(seed) for seed in range(600)]
    twins = [case.naive() for case in cases]
    waits = [sum(change < 0 for *_, change in twin.events) for twin in twins]
    assert sum(count > 20 for count in waits) > 200
    assert sum(len(twin.blocked) > 20 for twin in twins) > 100
    assert sum(len(twin.waiting) > 20 for twin in twins) > 40
    # Idle servers that the head declines, and arrivals at equal times.
    both = list(zip(cases, twins, waits, strict=True))
    assert sum(twin.idle > 0 and len(twin.waiting) > 0 for _, twin, count in both if count) > 40
    assert sum(len(set(case.times)) < len(case.times) for case, _, count in both if count) > 100


def test_without_places_the_queue_is_the_loss_system():
    for seed in range(3000, 3100):
        case = random_case(seed, places=0)
        pools = [0] * len(case.tables)
        kinds = [(0, width, scale) for width, scale in case.kinds]
        jobs = (case.times, case.sizes, case.labels, case.picks)
        tables = [tables[0] for tables in case.tables]
        lost = loss_system.run(*jobs, tables, [case.servers], pools, kinds, case.running)
        assert case.naive().kinds == lost[0]
        found = case.kernel()
        assert [None if kind < 0 else int(kind) for kind in found.kinds] == lost[0]
        assert found.fifo.ends[1] == 0


def fixed_width(times, sizes, *, servers=1, places=UNLIMITED, width=1, running=(), hold=False):
    """Return a cluster with one kind of job."""
    rows = np.zeros((servers + 1, 2))
    rows[width:, 0] = 1.0 - hold
    rows[:, 1] = 1.0 - rows[:, 0]
    times, sizes = np.array(times, dtype=float), np.array(sizes, dtype=float)
    empty = (np.zeros(0, np.int64), np.zeros(0))
    tables = [[alias_table(rows, 1)]]
    return QueueCase(servers, places, tables, [(width, 1.0)], times, sizes, *empty, list(running))


@pytest.mark.parametrize("function", [kernel.queue_ring, kernel.queue_ring.py_func])
def test_one_server_follows_lindleys_recursion(function):
    rng = np.random.default_rng(5)
    times, sizes = np.cumsum(rng.exponential(1.0, 400)), rng.exponential(0.8, 400)
    found = fixed_width(times, sizes).kernel(function, capacity=1)
    wait, waits = 0.0, []
    for gap, size in zip(np.diff(times, append=np.inf), sizes, strict=True):
        waits.append(wait)
        wait = max(0.0, wait + size - gap)
    starts = times + np.array(waits)
    done = ~np.isnan(found.starts)
    assert done.sum() > 390
    assert found.starts[done] == pytest.approx(starts[done])


@pytest.mark.parametrize("function", [kernel.queue_ring, kernel.queue_ring.py_func])
def test_servers_released_at_the_same_time_are_offered_together(function):
    # Two jobs end at 4: the first in the queue gets both servers, the second one waits on.
    case = fixed_width(
        [0.5, 1.0, 4.0, 9.0], [2.0, 1.0, 1.0, 1.0], servers=2, width=2, running=[(4.0, 0), (4.0, 0)]
    )
    narrow = dataclasses.replace(case, kinds=[(2, 1.0), (1, 1.0)], running=[(4.0, 1), (4.0, 1)])
    rows = np.eye(3)[[2, 1, 0]]  # width 2 if both are idle, otherwise 1
    narrow = dataclasses.replace(narrow, tables=[[alias_table(rows, 1)]])
    found = narrow.kernel(function)
    check(narrow, found)
    assert found.kinds.tolist() == [0, 0, 0, 0]
    assert found.starts.tolist() == [4.0, 6.0, 7.0, 9.0]


@pytest.mark.parametrize("function", [kernel.queue_ring, kernel.queue_ring.py_func])
def test_a_departure_at_the_time_of_an_arrival_comes_first(function):
    case = fixed_width([1.0, 1.5], [1.0, 1.0], places=0, running=[(1.0, 0)])
    found = case.kernel(function)
    check(case, found)
    assert found.kinds.tolist() == [0, -1]


@pytest.mark.parametrize("function", [kernel.queue_ring, kernel.queue_ring.py_func])
def test_long_pauses_skip_empty_buckets(function):
    # A job of 10**12 bucket widths; walking there bucket by bucket would take an hour.
    case = fixed_width([1.0, 2.0, 2e12, 3e12], [1e12, 1.0, 1.0, 1.0])
    found = case.kernel(function)
    check(case, found)
    assert found.starts.tolist() == [1.0, 1e12 + 1.0, 2e12, 3e12]


def test_a_head_that_declines_all_servers_stops_everybody():
    case = fixed_width(np.arange(1.0, 30.0), np.ones(29), servers=3, places=5, hold=True)
    found = case.kernel(capacity=1)
    check(case, found)
    assert found.blocked[0] == 24
    assert found.fifo.ends[1] == 5


@pytest.mark.parametrize("time", [0.0, 1e-30, 2.0**-32, 0.7, 1.0, 1.03125, 3.9, 2.0**48, np.inf])
def test_the_bins_are_those_of_the_edges(time):
    edges = kernel.bin_edges()
    assert edges.size == kernel.BINS + 1
    for function in (kernel.bin_of, kernel.bin_of.py_func):
        k = function(time)
        assert edges[k] <= time
        assert time < edges[k + 1] or k == kernel.BINS - 1
    inner = edges[1:-1]
    assert inner[0] == 2.0**-32
    assert inner[-1] == 2.0**48
    assert np.diff(inner).max() / inner[-1] < 1 / 32
    assert (np.diff(inner) / inner[:-1]).max() <= 1 / 32


@pytest.mark.parametrize("scale", [2.0**-20, 1.0, 2.0**13])
def test_every_number_is_in_its_bin(scale):
    edges, rng = kernel.bin_edges(), np.random.default_rng(1)
    times = scale * np.exp(rng.normal(0.0, 3.0, 2000))
    found = np.bincount([kernel.bin_of(time) for time in times], minlength=kernel.BINS)
    assert found.tolist() == np.histogram(times, edges)[0].tolist()


def large_cluster(load, arrivals, seed):
    """Return 4,000 servers under the even price, full at first, with the buckets of a real run."""
    scenario = Scenario.single([1, 1.8, 2.5, 3, 3.4], load, 4000, waiting="unlimited")
    system = build_system(scenario, "even-price")
    model, rng = ring_model(system), np.random.default_rng(seed)
    behind = [system.wishes[0], *system.queue_rows[0]]
    tables = [
        alias_table(np.hstack((rows, 1.0 - rows.sum(axis=1, keepdims=True))), 1) for rows in behind
    ]
    kinds = list(zip(model.widths.tolist(), model.scales.tolist(), strict=True))
    rate = scenario.workload.arrival_rate / model.buckets_per_time
    case = QueueCase(
        4000,
        UNLIMITED,
        [tables],
        kinds,
        np.cumsum(rng.exponential(1.0 / rate, arrivals)),
        rng.exponential(1.0, arrivals),
        np.zeros(0, np.int64),
        np.zeros(0),
        [(left, 0) for left in (kinds[0][1] * rng.exponential(1.0, 4000)).tolist()],
    )
    return case, model.buckets


@pytest.mark.parametrize("load", [0.8, 0.99])
def test_on_4000_servers_every_job_starts_as_in_the_naive_twin(load):
    case, buckets = large_cluster(load, 60_000, 3)
    assert case.kinds[0][0] == 1
    found = case.kernel(buckets=buckets, block=4096)
    check(case, found)
    assert found.waited[0] > 5_000
    assert np.count_nonzero(found.granted) >= 3
