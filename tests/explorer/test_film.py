"""Films follow the rules of the model, and their averages are those that `evaluate` predicts."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.film_states import State
from moldable import (
    Greedy,
    JobClass,
    Policy,
    Scenario,
    Workload,
    evaluate,
    greedy_p,
    value_policy,
)
from moldable.arrivals import ArrivalTimes, MarkovModulated
from moldable.errors import MoldableError, PolicyError, SimulationError
from moldable.explorer.film import MOST_EVENTS, Event, Film, record
from moldable.policies import even_price, queue_value_policy
from moldable.simulation.drawn_jobs import draw_jobs
from strategies import job_classes

CURVE = [1, 1.8, 2.5, 3, 3.4]
TWO = (JobClass("a", 2.0, [1, 1.8, 2.5]), JobClass("b", 0.5, {2: 1.7, 4: 3.0}, 2.0))


# Averages


def blocking(film: Film) -> float:
    """The share of blocked jobs after the first quarter of the film."""
    first = film.jobs // 4
    blocked = sum(e.kind == "block" for e in film.events if e.job >= first)
    return blocked / (film.jobs - first)


def busy_share(film: Film) -> float:
    """The time average of busy servers after the first quarter of the film."""
    times = np.array([event.time for event in film.events])
    held = {event.job: len(event.servers) for event in film.events if event.kind == "start"}
    sign = {"start": 1, "end": -1}
    changes = [sign.get(e.kind, 0) * held.get(e.job, 0) for e in film.events]
    busy, late = np.cumsum(changes)[:-1], times[1:] > times[-1] / 4
    gaps = np.diff(times)
    return float((busy * gaps)[late].sum() / gaps[late].sum() / film.scenario.servers)


def mean_wait(film: Film) -> float:
    """The mean wait of accepted jobs, without the first quarter and the last twentieth of them."""
    arrived: dict[int, float] = {}
    started: dict[int, float] = {}
    for event in film.events:
        if event.kind in {"start", "wait"}:
            arrived.setdefault(event.job, event.time)
        if event.kind == "start":
            started[event.job] = event.time
    kept = [j for j in arrived if film.jobs // 4 <= j < 0.95 * film.jobs]
    return float(np.mean([started[j] - arrived[j] for j in kept]))


def single(load: float = 0.8, servers: int = 16, **given: object) -> Scenario:
    return Scenario.single(CURVE, load, servers, **given)


QUEUE = single(0.7, 8, waiting="unlimited")
CASES = {
    "greedy": (single(), lambda _: "greedy", blocking, lambda p: p.blocking),
    "random widths": (single(), greedy_p, blocking, lambda p: p.blocking),
    "two classes": (
        Scenario(Workload(TWO), 8),
        lambda s: value_policy(s, 4.0),
        busy_share,
        lambda p: p.busy_fraction,
    ),
    "reserved servers": (
        Scenario(Workload(TWO, sharing="reserved"), 10),
        lambda _: None,
        blocking,
        lambda p: p.blocking,
    ),
    "a queue": (QUEUE, queue_value_policy, mean_wait, lambda p: p.queueing.mean_wait),
    "a queue that is busy": (QUEUE, even_price, busy_share, lambda p: p.busy_fraction),
    "few waiting places": (
        single(0.9, 8, waiting=4),
        even_price,
        blocking,
        lambda p: p.blocking,
    ),
    "other arrivals and sizes": (
        single(0.7, 8, arrivals="renewal:lognormal:2", size="deterministic"),
        lambda _: "fixed:2",
        blocking,
        lambda p: p.blocking,
    ),
    "a queue with bursts": (
        single(0.6, 4, arrivals="mmpp:1,3:1,2", waiting="unlimited"),
        lambda _: "fixed:2",
        mean_wait,
        lambda p: p.queueing.mean_wait,
    ),
}
QUICK = ("two classes", "a queue", "few waiting places")


@pytest.mark.parametrize(
    ("name", "events"),
    [
        *((name, MOST_EVENTS // 2) for name in QUICK),
        *(pytest.param(name, MOST_EVENTS, marks=pytest.mark.long) for name in CASES),
    ],
)
def test_long_films_have_the_averages_that_evaluation_predicts(name, events):
    scenario, make_policy, average, read = CASES[name]
    policy = make_policy(scenario)
    expected = read(evaluate(scenario, policy, seed=1))
    uncertain = getattr(expected, "half_width", 0.0) / 1.96

    def z(truth: Scenario) -> float:
        films = (record(truth, policy, seed=seed, events=events) for seed in range(12))
        found = [average(film) for film in films]
        error = np.hypot(np.std(found, ddof=1) / len(found) ** 0.5, uncertain)
        return float((np.mean(found) - expected) / error)

    assert abs(z(scenario)) < 4
    assert z(scenario.at_load(1.2 * scenario.load)) > 4  # the test has power


# Rules


@st.composite
def cases(draw) -> tuple[Scenario, Policy | str | None, int]:
    """Draw a scenario with random classes, arrivals and waiting places, a policy and a seed."""
    classes = draw(job_classes(3, 12))
    narrowest = max(int(each.speedup.widths[0]) for each in classes)
    servers = draw(st.integers(narrowest, narrowest + 30))
    arrivals = draw(st.sampled_from(["poisson", "renewal:2", "mmpp:1,5:0.5,1"]))
    waiting = draw(st.sampled_from([0, 1, 5, "unlimited"]))
    scenario = Scenario(Workload(classes), servers, arrivals, waiting)
    policy = draw(st.sampled_from([Greedy(), Hesitant(), "greedy-p:0.5"]))
    return scenario.at_load(draw(st.floats(0.2, 1.5))), policy, draw(st.integers(0, 2**32))


class Hesitant(Policy):
    """Draws widths, and sometimes lets a job wait although servers are idle."""

    def choose(self, job_class, observation):
        assert sum(w * k for row in observation.running.values() for w, k in row.items()) >= 0
        idle, widest = observation.idle, int(job_class.speedup.widths[-1])
        width = max(idle // 2 - observation.waiting, 0)
        return {min(idle, widest): 0.5} | {width: 0.5 + 0.5 * (width == min(idle, widest))}


@given(cases())
@settings(max_examples=60)
def test_every_film_obeys_the_rules_of_the_model(case):
    scenario, policy, seed = case
    try:
        film = record(scenario, policy, seed=seed, events=300)
    except MoldableError:  # the load is infeasible for greedy(p*) or the policy refuses everything
        assert policy == "greedy-p:0.5"
        return
    jobs = list(draw_jobs(scenario, 100, seed, block=64))
    assert film.jobs == 100
    assert len(film.events) <= 300
    state, ends = State([-1] * scenario.servers), {}
    for before, event in zip((None, *film.events), film.events, strict=False):
        job, own = jobs[event.job], scenario.workload.classes[event.job_class]
        assert before is None or before.time <= event.time
        assert event.job_class == job.job_class
        idle = [server for server, holder in enumerate(state.servers) if holder < 0]
        if event.kind == "start":
            assert list(event.servers) == idle[: len(event.servers)]
            ends[event.job] = event.time + job.size / own.speedup[len(event.servers)]
        else:
            assert event.servers == ()
        if event.kind == "block":
            assert len(state.queue) >= scenario.waiting
        if event.kind == "wait":
            assert len(state.queue) < scenario.waiting
        if event.kind == "end":  # on its servers until all its work is done
            assert event.time == ends.pop(event.job)
        elif event.job == state.arrived:
            assert event.time == job.submitted
        state.follow(event)
    assert state.arrived == film.jobs
    assert all(end > jobs[-1].submitted for end in ends.values())


@given(cases())
@settings(max_examples=20)
def test_every_job_gets_what_the_policy_grants_it(case):
    scenario, _, seed = case
    asked = Asked()
    film = record(scenario, asked, seed=seed, events=150)
    state, jobs = State([-1] * scenario.servers), list(draw_jobs(scenario, 50, seed, block=64))
    granted = iter(asked.seen)
    for event in film.events:
        if event.kind == "start":
            idle, behind, running, width = next(w for w in granted if w[-1])
            waited = event.job in state.queue
            assert idle == scenario.servers - state.busy
            assert behind == (len(state.queue) - 1 if waited else 0)
            assert running == state.busy
            assert width == len(event.servers)
        state.follow(event)
    assert state.arrived == len(jobs) == 50


class Asked(Greedy):
    """A policy that remembers what it was asked."""

    def __init__(self) -> None:
        self.seen = []

    def grant(self, job_class, observation=None, u=None, *, idle=None):
        width = super().grant(job_class, observation, u, idle=idle)
        held = sum(w * k for row in observation.running.values() for w, k in row.items())
        self.seen.append((observation.idle, observation.waiting, held, width))
        return width


def test_a_film_of_given_arrivals_is_the_expected_one():
    scenario = Scenario(
        Workload([JobClass("jobs", 1.0, [1, 2, 2, 4], size="deterministic")]),
        4,
        ArrivalTimes([0.0, 0.1, 0.1, 0.2, 0.25, 0.3]),
        waiting=2,
    )
    film = record(scenario, "greedy", seed=1)
    assert film.events == (
        Event(0.0, "start", 0, 0, (0, 1, 2, 3)),
        Event(0.1, "wait", 1, 0),
        Event(0.1, "wait", 2, 0),
        Event(0.2, "block", 3, 0),
        Event(0.25, "end", 0, 0),  # before the arrival at the same time
        Event(0.25, "start", 1, 0, (0, 1, 2, 3)),
        Event(0.25, "wait", 4, 0),
        Event(0.3, "block", 5, 0),
    )


def test_servers_released_at_the_same_time_are_offered_together():
    classes = [JobClass("half", 1.0, {2: 2.0}, size="deterministic"), JobClass("all", 1.0, {4: 4})]
    times = ArrivalTimes([0.0, 0.0, 0.5, 2.0], [0, 0, 1, 0])
    film = record(Scenario(Workload(classes), 4, times, waiting=1), "greedy", seed=1)
    kinds = [(event.kind, event.job) for event in film.events if event.time == 0.5]
    assert kinds == [("end", 0), ("end", 1), ("start", 2)]


def test_films_of_different_policies_have_the_same_jobs():
    scenario = single(waiting=3)

    def arrivals(film: Film) -> dict[int, float]:
        found: dict[int, float] = {}
        for event in film.events:
            found.setdefault(event.job, event.time)
        return found

    first, second = (record(scenario, policy, seed=4) for policy in ("greedy", "fixed:1"))
    assert arrivals(first) == arrivals(second)
    assert first.events != second.events
    assert record(scenario, "greedy", seed=4).events == first.events
    assert record(scenario, "greedy", seed=5).events != first.events


def test_classes_with_reserved_servers_stay_on_them():
    scenario = Scenario(Workload(TWO, sharing="reserved"), 10)
    film = record(scenario, None, seed=1)
    used = [
        {s for e in film.events if e.job_class == j for s in e.servers} for j in range(len(TWO))
    ]
    assert used[0]
    assert used[1]
    assert max(used[0]) < min(used[1])


# Data and bad input


def test_the_data_of_a_film_are_json_with_all_servers():
    scenario = Scenario(Workload(TWO), 9, waiting="unlimited", time_unit="hours")
    film = record(scenario, Hesitant(), seed=2)
    data = json.loads(json.dumps(film.to_data(), allow_nan=False))
    assert (data["servers"], data["waiting"], data["time_unit"]) == (9, "unlimited", "hours")
    assert (data["classes"], data["seed"], data["jobs"]) == (["a", "b"], 2, film.jobs)
    for found, event in zip(data["events"], film.events, strict=True):
        *start, ranges = found
        assert start == [event.time, event.kind, event.job, event.job_class]
        servers = [s for first, last in ranges for s in range(first, last + 1)]
        assert tuple(servers) == event.servers
    assert data["widths"] == sorted({len(e.servers) for e in film.events if e.servers})
    assert repr(film).startswith("Film(Hesitant: 500 jobs on 9 servers")


def test_a_policy_that_decides_slowly_gives_a_shorter_film():
    film = record(single(), Greedy(), seed=1, seconds=-1.0)
    assert (film.jobs, film.events, film.cut) == (0, (), True)
    assert film.to_data()["cut"] is True


def test_a_list_of_arrivals_may_end_before_the_film():
    film = record(single(arrivals=ArrivalTimes([0.0, 1.0])), Greedy(), seed=1)
    assert (film.jobs, film.cut) == (2, False)


class Generous(Policy):
    def grant(self, *_args, **_kwargs):
        return 17


FAST = MarkovModulated((1.0, 2.0), ((0, 1e9), (1e9, 0)))


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"scenario": single(servers=401)}, SimulationError, "401 is more than the 400 servers"),
        ({"seed": -1}, SimulationError, "seed"),
        ({"events": 2}, SimulationError, "events"),
        ({"events": 6001}, SimulationError, "events"),
        ({"policy": "equi"}, SimulationError, "preemptive"),
        ({"policy": "fixed:9"}, PolicyError, "9"),
        ({"policy": Generous()}, PolicyError, "17 of 16 idle servers"),
        ({"scenario": single(arrivals=FAST)}, SimulationError, "changes up to"),
        (
            {"scenario": single(arrivals=ArrivalTimes([0.0], [1]))},
            SimulationError,
            "an arrival has class 1",
        ),
    ],
)
def test_bad_requests_are_refused(given, error, message):
    arguments = {"scenario": single(), "policy": Greedy(), "seed": 1} | given
    with pytest.raises(error, match=message):
        record(**arguments)
