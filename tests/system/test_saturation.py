"""The throughput of a policy while jobs always wait."""

from __future__ import annotations

import math

import pytest

from moldable import JobClass, Scenario, Workload
from moldable.errors import UnstableError
from moldable.policies import GreedyP
from moldable.system.loss_system import build_system
from moldable.system.saturation import refuse_unstable, saturated_throughput

CURVE = [1, 1.8, 2.5, 3, 3.4]


def throughput(policy, servers, load=0.8, curve=CURVE):
    scenario = Scenario.single(curve, load, servers, waiting=math.inf)
    return saturated_throughput(build_system(scenario, policy))


@pytest.mark.parametrize("servers", [1, 2, 4, 5, 7, 10, 64, 1003])
def test_greedy_fills_the_cluster_with_its_widest_jobs_and_one_narrower(servers):
    whole, rest = divmod(servers, 5)
    assert throughput("greedy", servers) == pytest.approx(
        whole * 3.4 + ([0, *CURVE][rest]), rel=1e-12
    )


@pytest.mark.parametrize("servers", [4, 30, 1000, 100_000])
def test_policies_that_grant_one_server_while_many_wait_use_every_server_fully(servers):
    for policy in (None, "idle-share", "fixed:1"):
        assert throughput(policy, servers) == pytest.approx(servers, rel=1e-12)


def test_blocks_that_may_be_divided_are_divided_in_the_end():
    # Drawn from 2 and 3: three servers end up as 2 + 1, and by hand, from 6 idle servers,
    # half of (1.8 + 3.7) and half of (2.8 + 2.8).
    policy = GreedyP({"jobs": {2: 0.5, 3: 0.5}})
    assert throughput(policy, 6) == pytest.approx(5.55, rel=1e-12)


def test_blocks_of_several_classes_serve_them_in_turn():
    classes = [JobClass("a", 3.0, [1, 1.8]), JobClass("b", 1.0, [1, 1.5], mean_size=2.0)]
    system = build_system(Scenario(Workload(classes), 8, waiting=math.inf), "fixed:2")
    # Three jobs in four take 1/1.8, the fourth 2/1.5, on each of four blocks.
    assert saturated_throughput(system) == pytest.approx(4 / (0.75 / 1.8 + 0.25 * 2 / 1.5))


def test_nothing_is_known_where_the_head_waits_although_servers_are_idle():
    assert throughput("fixed-strict:3", 10) is None
    assert throughput("fixed-strict:3", 9) == pytest.approx(3 * 2.5)


def test_a_queue_that_grows_is_refused_with_both_rates_and_the_load_that_could_be_carried():
    scenario = Scenario.single(CURVE, 0.8, 64, waiting=math.inf)
    with pytest.raises(UnstableError, match=r"rate 51.2, .* only 43.8 .* load 0.684 here, not 0.8"):
        refuse_unstable(build_system(scenario, "greedy"))
    refuse_unstable(build_system(scenario, "even-price"))
    limited = Scenario.single(CURVE, 0.8, 64, waiting=10)
    refuse_unstable(build_system(limited, "greedy"))


def test_the_critical_load_is_refused():
    scenario = Scenario.single(CURVE, 0.9, 64, waiting=math.inf)
    with pytest.raises(UnstableError, match="grows without limit"):
        refuse_unstable(build_system(scenario, "fixed:2"))  # exactly 0.9 x 64 jobs are completed
