"""Throughput with an endless queue against formulas, enumeration and the chain."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from moldable import Greedy, JobClass, Scenario, SpeedUp, Workload
from moldable.exact.queue_chain import first_chain
from moldable.exact.queue_model import queue_model
from moldable.exact.queue_tail import least_throughput
from moldable.system.loss_system import build_system
from moldable.system.saturation import saturated_throughput
from naive.queue_systems import RandomTable, even_price, fixed, greedy, queue_system

SUB_LINEAR = [1, 1.8, 2.5, 3, 3.4]


def final_blocks(choose, shares, block):
    """Return {sorted final blocks: probability} of a block that is divided again and again."""

    @cache
    def divided(size):
        if size == 0:
            return {(): 1.0}
        whole, found = 0.0, {}
        for j, share in enumerate(shares):
            for width, chance in choose(j, size, math.inf).items():
                if width == size:
                    whole += share * chance
                    continue
                for first, p in divided(width).items():
                    for rest, q in divided(size - width).items():
                        blocks = tuple(sorted(first + rest))
                        found[blocks] = found.get(blocks, 0.0) + share * chance * p * q
        if not found:
            return {(size,): 1.0}
        return {blocks: chance / (1.0 - whole) for blocks, chance in found.items()}

    return divided(block)


def rate_of(classes, shares, width):
    """Return the rate of a block whose jobs all hold it whole."""
    return 1.0 / sum(
        share * part.mean_size / part.speedup[width]
        for part, share in zip(classes, shares, strict=True)
    )


@pytest.mark.parametrize("servers", [1, 3, 10, 16, 17, 2000])
def test_greedy_completes_as_many_as_its_frozen_widths_do(servers):
    scenario = Scenario.single(SUB_LINEAR, 0.5, servers)
    system = queue_system(scenario, greedy(5), math.inf, behind=0, reach=min(servers, 20))
    many, rest = divmod(servers, 5)
    exact = many * 3.4 + (SUB_LINEAR[rest - 1] if rest else 0.0)
    assert saturated_throughput(system) == pytest.approx(exact, rel=1e-12)


def test_millions_of_servers_take_a_moment():
    scenario = Scenario.single(SUB_LINEAR, 0.5, 4_000_003, waiting="unlimited")
    system = build_system(scenario, Greedy())
    assert saturated_throughput(system) == pytest.approx(800_000 * 3.4 + 2.5, rel=1e-9)


def test_the_even_price_ends_with_one_server_for_each_job():
    scenario = Scenario.single(SUB_LINEAR, 0.5, 12)
    system = queue_system(scenario, even_price(SUB_LINEAR, 12), math.inf, behind=60)
    assert saturated_throughput(system) == pytest.approx(12.0, rel=1e-12)


def test_one_width_that_divides_the_servers_keeps_them_busy():
    scenario = Scenario.single(SUB_LINEAR, 0.5, 12)
    system = queue_system(scenario, fixed(3), math.inf)
    assert saturated_throughput(system) == pytest.approx(4 * 2.5, rel=1e-12)


def test_where_heads_hold_it_is_unknown():
    scenario = Scenario.single(SUB_LINEAR, 0.5, 13)
    assert saturated_throughput(queue_system(scenario, fixed(3), math.inf)) is None


@pytest.mark.parametrize("seed", range(30))
def test_a_random_table_divides_as_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    servers, count = int(rng.integers(2, 11)), int(rng.integers(1, 3))
    classes = tuple(
        JobClass(
            f"class {j}",
            float(rng.uniform(0.5, 2.0)),
            SpeedUp([1, 1.6, 2.1, 2.4][: int(rng.integers(1, 5))]),
            float(rng.uniform(0.5, 2.0)),
        )
        for j in range(count)
    )
    total = sum(part.arrival_rate for part in classes)
    shares = [part.arrival_rate / total for part in classes]
    widths = [[w for w in part.speedup.widths.tolist() if w <= servers] for part in classes]
    options = {"holding": 0.0, "servers": servers, "alike": True, "sharply": bool(seed % 2)}
    table = RandomTable(rng, widths, behind=2, **options)

    def choose(job_class, idle, _):  # the same while no job waits
        return table(job_class, idle, 2)

    system = queue_system(Scenario(Workload(classes), servers), choose, math.inf, behind=2)
    exact = sum(
        chance * sum(rate_of(classes, shares, width) for width in blocks)
        for blocks, chance in final_blocks(choose, shares, servers).items()
    )
    assert saturated_throughput(system) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("servers", [4, 7, 9])
def test_it_is_that_of_the_chain_with_many_waiting_jobs(servers):
    scenario = Scenario.single(SUB_LINEAR, 0.5, servers)
    for choose in (greedy(5), even_price(SUB_LINEAR, servers)):
        system = queue_system(scenario, choose, math.inf, behind=40)
        chain = first_chain(queue_model(system))
        assert saturated_throughput(system) == pytest.approx(
            least_throughput(chain.repeated), rel=1e-12
        )
