"""The value policy of a cluster that queues."""

from __future__ import annotations

import math

import pytest

from moldable import JobClass, Observation, Scenario, Workload, evaluate
from moldable.errors import PolicyError, UnstableError
from moldable.optimal import optimal_queueing
from moldable.policies import queue_value_policy
from moldable.policies.queue_value import default_load_factor
from moldable.system.loss_system import build_system
from moldable.system.saturation import saturated_throughput

CURVE = [1, 1.8, 2.5, 3, 3.4]
AMDAHL = [1 / (0.05 + 0.95 / w) for w in range(1, 9)]


def queue(curve, load, servers, waiting=math.inf):
    return Scenario.single(curve, load, servers, waiting=waiting)


def two_classes(waiting=math.inf):
    classes = [JobClass("a", 3.0, [1, 1.8, 2.5]), JobClass("b", 1.0, [1, 1.9], mean_size=2.0)]
    return Scenario(Workload(classes), 8, waiting=waiting)


@pytest.mark.parametrize(
    ("scenario", "above"),
    [
        (queue(CURVE, 0.5, 8), 0.02),
        (queue(CURVE, 0.9, 10), 0.02),
        # Widths 4 and 8 leave two of ten servers, which the idle count alone does not show.
        (queue({1: 1, 2: 1.8, 4: 3.0, 8: 4.5}, 0.7, 10), 0.03),
        (queue({2: 1.0, 4: 1.8}, 0.35, 16), 0.02),
        (two_classes(), 0.02),
    ],
    ids=["half loaded", "heavily loaded", "gaps", "widths from 2", "two classes"],
)
def test_the_response_is_close_to_the_optimum(scenario, above):
    found = evaluate(scenario, queue_value_policy(scenario), method="chain")
    best = optimal_queueing(scenario)
    response = found.queueing.mean_response_time.value
    assert 1.0 - 1e-4 <= response / best.mean_response_time <= 1.0 + above


@pytest.mark.parametrize("load", [0.05, 0.9, 0.99])
@pytest.mark.parametrize("servers", [1, 7, 16])
@pytest.mark.parametrize("curve", [CURVE, AMDAHL, {1: 1, 2: 1.8, 4: 3.0, 8: 4.5}, [1.0]])
def test_it_carries_every_load_below_1(curve, servers, load):
    scenario = queue(curve, load, servers)
    throughput = saturated_throughput(build_system(scenario, queue_value_policy(scenario)))
    assert throughput is not None
    assert throughput > scenario.workload.arrival_rate


def test_longer_queues_get_narrower_widths_and_no_width_exceeds_the_idle_servers():
    policy = queue_value_policy(queue(CURVE, 0.8, 16))
    for idle in range(1, 6):
        widths = [policy.grant("jobs", Observation(idle, waiting)) for waiting in (0, 50)]
        assert idle >= widths[0] >= widths[1] == 1


def test_servers_are_counted_in_the_common_divisor_of_the_widths():
    by_two = queue_value_policy(queue({2: 1, 4: 1.8, 6: 2.5}, 0.3, 16))
    by_one = queue_value_policy(queue([1, 1.8, 2.5], 0.6, 8))
    for idle in range(1, 9):
        for waiting in (0, 1, 4, 20):
            wide = by_two.grant("jobs", Observation(2 * idle, waiting))
            assert wide == 2 * by_one.grant("jobs", Observation(idle, waiting))
    assert default_load_factor(queue({2: 1, 4: 1.8}, 0.3, 16)) == pytest.approx(8 / 9.25)


def test_a_higher_cost_of_waiting_shortens_waits():
    scenario = queue(CURVE, 0.7, 10)
    waits = [
        evaluate(scenario, queue_value_policy(scenario, waiting_cost=cost)).queueing.mean_wait
        for cost in (1.0, 4.0)
    ]
    assert waits[1] < waits[0]


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        (queue(CURVE, 0.7, 10, waiting=0), "no waiting places"),
        # The refusal is about the true load, not about the lower one of the equations.
        (queue(CURVE, 1.2, 10), "at rate 12, but .* at most 10 per .* load 1.2 must be below 1:"),
    ],
)
def test_scenarios_without_such_a_table_are_refused(scenario, message):
    with pytest.raises((PolicyError, UnstableError), match=message):
        queue_value_policy(scenario)


def test_a_load_factor_that_saturates_the_cluster_is_refused():
    with pytest.raises(PolicyError, match=r"load_factor=1\.5 must be below 1\.25"):
        queue_value_policy(queue(CURVE, 0.8, 10), load_factor=1.5)
