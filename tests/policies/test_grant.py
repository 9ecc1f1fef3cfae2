"""One decision of a policy, as a scheduler asks for it, and jobs that are refused."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pytest

from moldable import (
    Greedy,
    JobClass,
    Observation,
    Policy,
    Scenario,
    SpeedUp,
    Thresholds,
    Workload,
    evaluate,
    greedy_p,
    simulate,
    tune,
    value_policy,
)
from moldable.errors import PolicyError
from moldable.policies import FixedWidth, GreedyP, Rigid
from naive.erlang import erlang_b

CURVE = SpeedUp([1, 1.8, 2.5])
TWO = Scenario(
    Workload((JobClass("training", 2.0, CURVE), JobClass("solver", 0.5, SpeedUp({2: 1.8})))), 8
)
TABLES = {"training": {1: 1, 4: 2}, "solver": {2: 2}}


@pytest.mark.parametrize(
    ("policy", "width"),
    [
        (Greedy(), 3),
        (FixedWidth(2), 2),
        (Rigid({"training": 2, "solver": 2}), 2),
        (Thresholds(TABLES), 2),
        (GreedyP({"training": {1: 1.0}, "solver": {2: 1.0}}), 1),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_policy_that_was_told_the_classes_grants_by_name(policy, width):
    policy_of_two = policy.with_classes(TWO)
    assert policy_of_two.grant("training", idle=5) == width
    assert policy_of_two.grant("training", Observation(5)) == width
    assert policy_of_two.grant(TWO.workload.classes[0], Observation(5), 0.5) == width
    assert policy_of_two.grant("solver", idle=1) == 0
    assert pickle.loads(pickle.dumps(policy_of_two)).grant("training", idle=5) == width  # noqa: S301
    with pytest.raises(PolicyError, match=r"does not know the class 'training'.*with_classes"):
        policy.grant("training", idle=5)


def test_a_policy_computed_for_a_scenario_knows_its_classes():
    for policy in (greedy_p(TWO), value_policy(TWO, 4), tune(TWO, max_blocking=0.2).policy):
        assert 1 <= policy.grant("training", idle=8, u=0.5) <= 3
        with pytest.raises(PolicyError, match=r"does not know the class 'train'.*'training'"):
            policy.grant("train", idle=8, u=0.5)


def test_a_number_is_needed_only_where_a_width_is_drawn():
    drawn = Thresholds({"jobs": {1: 1, 4: {1: 0.5, 2: 0.5}}})
    drawn = drawn.with_classes(Scenario.single(CURVE, 0.8, 8))
    assert drawn.grant("jobs", idle=3) == 1
    assert [drawn.grant("jobs", idle=5, u=u) for u in (0.2, 0.7)] == [1, 2]
    with pytest.raises(PolicyError, match=r"a width is drawn among 1, 2; pass u"):
        drawn.grant("jobs", idle=5)


@pytest.mark.parametrize(
    "ask",
    [
        lambda policy: policy.grant("jobs"),
        lambda policy: policy.grant("jobs", Observation(3), idle=3),
        lambda policy: policy.grant("jobs", 3),
        lambda policy: policy.grant("jobs", idle="3"),
        lambda policy: policy.grant("jobs", idle=-1),
        lambda policy: policy.grant(None, idle=3),
        lambda policy: policy.grant(["jobs"], idle=3),
        lambda policy: policy.grant("jobs", idle=3, u="0.5"),
        lambda policy: policy.with_classes(3),
    ],
)
def test_invalid_requests_are_refused(ask):
    with pytest.raises(ValueError, match=r"give either|observation|idle=|class|is not a number|is"):
        ask(Greedy().with_classes(Scenario.single(CURVE, 0.8, 8)))


class KeepThree(Policy):
    """Admission control: the last three servers are not given away."""

    def decide(self, job_class, idle):  # noqa: ARG002
        return {1: 1.0} if idle > 3 else {0: 1.0}


def test_a_refused_job_is_blocked_as_on_a_smaller_cluster():
    scenario = Scenario.single(SpeedUp([1]), 0.8, 10)
    assert KeepThree().with_classes(scenario).grant("jobs", idle=3) == 0
    assert KeepThree().with_classes(scenario).grant("jobs", idle=4) == 1
    exact = evaluate(scenario, KeepThree(), method="chain").blocking
    assert exact == pytest.approx(erlang_b(8.0, 7), rel=1e-9)
    found = simulate(scenario, KeepThree(), seed=1, jobs=50_000).blocking
    assert abs(found - exact) < 2 * found.half_width


def test_a_share_of_the_jobs_can_be_refused():
    class Half(Policy):
        ignores_idle = True

        def decide(self, job_class, idle):  # noqa: ARG002
            return {0: 0.5, 1: 0.5}

    exact = evaluate(Scenario.single(SpeedUp([1]), 0.8, 10), Half()).blocking
    assert exact == pytest.approx(0.5 + 0.5 * erlang_b(4.0, 10), rel=1e-9)


def test_a_policy_that_looks_at_running_and_waiting_jobs_is_asked_but_not_evaluated():
    class Crowded(Policy):
        def choose(self, job_class, observation):  # noqa: ARG002
            busy = sum(sum(widths.values()) for widths in (observation.running or {}).values())
            return {1 if observation.waiting or busy > 2 else 3: 1.0}

    scenario = Scenario.single(CURVE, 0.8, 8)
    policy = Crowded().with_classes(scenario)
    assert repr(policy) == "<policy Crowded>"
    assert policy.grant("jobs", idle=5) == 3
    assert policy.grant("jobs", Observation(5, waiting=1)) == 1
    assert policy.grant("jobs", Observation(5, running={"jobs": {1: 3}})) == 1
    with pytest.raises(PolicyError, match=r"looks at running jobs"):
        evaluate(scenario, policy)


@pytest.mark.parametrize("strict", [False, True])
def test_granted_shares_are_the_probabilities_of_grants(strict):
    class Drawn(Policy):
        name = "drawn"

        def decide(self, job_class, idle):  # noqa: ARG002
            return {1: 0.2, 2: 0.5, 4: 0.3}

    policy = Drawn()
    policy.strict = strict
    job_class = JobClass("jobs", 1.0, {1: 1.0, 2: 1.8, 4: 2.5})
    draws = (np.arange(1000) + 0.5) / 1000
    for idle in range(6):
        seen = Observation(idle)
        counted = Counter(policy.grant(job_class, seen, u) for u in draws)
        shares = policy.granted_shares(job_class, seen)
        assert shares == pytest.approx({width: count / 1000 for width, count in counted.items()})
        assert list(shares) == sorted(shares)
