"""A window of a large chain against the whole of it."""

from __future__ import annotations

import numpy as np
import pytest

from moldable import JobClass, Policy, Regime, Scenario, SpeedUp, Thresholds, Workload, evaluate
from moldable.exact import pool, window
from moldable.exact.exact import stationary_law
from moldable.exact.states import whole_chain
from moldable.exact.stationary import stationary
from moldable.policies import GreedyP, Rigid
from moldable.sizes import MixedErlang
from moldable.system.count_model import chain_model
from moldable.system.loss_system import build_system
from naive.erlang import erlang_b

SUB_LINEAR = SpeedUp([1, 1.8, 2.5, 3, 3.4])
NEGLIGIBLE = 1e-14
"""Most probability that a window may leave out."""


@pytest.fixture
def windowed(monkeypatch):
    """Solve on a window whatever the size."""

    def solve(*arguments):
        with monkeypatch.context() as patch:
            patch.setattr(pool, "WINDOW_FROM", 0)
            law = stationary_law(*arguments, method="chain")
        assert "window" in law.pools[0].how
        return law

    return solve


def whole(monkeypatch, *arguments):
    with monkeypatch.context() as patch:
        patch.setattr(pool, "WINDOW_FROM", 10**9)
        law = stationary_law(*arguments, method="chain")
    assert "whole" in law.pools[0].how
    return law


@pytest.mark.parametrize(
    ("servers", "regime"),
    [(200, Regime(1 / 2, 0.1)), (300, Regime(2 / 3, 0.1)), (400, Regime(1 / 2, 0.5))],
    ids=str,
)
def test_a_window_gives_the_law_of_the_whole_chain(windowed, monkeypatch, servers, regime):
    scenario = Scenario.single(SUB_LINEAR, regime.load(servers), servers)
    part, exact = windowed(scenario), whole(monkeypatch, scenario)
    assert part.pools[0].states < exact.pools[0].states
    tight = {"rtol": 0.0, "atol": 1e-12}
    np.testing.assert_allclose(part.busy_servers, exact.busy_servers, **tight)
    for width in (1, 2):
        found, expected = (padded(law.jobs(width), servers) for law in (part, exact))
        np.testing.assert_allclose(found, expected, **tight)
    assert part.performance().blocking.value == pytest.approx(
        exact.performance().blocking.value, rel=1e-11
    )
    assert 0.0 < part.performance().detail.neglected_mass <= NEGLIGIBLE


def padded(law, servers):
    return np.pad(law, (0, servers + 1 - law.size))


def test_two_rigid_classes_on_a_window_are_what_the_recursion_gives(windowed):
    servers = 500
    classes = (
        # The wide class comes first, so that the slots must be put in order and back.
        JobClass("wide", 0.42 * servers, SpeedUp({5: 5.0})),
        JobClass("narrow", 0.45 * servers, SpeedUp([1.0])),
    )
    workload = Workload(classes)
    recursion = stationary_law(Scenario(workload, servers), Rigid(), method="closed-form")
    part = windowed(Scenario(workload, servers), Rigid())
    np.testing.assert_allclose(part.busy_servers, recursion.busy_servers, rtol=0, atol=1e-12)
    for a, b in zip(part.performance().classes, recursion.performance().classes, strict=True):
        assert a.blocking.value == pytest.approx(b.blocking.value, rel=1e-9)
        assert a.mean_jobs == pytest.approx(b.mean_jobs, rel=1e-11)


def test_two_phases_of_one_width_are_no_window(monkeypatch):
    """Two slots, but jobs move between them: only the whole chain knows that."""
    monkeypatch.setattr(pool, "WINDOW_FROM", 0)
    workload = Workload((JobClass("jobs", 27.0, SpeedUp([1.0]), size=MixedErlang()),))
    law = stationary_law(Scenario(workload, 30), method="chain")
    assert "whole" in law.pools[0].how
    np.testing.assert_allclose(
        law.busy_servers, stationary_law(Scenario(workload, 30)).busy_servers, rtol=1e-11
    )


# What a window leaves out, against what the whole chain holds there.


class TwoWidths:
    """One class on two widths, with the law of its whole chain."""

    def __init__(self, curve, load, servers, policy):
        system = build_system(Scenario.single(curve, load, servers), policy)
        self.model = chain_model(system)
        self.slots = window.Windows(self.model)
        self.chain = whole_chain(self.model)
        self.law, _ = stationary(self.chain, np.ones(self.chain.states))

    def outside(self, part):
        """Return (bound, truth) of the probability outside a window."""
        inner = self.slots.chain(part)
        law, _ = stationary(inner, self.slots.guess(inner))
        wide = self.chain.counts[1]
        idle = self.model.idle(self.chain.counts)
        left_out = (wide < part.fewest) | (wide > part.most) | (idle > part.idle)
        bound, _ = self.slots.neglected(part, self.slots.inside(inner, law))
        return bound, float(self.law[left_out].sum())


MIXED = (SpeedUp([1.0, 1.8]), 0.9, 200, GreedyP({"jobs": {1: 0.4, 2: 0.6}}))


@pytest.mark.parametrize(
    "part",
    [
        window.Window(40, 100, 200),  # few wide jobs are left out
        window.Window(0, 65, 200),  # many wide jobs are
        window.Window(20, 75, 60),  # idle servers are, and a few of the others
        window.Window(44, 75, 50),  # all three
    ],
    ids=["below", "above", "idle", "all"],
)
def test_what_a_narrow_window_neglects_is_bounded_from_above(part):
    bound, truth = TwoWidths(*MIXED).outside(part)
    assert 1e-4 < truth <= bound


def test_the_bound_falls_as_the_window_grows():
    system = TwoWidths(*MIXED)
    parts = [window.Window(0, most, idle) for most, idle in ((75, 80), (90, 105), (100, 130))]
    bounds = []
    for part in parts:
        bound, truth = system.outside(part)
        assert truth <= bound
        bounds.append(bound)
    assert bounds[0] < 1.0
    assert bounds[1] < 1e-2 * bounds[0]
    assert bounds[2] < 1e-10


@pytest.mark.long
def test_thresholds_on_thousands_of_servers_are_solved_on_a_window():
    """All but Erlang's system: 500 idle servers are seven deviations off."""
    servers, load = 2000, 0.9
    scenario = Scenario.single(SpeedUp([1, 1.2]), load, servers)
    policy = Thresholds({"jobs": {1: 1, 500: 2}})
    found = evaluate(scenario, policy, precision=0.5, seed=1)
    assert found.method == "chain"
    assert "window" in found.reason
    assert found.detail.neglected_mass <= NEGLIGIBLE
    assert found.blocking.value == pytest.approx(erlang_b(load * servers, servers), rel=1e-6)


def test_as_many_wide_jobs_as_keep_some_servers_idle_are_solved_on_a_window():
    scenario = Scenario.single(SpeedUp([1, 1.7]), 0.95, 2000)
    policy = Thresholds({"jobs": {1: 1, 30: 2}})
    found = stationary_law(scenario, policy, method="chain").performance()
    assert "window" in found.reason
    assert found.detail.neglected_mass <= NEGLIGIBLE
    assert found.detail.states < 600_000


def test_a_policy_that_changes_beyond_the_window_is_not_taken_for_granted():
    """Two ways to live: wide jobs on a busy cluster, or narrow ones on an idler one.

    The window holds the first, the whole chain spends nearly all its time in the second.
    """
    policy = Thresholds({"jobs": {2: 2, 180: 1, 320: 2}})
    system = TwoWidths(SpeedUp([1.0, 1.2]), 0.4, 400, policy)
    bound, truth = system.outside(window.Window(115, 160, 400))
    assert truth > 0.9
    assert bound >= truth


class NarrowBetween(Policy):
    """Mixes widths on a busy cluster and on an empty one, and is narrow in between."""

    def decide(self, job_class, idle):  # noqa: ARG002
        return {1: 1.0} if 51 <= idle < 190 else {1: 0.4, 2: 0.6}


def test_servers_stay_idle_longer_where_the_policy_takes_fewer_of_them():
    """Each edge has its own bound; beyond this one the last row of the table is not the least."""
    system = TwoWidths(SpeedUp([1.0, 1.8]), 0.9, 200, NarrowBetween())
    part = window.Window(0, 63, 50)
    bound, truth = system.outside(part)
    assert 0.03 < truth <= bound


def test_the_window_of_a_hundred_thousand_servers_can_be_solved():
    servers = 100_000
    scenario = Scenario.single(SpeedUp([1, 1.8]), 1 - 0.1 / servers**0.5, servers)
    model = chain_model(build_system(scenario, None))
    assert window.first_states(model) < 1_500_000
