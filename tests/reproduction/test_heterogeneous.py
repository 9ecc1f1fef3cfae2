"""Several classes on reserved servers and in one pool."""

from __future__ import annotations

import pytest

from moldable import simulate
from reproduction import heterogeneous
from reproduction.heterogeneous import EXAMPLES, POOL, RESERVED
from tiny_results import tiny


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_reservations_fill_the_cluster_and_one_class_randomises(example):
    _, results = tiny("heterogeneous")
    for part in example.along(results, RESERVED):
        classes = part["classes"]
        assert sum(one["reserved_fraction"] for one in classes) == pytest.approx(1.0)
        assert sum(one["whole_servers"] for one in classes) == part["servers"]
        assert sum(len(one["support"]) - 1 for one in classes) == 1


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_the_exact_cells_agree_with_simulation(example):
    _, results = tiny("heterogeneous")
    part = example.along(results, RESERVED)[0]
    assert part["method"] == "chain"
    scenario = example.scenario(part["servers"], RESERVED)
    found = simulate(scenario, jobs=20_000, replications=32, seed=1)
    for exact, simulated in zip(part["classes"], found.classes, strict=True):
        error = simulated.blocking.half_width / 1.96
        assert abs(simulated.blocking.value - exact["blocking"]) < 4 * error


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_in_one_pool_classes_are_blocked_alike(example):
    _, results = tiny("heterogeneous")
    for part in example.along(results, POOL):
        whole = part["blocking"]
        for one in part["classes"]:
            low, high = one["blocking_interval"]
            assert abs(one["blocking"] - whole) < 4 * (high - low) / 2 / 1.96


def test_reserved_classes_are_not_blocked_alike():
    _, results = tiny("heterogeneous")
    first, second = EXAMPLES[0].along(results, RESERVED)[0]["classes"]
    assert first["blocking"] > 1.2 * second["blocking"]


def test_tables_and_texts_say_what_was_found():
    experiment, results = tiny("heterogeneous")
    made = experiment.publish(results)
    sizes = heterogeneous.SIZES[heterogeneous.Scale.TINY]
    assert len(made.tables["heterogeneous"]) == (2 + 3) * 2 * len(sizes)
    assert len(made.drawings) == 1
    assert "Amdahl, 80 % parallel" in made.page
    assert len(made.findings) == 3
