"""States of a cluster with a queue, and the rates between them, against plain rules."""

from __future__ import annotations

import math

import numpy as np
import pytest

from moldable import JobClass, Scenario, SpeedUp, Workload
from moldable.exact import queue_chain as lists
from moldable.exact.queue_model import queue_model
from moldable.kernels import queue_states as compiled
from moldable.sizes import MixedErlang
from naive import queue_chain
from naive.queue_systems import RandomTable, even_share, queue_system

NARROW = JobClass("narrow", 1.0, SpeedUp([1, 1.8]), 0.7)
WIDE = JobClass("wide", 0.5, SpeedUp({2: 1.7, 3: 2.4}), 1.5, size=MixedErlang())


def random_table(workload, servers, seed, **changes):
    widths = [part.speedup.up_to(servers).widths.tolist() for part in workload.classes]
    options = {"behind": 2, "holding": 0.2, "servers": servers, "alike": False, "sharply": False}
    return RandomTable(np.random.default_rng(seed), widths, **{**options, **changes})


def systems():
    """Return {name: (scenario, policy, places)}."""
    one = Workload((NARROW,))
    two = Workload((NARROW, WIDE))
    wide = Workload((WIDE,))
    alike = Workload((NARROW, JobClass("other", 0.8, SpeedUp([1, 1.5, 1.9]))))
    return {
        "shares": (Scenario(one, 4), even_share(2), 4),
        "no places": (Scenario(two, 4), random_table(two, 4, 1), 0),
        "one class": (Scenario(one, 5), random_table(one, 5, 2, holding=0.0), 3),
        "phases": (Scenario(wide, 6), random_table(wide, 6, 3), 3),
        "heads": (Scenario(two, 4), random_table(two, 4, 4), 3),
        "no heads": (Scenario(alike, 4), random_table(alike, 4, 5, alike=True), 3),
    }


SYSTEMS = systems()


def named(chain, state):
    """Return a state of the chain as the naive one names it, without classes that do not matter."""
    model, listed = chain.model, chain.configurations
    phases = model.model.phases
    jobs = []
    for slot, count in enumerate(listed.counts[:, chain.config[state]].tolist()):
        kind = slot // phases
        slot_name = (
            int(model.system.kind_class[kind]),
            int(model.system.kind_width[kind]),
            slot % phases,
        )
        jobs += [slot_name] * count
    queue = int(chain.queue[state])
    head = int(chain.head[state]) if queue and model.heads > 1 else None
    return tuple(sorted(jobs)), queue, head


def lumped(state, model):
    jobs, waiting = state
    return jobs, len(waiting), waiting[0] if waiting and model.heads > 1 else None


def share(state, model):
    """Return the probability of a naive state among those that are lumped together."""
    return model.shares[state[1][0]] if state[1] and model.heads == 1 else 1.0


@pytest.fixture(params=SYSTEMS)
def case(request, kernels, monkeypatch):
    """A chain listed by these kernels, and the steps of the naive one."""
    scenario, choose, places = SYSTEMS[request.param]
    monkeypatch.setattr(compiled, "forward_rates", kernels.queue_states.forward_rates)
    monkeypatch.setattr(lists, "ENTRIES", 1)  # room is added again and again
    chain = lists.first_chain(queue_model(queue_system(scenario, choose, places, behind=2)))
    return chain, queue_chain.Queue(scenario, choose, places).walk()


def test_states_and_rates_are_those_of_plain_rules(case):
    chain, steps = case
    names = [named(chain, state) for state in range(chain.states)]
    assert set(names) == {lumped(state, chain.model) for state in steps}
    assert len(set(names)) == len(names)
    rates = chain.rates.toarray()
    exact = {}
    for state, (arrivals, departures) in steps.items():
        row = exact.setdefault(lumped(state, chain.model), {})
        moves = [(after, rate) for _, after, _, rate in arrivals if after is not None]
        for after, rate in moves + [(after, rate) for after, _, rate in departures]:
            target = lumped(after, chain.model)
            row[target] = row.get(target, 0.0) + rate * share(state, chain.model)
    for place, name in enumerate(names):
        found = {names[k]: rates[place, k] for k in np.flatnonzero(rates[place])}
        assert found == pytest.approx(exact[name], rel=1e-12)


def test_grants_to_waiting_jobs_are_counted(case, kernels):
    chain, steps = case
    model, listed = chain.model, chain.configurations
    names = [named(chain, state) for state in range(chain.states)]
    weights = np.random.default_rng(0).random(chain.states)
    waiting = np.flatnonzero(chain.queue > 0)
    granted = np.zeros(model.slots)
    kernels.queue_states.granted_to_heads(
        chain.node[waiting], chain.queue[waiting], weights[waiting], *listed, model.model.rates,
        model.moves, model.chances, model.shares, model.owner, model.heads, granted,
    )  # fmt: skip
    exact = {}
    for state, (_, departures) in steps.items():
        weight = weights[names.index(lumped(state, model))] * share(state, model)
        for kind, rate in [(kind, rate) for _, kinds, rate in departures for kind in kinds]:
            exact[kind] = exact.get(kind, 0.0) + rate * weight
    by_kind = granted.reshape(-1, model.model.phases).sum(axis=1)
    kinds = zip(model.system.kind_class.tolist(), model.system.kind_width.tolist(), strict=True)
    assert by_kind == pytest.approx([exact.get(kind, 0.0) for kind in kinds], rel=1e-12)


def test_levels_that_are_alike_are_repeated():
    scenario = Scenario.single([1, 1.8], 0.5, 4)
    choose = random_table(scenario.workload, 4, 7, holding=0.0)
    short = lists.first_chain(queue_model(queue_system(scenario, choose, math.inf, behind=2)))
    longer = short.extended(short.top + 7)
    whole = lists.first_chain(
        queue_model(queue_system(scenario, choose, short.top + 7, behind=2))
    ).extended(short.top + 7)
    assert longer.node.tolist() == whole.node.tolist()
    assert longer.queue.tolist() == whole.queue.tolist()
    plain = queue_chain.Queue(scenario, choose, short.top + 7).walk()
    assert len(plain) == longer.states
    names = {named(longer, state): state for state in range(longer.states)}
    rates = longer.rates.toarray()
    for state, (arrivals, departures) in plain.items():
        row = np.zeros(longer.states)
        moves = [(after, rate) for _, after, _, rate in arrivals if after is not None]
        for after, rate in moves + [(after, rate) for after, _, rate in departures]:
            row[names[lumped(after, longer.model)]] += rate
        np.testing.assert_allclose(rates[names[lumped(state, longer.model)]], row, rtol=1e-12)
