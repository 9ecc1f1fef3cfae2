"""The value function of a queue against enumerated outcomes and dense equations."""

from __future__ import annotations

import numpy as np
import pytest

from moldable import JobClass, Scenario, SpeedUp, Workload
from moldable.policies.kinds import Kinds
from moldable.policies.queue_bellman import QueueValue
from moldable.policies.queue_levels import TINY, Levels
from moldable.policies.queue_nodes import KindTable, Nodes, most_free
from naive.queue_value import Dense, outcomes

BLOCKING_COST = 7.0

PAPER = SpeedUp([1, 1.8, 2.5, 3, 3.4])
GAPS = SpeedUp({2: 1.9, 3: 2.5, 5: 3.5})
SYSTEMS = {
    "one class": Scenario.single(PAPER, 0.8, 9),
    "two classes with weights": Scenario(
        Workload((JobClass("a", 3.0, PAPER, weight=2.0), JobClass("b", 1.0, GAPS, 2.0))), 9
    ),
    "gaps": Scenario.single(GAPS, 0.6, 8),
}
PLACES = 6


def some_table(kinds):
    """Return a table without a pattern, so that no symmetry hides an error."""
    rng = np.random.default_rng(5)
    size = most_free(kinds) + 1

    def row(j, count):
        found = np.full(count, -1)
        for z in range(count):
            fitting = [k for k in kinds.members(j).tolist() if kinds.widths[k] <= z]
            found[z] = rng.choice(fitting) if fitting else -1
        return found

    classes = range(kinds.rates.size)
    first = np.array([row(j, kinds.servers + 1) for j in classes])
    later = np.array([[row(j, size) for _ in range(PLACES)] for j in classes])
    return KindTable(first, later)


def listed(kinds):
    columns = (kinds.owner, kinds.widths, kinds.times, kinds.weights)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def naive_table(table):
    def decide(j, free, behind):
        if behind == 0:
            kind = table.first[j, min(free, table.first.shape[1] - 1)]  # the last one is repeated
        else:
            kind = table.later[j, min(behind, table.later.shape[1]) - 1, free]
        return None if kind < 0 else int(kind)

    return decide


def both(name):
    kinds = Kinds.of(SYSTEMS[name])
    table = some_table(kinds)
    mix = np.random.default_rng(7).uniform(
        0.2, 1.0, (kinds.widths.size, PLACES + kinds.servers + 1)
    )
    levels = Levels(kinds, table, PLACES, kinds.servers + 1, mix)
    dense = Dense(
        listed(kinds), kinds.rates.tolist(), kinds.servers, naive_table(table), -PLACES, levels.mix
    )
    return kinds, levels, dense


@pytest.mark.parametrize("name", SYSTEMS)
def test_outcomes_of_offers_are_those_that_are_enumerated(name):
    kinds = Kinds.of(SYSTEMS[name])
    table = some_table(kinds)
    nodes = Nodes(kinds, table, PLACES)
    held = kinds.widths * kinds.times
    for free in range(nodes.widest + 1):
        for waiting in range(PLACES + 1):
            cases = outcomes(listed(kinds), kinds.rates.tolist(), naive_table(table), free, waiting)
            assert sum(chance for chance, _, _ in cases) == pytest.approx(1.0)
            rises, starts = np.zeros(nodes.widest + 1), np.zeros(kinds.widths.size)
            queue = held_queue = 0.0
            for chance, begun, level in cases:
                rises[level + waiting] += chance
                queue += chance * max(-level, 0)
                for kind in begun:
                    starts[kind] += chance
                    held_queue += chance * held[kind] * max(-level, 0)
            np.testing.assert_allclose(nodes.rises[free, waiting], rises, atol=1e-13)
            np.testing.assert_allclose(nodes.starts[free, waiting], starts, atol=1e-13)
            assert nodes.queue[free, waiting] == pytest.approx(queue)
            assert nodes.held_queue[free, waiting] == pytest.approx(held_queue)


@pytest.mark.parametrize("name", SYSTEMS)
def test_levels_and_the_mix_are_those_of_dense_equations(name):
    kinds, levels, dense = both(name)
    law = dense.law()
    np.testing.assert_allclose(levels.law, law, atol=1e-11)
    assert levels.law.sum() == pytest.approx(1.0)
    expected = np.maximum(dense.expected(law), 0.0)
    levels.iterate()
    fits = levels.busy >= kinds.widths[:, None]
    scaled = np.where(fits, np.maximum(expected / law, TINY), 0.0)
    scaled *= levels.busy / np.maximum(kinds.widths @ scaled, TINY)
    np.testing.assert_allclose(levels.mix, scaled, rtol=1e-7, atol=1e-9)
    held = np.where(fits.any(axis=0), levels.busy, 0.0)
    np.testing.assert_allclose(kinds.widths @ levels.mix, held, atol=1e-9)


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("waiting_cost", [1.0, 3.0])
def test_values_are_those_of_dense_equations(name, waiting_cost):
    kinds, levels, dense = both(name)
    found = QueueValue(levels, waiting_cost, BLOCKING_COST)
    lost = BLOCKING_COST * kinds.mean_size
    values, kind_values, slope, cost = dense.value(levels.law, waiting_cost, lost)
    scale = np.abs(kind_values).max()
    np.testing.assert_allclose(found.kind_values, kind_values, atol=1e-6 * scale)
    assert found.slope == pytest.approx(slope, rel=1e-6)
    assert cost > 0.0
    np.testing.assert_allclose(found.values, values, rtol=1e-6, atol=1e-6 * np.abs(values).max())


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", SYSTEMS)
def test_the_improved_table_is_the_best_for_its_values(name, seed):
    kinds, levels, _ = both(name)
    found = QueueValue(levels, 1.0, BLOCKING_COST)
    # Random values, of which every term decides somewhere; in a solution some hardly matter.
    rng = np.random.default_rng(seed)
    found.values = rng.normal(size=levels.size)
    found.kind_values = rng.normal(size=kinds.widths.size)
    found.slope = float(rng.normal())
    found.better = found._improved()  # noqa: SLF001
    held, zero = kinds.widths * kinds.times, levels.zero
    decide = naive_table(found.better)
    for j in range(kinds.rates.size):
        for behind in range(1, 4):
            for free in range(1, most_free(kinds) + 1):
                costs = {}
                running = held @ levels.mix[:, zero - behind] * (1.0 - free / kinds.servers)
                for k in kinds.members(j).tolist():
                    if kinds.widths[k] > free:
                        continue
                    costs[k] = 0.0
                    left = free - int(kinds.widths[k])
                    for chance, begun, level in outcomes(
                        listed(kinds), kinds.rates.tolist(), decide, left, behind
                    ):
                        queue = max(-level, 0)
                        jobs = sum(held[i] for i in (k, *begun)) + running
                        cost = found.values[zero + level] + found.slope * queue * jobs
                        cost += sum(found.kind_values[i] for i in (k, *begun))
                        costs[k] += chance * cost
                chosen = decide(j, free, behind)
                assert (chosen is None) == (not costs)
                if costs:
                    assert costs[chosen] <= min(costs.values()) + 1e-6 * max(
                        1.0, abs(min(costs.values()))
                    )
