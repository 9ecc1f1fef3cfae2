"""Decisions while jobs wait, as arrays."""

from __future__ import annotations

import math

import numpy as np
import pytest

from moldable import JobClass, Policy, Scenario, Workload
from moldable.errors import SimulationError
from moldable.system.loss_system import build_system

CURVE = [1, 1.8, 2.5, 3, 3.4]


def test_without_waiting_places_nothing_is_tabulated_for_queues():
    system = build_system(Scenario.single(CURVE, 0.8, 16), "even-price")
    assert system.queue_rows == ()
    assert system.places == 0


def test_the_default_policy_with_waiting_places_is_the_even_price():
    assert build_system(Scenario.single(CURVE, 0.8, 16, waiting=4), None).policy_name == (
        "even price 0.4, 4"
    )
    assert build_system(Scenario.single(CURVE, 0.8, 16), None).policy_name == "greedy(p*)"


def test_rows_reach_as_far_as_servers_can_be_idle_while_jobs_wait():
    system = build_system(Scenario.single(CURVE, 0.8, 16, waiting=math.inf), "even-price")
    # Nobody waits while a server is idle, so at most the widest job's five are idle.
    assert system.queue_rows[0].shape[1:] == (6, 5)
    strict = build_system(Scenario.single(CURVE, 0.8, 15, waiting=math.inf), "fixed-strict:3")
    # A job of width 3 waits with two idle servers; a job of the widest allowed width may end then.
    assert strict.queue_rows[0].shape == (0, 8, 1)


def test_every_kind_that_is_granted_only_while_others_wait_is_kept():
    class NarrowInQueues(Policy):
        def choose(self, job_class, observation):  # noqa: ARG002
            return {1 if observation.waiting else 4: 1.0}

    system = build_system(Scenario.single(CURVE, 0.8, 16, waiting=9), NarrowInQueues())
    assert system.kind_width.tolist() == [1, 2, 3, 4]
    assert np.array_equal(system.queue_rows[0][0, 5], [1, 0, 0, 0])


def test_kinds_that_never_occur_are_left_out():
    system = build_system(Scenario.single(CURVE, 0.8, 16, waiting=9), "fixed:4")
    assert system.kind_width.tolist() == [4]


def test_classes_with_other_narrowest_widths_widen_the_rows():
    classes = [JobClass("a", 2.0, [1, 1.8, 2.5]), JobClass("b", 1.0, {4: 3.5, 8: 6.0})]
    system = build_system(Scenario(Workload(classes), 32, waiting=9), None)
    # A job of b waits with up to three idle servers, then a job of width 8 may end.
    assert {rows.shape[1] for rows in system.queue_rows} == {12}


class RefusesAll(Policy):
    def decide(self, job_class, idle):  # noqa: ARG002
        return {0: 1.0} if idle > 3 else {1: 1.0}


class RefusesWhileOthersWait(Policy):
    def choose(self, job_class, observation):  # noqa: ARG002
        return {0 if observation.waiting else 1: 1.0}


@pytest.mark.parametrize("policy", [RefusesAll(), RefusesWhileOthersWait()])
def test_policies_under_which_jobs_would_wait_for_ever_are_refused(policy):
    with pytest.raises(SimulationError, match="would wait for ever"):
        build_system(Scenario.single(CURVE, 0.8, 8, waiting=3), policy)
