"""Random small systems with a queue against their dense generator."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from moldable import JobClass, Scenario, SpeedUp, Workload
from moldable.errors import ChainError
from moldable.exact.exact import stationary_law
from moldable.exact.queue_law import solve_queue
from moldable.exact.queue_model import queue_model
from moldable.sizes import Hyperexponential, MixedErlang, PhaseType
from moldable.system.loss_system import build_system, by_pool
from naive import queue_chain
from naive.queue_systems import RandomTable, even_share, queue_system, with_places
from naive.random_systems import random_policy, random_workload
from seeds import seeds

LOOP = PhaseType([0.5, 0.3, 0.2], [[-3.0, 2.0, 0.5], [0.4, -1.0, 0.3], [0.0, 0.5, -2.0]])
SIZES = (None, None, MixedErlang(), Hyperexponential(2.5), LOOP)
PLACES = (0, 1, 3, 10, math.inf)
DEEP = 70
"""Waiting places that stand for an unlimited queue."""
CLOSE = {"rel": 0.0, "abs": 1e-10}


def random_curve(rng, narrowest):
    """Draw a curve with gaps."""
    widths = np.append(narrowest, narrowest + 1 + np.flatnonzero(rng.random(3) < 0.6))
    speeds = np.append(1.0 if narrowest == 1 else 1.5, np.sort(rng.uniform(1.6, 4.0, 3)))
    return SpeedUp(dict(zip(widths.tolist(), speeds.tolist(), strict=False)))


def draw(seed, places):
    """Draw (scenario, policy) of a small cluster."""
    rng = np.random.default_rng(seed)
    size = SIZES[int(rng.integers(len(SIZES)))]
    count = int(rng.integers(1, 3))
    servers = int(rng.integers(2, 5 if size is not None or count > 1 else 8))
    load = rng.uniform(0.1, 0.35) if math.isinf(places) else rng.uniform(0.3, 1.5)
    classes = []
    for j in range(count):
        curve = random_curve(rng, int(rng.integers(1, min(3, servers) + 1)))
        mean = float(rng.uniform(0.3, 3.0))
        law = {} if size is None or (j == 1 and rng.random() < 0.5) else {"size": size}
        rate = load * servers / mean / count * float(rng.uniform(0.5, 1.5))
        classes.append(JobClass(f"class {j}", rate, curve, mean, **law))
    policy = RandomTable(
        rng,
        [[w for w in part.speedup.widths.tolist() if w <= servers] for part in classes],
        behind=int(rng.integers(0, 4)),
        holding=float(rng.choice([0.0, 0.0, 0.3])),
        servers=servers,
        alike=bool(rng.integers(2)),
        sharply=bool(rng.integers(2)),
    )
    return Scenario(Workload(tuple(classes)), servers), policy


def small_system(seed, places):
    """Draw (system, dense answer) with not too many states and a queue that ends somewhere."""
    for attempt in range(1000):
        scenario, policy = draw([seed, attempt], places)
        deep = DEEP if math.isinf(places) else places
        naive = queue_chain.Queue(scenario, policy, deep, remember=places in {1, 3})
        try:
            exact = naive.solve()
        except (queue_chain.TooMany, queue_chain.Stuck):
            continue
        if math.isinf(places) and exact.queue_length[DEEP:].sum() > 1e-14:
            continue
        return queue_system(scenario, policy, places, behind=policy.behind), exact
    raise AssertionError


def assert_same(law, exact):
    """Compare everything that both know."""
    system = law.system
    kinds = list(zip(system.kind_class.tolist(), system.kind_width.tolist(), strict=True))
    assert law.blocking == pytest.approx(exact.blocking, **CLOSE)
    assert law.arrivals_waiting == pytest.approx(exact.waits, **CLOSE)
    assert law.waiting_jobs == pytest.approx(exact.waiting_jobs, rel=1e-10, abs=1e-10)
    assert law.mean_jobs == pytest.approx([exact.jobs.get(kind, 0.0) for kind in kinds], **CLOSE)
    granted = [exact.granted.get(kind, 0.0) for kind in kinds]
    assert law.granted == pytest.approx(granted, rel=1e-10, abs=1e-10)
    np.testing.assert_allclose(law.busy, exact.busy, rtol=0.0, atol=1e-10)
    common = min(law.queue_length.size, exact.queue_length.size)
    np.testing.assert_allclose(
        law.queue_length[:common], exact.queue_length[:common], rtol=0.0, atol=1e-10
    )


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("seed", seeds(40, few=12))
def test_a_random_system_is_solved_as_by_its_dense_generator(seed, places):
    system, exact = small_system(seed, places)
    law = solve_queue(system)
    assert_same(law, exact)
    if places == 10 or math.isinf(places):
        reached = exact.queue_length.size > 2  # otherwise no head ever holds
        assert (law.queue_length.size > 2) == reached
    elif places == 0:
        assert law.states == len(exact.law)  # transient states are left out


def test_the_random_systems_are_of_every_kind():
    models = [queue_model(small_system(seed, 3)[0]) for seed in range(40)]
    assert any(model.heads > 1 for model in models)
    assert any(model.heads == 1 and model.shares.size > 1 for model in models)
    assert any(model.holds[1:].any() for model in models)
    assert any(not model.holds[1:].any() for model in models)
    assert any(model.last > 1 for model in models)
    assert any(model.last == 0 for model in models)
    assert any(model.model.phases > 1 and model.heads > 1 for model in models)


@pytest.mark.parametrize("places", [1, 3])
@pytest.mark.parametrize("seed", range(10))
def test_the_class_of_a_waiting_job_may_be_drawn_when_it_becomes_the_head(seed, places):
    scenario, policy = draw([seed, 1], places)
    try:
        all_known = queue_chain.Queue(scenario, policy, places, remember=True).solve()
    except (queue_chain.TooMany, queue_chain.Stuck):
        return
    head_known = queue_chain.Queue(scenario, policy, places, remember=False).solve()
    assert head_known.waiting_jobs == pytest.approx(all_known.waiting_jobs, **CLOSE)
    assert head_known.granted == pytest.approx(all_known.granted, **CLOSE)


@pytest.mark.parametrize("seed", seeds(40, few=12))
def test_without_places_it_is_the_loss_system(seed):
    rng = np.random.default_rng(seed)
    servers = int(rng.integers(4, 13))
    workload = random_workload(rng, servers, classes=int(rng.integers(1, 3)), most_widths=4)
    scenario, policy = Scenario(workload, servers), random_policy(rng, workload, servers)
    loss = stationary_law(scenario, policy, method="chain").pools[0]
    queue = solve_queue(build_system(scenario, policy))
    assert queue.blocking == pytest.approx(loss.blocking, rel=0.0, abs=1e-12)
    assert queue.mean_jobs == pytest.approx(loss.mean_jobs, rel=0.0, abs=1e-12)
    assert queue.granted == pytest.approx(loss.granted, rel=0.0, abs=1e-12)
    np.testing.assert_allclose(queue.busy, loss.busy, rtol=0.0, atol=1e-12)
    assert queue.states == loss.states
    assert queue.mean_queue == 0.0
    assert not queue.arrivals_waiting.any()


@pytest.mark.parametrize("places", [3, math.inf])
def test_a_rate_one_percent_off_would_be_noticed(places):
    system, exact = small_system(5, places)
    part, *others = system.workload.classes
    wrong = dataclasses.replace(part, arrival_rate=1.01 * part.arrival_rate)
    scenario = dataclasses.replace(system.scenario, workload=Workload((wrong, *others)))
    with pytest.raises(AssertionError):
        assert_same(solve_queue(dataclasses.replace(system, scenario=scenario)), exact)


def test_a_job_that_would_wait_for_ever_is_found():
    """With holding on an empty cluster allowed, both find the same systems stuck."""
    found = []
    for seed in range(60):
        scenario, policy = draw([seed, 2], 3)
        policy.holding, policy.servers = 0.3, scenario.servers + 1
        system = queue_system(scenario, policy, 3, behind=policy.behind)
        if system.kind_width.size == 0:
            continue
        try:
            queue_chain.Queue(scenario, policy, 3).walk()
        except queue_chain.Stuck:
            with pytest.raises(ChainError, match="for ever"):
                solve_queue(system)
            found.append(True)
        except queue_chain.TooMany:
            continue
        else:
            assert solve_queue(system).states > 1
            found.append(False)
    assert found.count(True) > 5
    assert found.count(False) > 5


def test_a_job_that_holds_by_chance_is_refused():
    scenario = Scenario.single([1, 1.8], 0.5, 4)
    drawn = queue_system(scenario, lambda _, idle, __: {1: 0.5} if idle else {}, 3, behind=0)
    with pytest.raises(ChainError, match=r"holds with probability 0\.5 at 1 idle servers"):
        solve_queue(drawn)
    assert solve_queue(with_places(drawn, 0.0)).blocking > 0.5


def test_classes_with_servers_of_their_own_are_solved_part_by_part():
    scenario = Scenario.single([1, 1.8], 0.5, 4)
    system = queue_system(scenario, even_share(2), 3)
    with pytest.raises(ChainError, match="separate queues"):
        solve_queue(dataclasses.replace(system, shared=False))
    first, second = (dataclasses.replace(scenario.workload.classes[0], name=name) for name in "ab")
    both = Scenario(Workload((first, second)), 4)
    tables = queue_system(both, even_share(2), 3)
    parts = by_pool(dataclasses.replace(tables, shared=False))
    assert [solve_queue(part).blocking.tolist() for part in parts] == [
        solve_queue(system).blocking.tolist()
    ] * 2
