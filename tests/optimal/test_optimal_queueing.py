"""The best policy with a queue: against dense policy iteration, Erlang's formulas and the policies.

Published figures are those of the design: closed forms, and value iteration by another program.
"""

from __future__ import annotations

import dataclasses
import json
import math
import pickle

import numpy as np
import pytest

from moldable import (
    JobClass,
    MoldableError,
    Observation,
    Scenario,
    SpeedUp,
    Workload,
    evaluate,
)
from moldable.exact import erlang_b
from moldable.optimal import optimal_control, optimal_queueing
from moldable.optimal.queue_bounds import lower_bound, upper_bound
from moldable.optimal.queue_iteration import best_queue_policy
from moldable.optimal.queue_problem import queue_problem
from moldable.sizes import Deterministic
from naive.queue_control import NaiveQueue
from naive.random_curves import SHAPES, random_speedups
from seeds import seeds
from tuning.systems import SUBLINEAR, TWO_CLASSES

PAIR = Workload(
    (
        JobClass("long", 0.9, SpeedUp({1: 1.0, 2: 1.9, 4: 2.5}), mean_size=1.6),
        JobClass("short", 1.0, SpeedUp({1: 1.0, 3: 2.4}), mean_size=0.7),
    )
)


def random_queue(seed):
    """Draw up to two classes with the same narrowest width, whose narrow jobs load the servers."""
    rng = np.random.default_rng(seed)
    classes = 1 + seed % 2
    narrowest = 2 if seed % 5 == 0 else 1
    servers = int(rng.integers(3, 6 if classes == 1 else 5)) + narrowest - 1
    parts = []
    for j, share in enumerate(rng.dirichlet(np.ones(classes) * 3.0)):
        speedups = random_speedups(str(rng.choice(SHAPES)), 4, rng)[narrowest - 1 :]
        kept = rng.random(speedups.size) < 0.6
        kept[0] = True
        widths = np.flatnonzero(kept) + narrowest
        curve = SpeedUp(dict(zip(widths.tolist(), speedups[kept].tolist(), strict=True)))
        mean = float(rng.uniform(0.3, 3.0))
        narrow = mean * narrowest / float(curve.speedups[0])
        offered = float(share) * float(rng.uniform(0.3, 0.6)) * (servers - narrowest + 1)
        parts.append(JobClass(f"class {j}", offered / narrow, curve, mean))
    return Workload(tuple(parts)), servers


@pytest.mark.parametrize("waiting", [0, 1, 3, math.inf])
@pytest.mark.parametrize("seed", seeds(10, few=4))
def test_random_systems_agree_with_dense_policy_iteration(seed, waiting):
    workload, servers = random_queue(1000 * seed + int(min(waiting, 7)))
    scenario = Scenario(workload, servers, waiting=waiting)
    if math.isinf(waiting):
        found = optimal_queueing(scenario, tolerance=1e-8)
        assert found.neglected_mass <= 1e-9
        naive = NaiveQueue(workload, servers, found.places + 8, 0.0)
    else:
        found = optimal_queueing(scenario, 2.0 + seed, tolerance=1e-8)
        size = sum(part.offered for part in workload.classes) / workload.arrival_rate
        naive = NaiveQueue(workload, servers, waiting, (2.0 + seed) * size)
        assert found.states == len(naive.states)
    least, rule = naive.least_cost()
    assert found.cost == pytest.approx(least, rel=1e-6)
    assert found.lower_bound <= least * (1 + 1e-11)
    assert found.upper_bound >= least * (1 - 1e-11)
    assert found.upper_bound - found.lower_bound <= 1e-6 * least
    jobs, _, blocked, _ = naive.figures(rule)
    assert jobs / naive.rate + naive.overflow * blocked == pytest.approx(least, rel=1e-9)


def granted_by(found, naive):
    """Return what a policy grants, as a rule of the naive version."""
    workload = naive.pool.workload
    kinds = {(j, width): k for k, (j, width, _) in enumerate(naive.pool.kinds)}

    def rule(running, waiting, j):
        seen = {part.name: {} for part in workload.classes}
        for jobs, (owner, width, _) in zip(running, naive.pool.kinds, strict=True):
            seen[workload.classes[owner].name][width] = jobs
        idle = naive.pool.idle(running)
        width = found.grant(workload.classes[j].name, Observation(idle, waiting - 1, seen))
        return kinds[j, width]

    return rule


@pytest.mark.parametrize("waiting", [1, 4, "unlimited"])
@pytest.mark.parametrize("system", ["one class", "two classes"])
def test_what_is_granted_gives_the_figures_in_an_independent_chain(system, waiting):
    workload, servers = (
        (PAIR, 4) if system == "two classes" else (Scenario.single(SUBLINEAR, 0.6, 6).workload, 6)
    )
    scenario = Scenario(workload, servers, waiting=waiting)
    found = optimal_queueing(scenario, None if waiting == "unlimited" else 3.0, tolerance=1e-9)
    naive = NaiveQueue(workload, servers, found.places, 0.0)
    jobs, queue, blocked, waits = naive.figures(granted_by(found, naive))
    accepted = naive.rate * (1 - blocked)
    assert found.mean_response_time == pytest.approx(jobs / accepted, rel=1e-7)
    assert found.mean_wait == pytest.approx(queue / accepted, rel=1e-6)
    assert found.mean_execution_time == pytest.approx((jobs - queue) / accepted, rel=1e-7)
    assert found.wait_probability == pytest.approx(waits, rel=1e-7)
    assert found.queue_length == pytest.approx(queue, rel=1e-6)
    if waiting == "unlimited":
        assert found.blocking == 0.0
        assert found.neglected_mass == pytest.approx(blocked, rel=1e-3)
    else:
        assert found.blocking == pytest.approx(blocked, rel=1e-7)


@pytest.mark.parametrize("waiting", [2, "unlimited"])
def test_no_simple_policy_is_better(waiting):
    workload, servers = Scenario.single(SUBLINEAR, 0.65, 7).workload, 7
    found = optimal_queueing(
        Scenario(workload, servers, waiting=waiting), None if waiting == "unlimited" else 5.0
    )
    naive = NaiveQueue(workload, servers, found.places, 5.0 if waiting == 2 else 0.0)

    def idle(running):
        return min(naive.pool.idle(running), 5)

    rules = {
        "greedy": lambda running, *_: idle(running) - 1,
        "width 1": lambda *_: 0,
        "width 2": lambda running, *_: min(idle(running), 2) - 1,
        "idle share": lambda running, waiting, _: max(1, idle(running) // waiting) - 1,
    }
    costs = {}
    for name, rule in rules.items():
        jobs, _, blocked, _ = naive.figures(rule)
        costs[name] = jobs / naive.rate + naive.overflow * blocked
    assert found.cost <= min(costs.values()) * (1 + 1e-6)
    # Nor is the optimum far from the best of them, which a wrong cost would be.
    assert found.cost >= 0.7 * min(costs.values())


@pytest.mark.parametrize("blocking_cost", [0.5, 4.0])
@pytest.mark.parametrize("seed", range(5))
def test_without_waiting_places_it_is_the_optimum_of_the_loss_system(seed, blocking_cost):
    workload, servers = random_queue(seed)
    scenario = Scenario(workload, servers + 2)
    found = optimal_queueing(scenario, blocking_cost, tolerance=1e-9)
    loss = optimal_control(scenario, blocking_cost, tolerance=1e-9)
    assert found.cost == pytest.approx(loss.cost, rel=1e-8)
    assert found.cost == pytest.approx(
        (1 - found.blocking) * found.mean_execution_time
        + blocking_cost * loss.problem.mean_size * found.blocking,
        rel=1e-10,
    )
    assert found.mean_wait == pytest.approx(0.0, abs=1e-15)
    assert found.wait_probability == 0.0


@pytest.mark.parametrize(
    ("curve", "servers", "load", "published", "digits"),
    [
        ((1.0, 1.8), 2, 0.8, 2.712077295, 1e-8),
        (SUBLINEAR, 6, 0.8, 1.244875480, 1e-8),
        (SUBLINEAR, 10, 0.5, 0.485235, 2e-6),
        (SUBLINEAR, 10, 0.7, 0.724332, 2e-6),
        (SUBLINEAR, 10, 0.8, 0.955495, 2e-6),
        (SUBLINEAR, 10, 0.9, 1.508606, 1e-5),
        (SUBLINEAR, 16, 0.5, 0.410580, 2e-6),
        (SUBLINEAR, 16, 0.7, 0.600970, 2e-6),
        (SUBLINEAR, 16, 0.8, 0.787466, 2e-6),
        (SUBLINEAR, 16, 0.9, 1.178215, 1e-5),
        (SUBLINEAR, 20, 0.5, 0.384887, 2e-6),
        (SUBLINEAR, 20, 0.7, 0.556178, 2e-6),
        (SUBLINEAR, 20, 0.8, 0.728250, 2e-6),
        (SUBLINEAR, 20, 0.9, 1.069859, 2e-6),
    ],
)
def test_published_optima_are_found(curve, servers, load, published, digits):
    found = optimal_queueing(Scenario.single(curve, load, servers, waiting="unlimited"))
    assert found.mean_response_time == pytest.approx(published, rel=digits)
    assert found.lower_bound <= found.cost <= found.upper_bound
    assert found.certified


@pytest.mark.parametrize(
    ("servers", "load", "excess"),
    [
        (10, 0.5, 0.5),
        (10, 0.8, 3.6),
        (16, 0.5, 1.4),
        (16, 0.7, 1.6),
        (16, 0.8, 2.0),
        (16, 0.9, 2.6),
    ],
)
def test_the_even_price_is_as_far_above_the_optimum_as_published(servers, load, excess):
    """By another chain, in per cent; at the best, it costs as much."""
    scenario = Scenario.single(SUBLINEAR, load, servers, waiting="unlimited")
    price = evaluate(scenario, "even-price").queueing.mean_response_time.value
    found = optimal_queueing(scenario)
    assert 100.0 * (price / found.cost - 1.0) == pytest.approx(excess, abs=0.051)


def test_the_optimum_packs():
    found = optimal_queueing(Scenario.single(SUBLINEAR, 0.8, 20, waiting="unlimited"))
    assert found.widths_by_idle["jobs"][4:8] == (4, 3, 3, 4)
    rows = found.widths_by_waiting["jobs"]
    assert rows[0] == found.widths_by_idle["jobs"][:6]
    # With many waiting, every job runs at the efficiency of one server.
    assert rows[-1] == (0, 1, 1, 1, 1, 1)


def test_one_width_is_erlang_c():
    found = optimal_queueing(Scenario.single([1.0], 0.8, 10, waiting="unlimited"), tolerance=1e-9)
    blocking = erlang_b(10, 8.0)
    waits = blocking / (1 - 0.8 * (1 - blocking))
    assert waits == pytest.approx(0.409180150796, rel=1e-11)
    assert found.wait_probability == pytest.approx(waits, rel=1e-7)
    assert found.mean_wait == pytest.approx(waits / 2.0, rel=1e-7)
    assert found.mean_execution_time == pytest.approx(1.0, rel=1e-9)


def test_a_full_row_of_one_width_is_a_birth_and_death_chain():
    found = optimal_queueing(
        Scenario(Workload((JobClass("jobs", 4.0, SpeedUp({3: 2.0})),)), 7, waiting=5), 2.0
    )
    weights = np.cumprod([1.0, 4.0 / 2.0, *[4.0 / 4.0] * 6])
    law = weights / weights.sum()
    assert found.blocking == pytest.approx(law[-1], rel=1e-10)
    assert found.queue_length == pytest.approx(float(np.arange(1, 6) @ law[3:]), rel=1e-10)
    assert found.grant("jobs", Observation(4, 3, {"jobs": {3: 1}})) == 3
    assert found.grant("jobs", Observation(1, 3, {"jobs": {3: 2}})) == 0


def test_two_like_classes_are_one():
    one = optimal_queueing(Scenario.single(SUBLINEAR, 0.7, 7, waiting=6), 4.0, tolerance=1e-9)
    halves = Workload(tuple(JobClass(name, 2.45, SUBLINEAR) for name in "ab"))
    two = optimal_queueing(Scenario(halves, 7, waiting=6), 4.0, tolerance=1e-9)
    assert two.cost == pytest.approx(one.cost, rel=1e-8)
    assert two.mean_wait == pytest.approx(one.mean_wait, rel=1e-6)


def test_units_of_time_only_scale_the_cost():
    slow = Workload(
        tuple(
            dataclasses.replace(
                part, arrival_rate=part.arrival_rate / 60, mean_size=part.mean_size * 60
            )
            for part in PAIR.classes
        )
    )
    one, other = (
        optimal_queueing(Scenario(w, 4, waiting="unlimited"), tolerance=1e-9) for w in (PAIR, slow)
    )
    assert other.cost == pytest.approx(60 * one.cost, rel=1e-8)
    assert other.wait_probability == pytest.approx(one.wait_probability, rel=1e-8)


def test_classes_have_the_same_wait_and_their_own_times():
    found = optimal_queueing(Scenario(PAIR, 4, waiting=3), 3.0, tolerance=1e-9)
    rates = [part.arrival_rate for part in PAIR.classes]
    waits = {part.queueing.mean_wait.value for part in found.classes}
    assert len(waits) == 1
    assert waits.pop() == pytest.approx(found.mean_wait, rel=1e-12)
    times = [part.mean_execution_time.value for part in found.classes]
    assert times[0] != pytest.approx(times[1], rel=1e-2)
    mean = np.dot(rates, times) / sum(rates)
    assert mean == pytest.approx(found.mean_execution_time, rel=1e-9)
    assert sum(part.queueing.queue_length.value for part in found.classes) == pytest.approx(
        found.queue_length, rel=1e-12
    )
    for part in found.classes:
        assert sum(part.width_shares.values()) == pytest.approx(1.0)
        assert part.blocking.value == pytest.approx(found.blocking, rel=1e-12)


@pytest.mark.parametrize("places", [12, 20, 30])
@pytest.mark.parametrize("system", ["one class", "two classes"])
def test_bounds_from_a_short_queue_hold_for_the_unlimited_one(system, places):
    """Such queues are so short that the neglected part matters."""
    scenario = Scenario.single(SUBLINEAR, 0.8, 6, waiting="unlimited")
    if system == "two classes":
        scenario = Scenario(PAIR, 4, waiting="unlimited").at_load(0.8)
    true = optimal_queueing(scenario, tolerance=1e-9)
    queue = queue_problem(scenario)
    overflow = 0.5 * places / (queue.largest_throughput - queue.arrival_rate)
    policy, solver = best_queue_policy(queue, places, overflow, 1e-9, None)
    lower, upper = lower_bound(queue, policy), upper_bound(queue, policy, solver)
    assert lower <= true.upper_bound
    assert upper >= true.lower_bound
    # They close in as the queue is computed further.
    assert upper - lower <= 30.0 * 0.8**places * true.cost
    assert true.cost - lower > 1e-6 * true.cost
    assert true.upper_bound - true.lower_bound < 1e-7 * true.cost


def test_an_overflow_cost_that_is_too_large_lowers_the_lower_bound():
    """The levels beyond the queue are checked: with such a cost they are the worst ones."""
    scenario = Scenario.single(SUBLINEAR, 0.8, 6, waiting="unlimited")
    queue = queue_problem(scenario)
    true = optimal_queueing(scenario, tolerance=1e-9)
    policy, _ = best_queue_policy(queue, 8, 1e3, 1e-9, None)
    assert policy.lower > true.cost
    assert lower_bound(queue, policy) <= true.upper_bound


def test_a_queue_that_was_cut_too_short_is_lengthened():
    """Only two jobs of width 3 fit on 8 servers, so long queues are likelier than guessed."""
    workload = Workload((JobClass("jobs", 2.0, SpeedUp({3: 1.5})),))
    found = optimal_queueing(Scenario(workload, 8, waiting="unlimited"), tolerance=1e-9)
    assert found.places > math.ceil(math.log(1e-9) / math.log(2.0 / 4.0))
    assert found.neglected_mass <= 1e-9
    blocking = erlang_b(2, 4.0 / 3.0)
    waits = blocking / (1 - 2.0 / 3.0 * (1 - blocking))
    assert found.wait_probability == pytest.approx(waits, rel=1e-7)
    assert found.mean_wait == pytest.approx(waits / (2 * 1.5 - 2.0), rel=1e-6)


def test_without_a_certain_upper_bound_it_says_so():
    """Only width 2 keeps up with the arrivals here."""
    workload = Workload((JobClass("jobs", 4.2, SpeedUp((1.0, 3.0))),))
    found = optimal_queueing(Scenario(workload, 4, waiting="unlimited"))
    assert not found.certified
    assert found.neglected_mass <= 1e-9
    naive = NaiveQueue(workload, 4, found.places + 10, 0.0)
    assert found.cost == pytest.approx(naive.least_cost()[0], rel=1e-6)
    assert found.lower_bound <= found.cost <= found.upper_bound


def test_grants_with_more_idle_servers_than_one_job_leaves_are_those_of_the_recursion():
    scenario = Scenario(PAIR, 6, waiting=8)
    found = optimal_queueing(scenario, 5.0, tolerance=1e-9)
    naive = NaiveQueue(PAIR, 6, 8, 5.0 * found.policy.queue.pool.mean_size)
    _, rule = naive.least_cost()
    asked = granted_by(found, naive)
    empty = tuple(0 for _ in naive.pool.kinds)
    _, values = naive.solve(rule)
    _, after_grants = naive.best_rule(values)
    for waiting in range(1, 8):
        for j in range(2):
            options = {
                kind: after_grants(naive.pool.moved(empty, kind, +1), waiting - 1)
                for kind in naive.pool.choices(j, empty)
            }
            assert options[asked(empty, waiting, j)] <= min(options.values()) + 1e-6


def test_longer_queues_than_were_computed_count_as_the_longest():
    found = optimal_queueing(Scenario.single(SUBLINEAR, 0.8, 6, waiting="unlimited"))
    running = {"jobs": {1: 1, 2: 1}}
    far = Observation(3, found.places - 1, running), Observation(3, 10**6, running)
    assert found.grant("jobs", far[0]) == found.grant("jobs", far[1]) == 1
    assert found.policy.choose(found.scenario.workload.classes[0], far[1]) == {1: 1.0}


@pytest.mark.parametrize(
    ("job_class", "observation", "words"),
    [
        ("jbos", Observation(6, running={}), "did you mean 'jobs'"),
        ("jobs", Observation(6), "depends on the running jobs"),
        ("jobs", Observation(5, running={}), "idle=5, but the running jobs leave 6 of 6"),
        ("jobs", Observation(0, running={"jobs": {6: 1}}), "can run on 6 servers"),
    ],
)
def test_grants_refuse_what_cannot_be(job_class, observation, words):
    found = optimal_queueing(Scenario.single(SUBLINEAR, 0.8, 6, waiting=2), 2.0)
    for asked in (job_class, dataclasses.replace(found.scenario.workload.classes[0], name="x")):
        with pytest.raises(MoldableError, match=words if asked == job_class else "unknown"):
            found.grant(asked, observation)


@pytest.mark.parametrize(
    ("scenario", "options", "words"),
    [
        (Scenario(TWO_CLASSES, 8, waiting=3), {"blocking_cost": 2.0}, "narrowest widths differ"),
        (Scenario.single(SUBLINEAR, 0.8, 6, waiting=2), {}, "needs a cost"),
        (Scenario.single(SUBLINEAR, 0.8, 6, waiting=2), {"blocking_cost": -1.0}, "from 0 to"),
        (Scenario.single(SUBLINEAR, 1.0, 6, waiting="unlimited"), {}, "grows without limit"),
        (Scenario.single((1.0, 1.8), 2.0, 2, waiting=50), {"blocking_cost": 0.5}, "very rarely"),
        (
            Scenario(Workload((JobClass("jobs", 3.5, SpeedUp({3: 1.5})),)), 8, waiting="unlimited"),
            {},
            "long queues are likely",
        ),
        (
            Scenario.single(SUBLINEAR, 0.8, 6, waiting="unlimited"),
            {"tolerance": 0.0},
            "tolerance=0 must be from",
        ),
        (
            Scenario.single(SUBLINEAR, 0.8, 6, waiting=3, size=Deterministic()),
            {"blocking_cost": 2.0},
            "exponential sizes only",
        ),
        (
            Scenario.single(SUBLINEAR, 0.8, 6, waiting=3, arrivals="renewal:2"),
            {"blocking_cost": 2.0},
            "Poisson arrivals only",
        ),
        (
            Scenario.single(SUBLINEAR, 0.99, 64, waiting="unlimited"),
            {},
            "more than the 8,000,000",
        ),
        (
            Scenario.single(SUBLINEAR, 0.8, 10, waiting=10**8),
            {"blocking_cost": 2.0},
            "fewer waiting places",
        ),
    ],
)
def test_bad_requests_are_refused(scenario, options, words):
    with pytest.raises(MoldableError, match=words):
        optimal_queueing(scenario, **options)


def test_a_file_is_read_and_results_become_json_and_pickle(tmp_path):
    path = tmp_path / "cluster.toml"
    path.write_text(
        'servers = 5\nwaiting = "unlimited"\n[[class]]\nname = "jobs"\narrival_rate = 3.0\n'
        "speedup = [1, 1.8, 2.5]\n"
    )
    found = optimal_queueing(path)
    data = found.to_dict()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data["inputs"]["scenario"]["waiting"] == "unlimited"
    assert data["blocking_cost"] is None
    again = pickle.loads(pickle.dumps(found))  # noqa: S301 - our own bytes
    assert again.grant("jobs", Observation(5, 2, {})) == found.grant("jobs", Observation(5, 2, {}))
    assert "mean_response_time" in repr(found)
    assert [row["jobs"] for row in found.table()] == list(found.widths_by_idle["jobs"])


def test_more_load_than_servers_is_allowed_with_finite_places():
    workload = Scenario.single(SUBLINEAR, 1.5, 4).workload
    found = optimal_queueing(Scenario(workload, 4, waiting=10), 3.0, tolerance=1e-9)
    naive = NaiveQueue(workload, 4, 10, 3.0)
    assert found.cost == pytest.approx(naive.least_cost()[0], rel=1e-7)
    assert found.blocking > 0.3
