"""Tables by idle servers and waiting jobs."""

from __future__ import annotations

import pickle

import pytest

from moldable import (
    JobClass,
    Observation,
    Scenario,
    Workload,
    evaluate,
    read_policy_file,
    write_policy_file,
)
from moldable.errors import PolicyError
from moldable.policies import QueueTable

CURVE = [1, 1.8, 2.5, 3]
ROWS = {"a": {0: {1: 1, 3: 2, 6: 4}, 2: {1: 1, 5: 3}, 7: {1: 1}}, "b": {0: {2: 2}, 4: {4: 4}}}
CLASSES = [JobClass("a", 4.0, CURVE), JobClass("b", 1.0, {2: 1.0, 4: 1.9})]


def looked_up(rows, idle, waiting):
    """Return the choice of the last row reached; the narrowest one before the first idle count."""
    row = rows[max(count for count in rows if count <= waiting)]
    reached = [count for count in row if count <= idle]
    return row[max(reached)] if reached else None


def table():
    return QueueTable(ROWS).with_classes(Scenario(Workload(CLASSES), 12, waiting="unlimited"))


@pytest.mark.parametrize("name", ROWS)
def test_grants_are_those_of_a_plain_lookup(name):
    for waiting in range(12):
        for idle in range(1, 13):
            wanted = looked_up(ROWS[name], idle, waiting)
            if wanted is not None:
                assert table().grant(name, Observation(idle, waiting)) == wanted


def test_a_table_survives_a_file_and_pickle(tmp_path):
    write_policy_file(table(), tmp_path / "table.json")
    again = [
        read_policy_file(tmp_path / "table.json"),
        pickle.loads(pickle.dumps(table())),  # noqa: S301 - our own bytes
    ]
    assert all(each.tables == table().tables for each in again)


def test_a_table_with_one_row_is_a_loss_policy_with_the_same_answers():
    scenario = Scenario.single(CURVE, 0.7, 8, waiting=3)
    row = {1: 1, 3: 2, 6: 4}
    one, many = (QueueTable({"jobs": rows}) for rows in ({0: row}, {0: row, 2: row}))
    first, second = evaluate(scenario, one), evaluate(scenario, many)
    assert first.blocking.value == pytest.approx(second.blocking.value, rel=1e-9)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({}, "has no row"),
        ({1: {1: 1}}, "add one for 0"),
        ({0: {1: 1}, 3: {1: 1}, 2: {1: 1}}, "must ascend"),
        ({0: {1: 1}, 1.5: {1: 1}}, "1.5"),
    ],
)
def test_bad_rows_are_refused_with_the_rule(rows, message):
    with pytest.raises(PolicyError, match=message):
        QueueTable({"jobs": rows})


@pytest.mark.parametrize("name", ROWS)
def test_drawing_between_two_tables_averages_their_choices(name):
    scenario = Scenario(Workload(CLASSES), 12, waiting="unlimited")
    other = QueueTable({"a": {0: {1: 1, 4: 3}, 3: {1: 1, 8: {1: 0.5, 2: 0.5}}}, "b": {0: {2: 2}}})
    mixed = table().drawn_with(other.with_classes(scenario), 0.3)
    (job_class,) = (each for each in CLASSES if each.name == name)
    least = int(job_class.speedup.widths[0])
    differ = 0
    for waiting in range(10):
        for idle in range(least, 13):
            seen = Observation(idle, waiting)
            one, two = (policy.choose(job_class, seen) for policy in (table(), other))
            expected = {w: 0.7 * one.get(w, 0.0) + 0.3 * two.get(w, 0.0) for w in {*one, *two}}
            assert mixed.choose(job_class, seen) == pytest.approx(expected)
            differ += one != two
    assert differ > 20


def test_a_policy_that_leaves_servers_idle_decides_as_with_fewer():
    scenario = Scenario(Workload(CLASSES), 12, waiting="unlimited")
    rows = {"a": ROWS["a"], "b": {0: {2: 2, 6: 4}, 4: {2: 2}}}
    plain = QueueTable(rows).with_classes(scenario)
    spare = plain.leaving_idle(2).with_classes(scenario)
    for name in rows:
        for waiting in range(10):
            for idle in range(3, 13):
                seen = Observation(idle - 2, waiting)
                assert spare.grant(name, Observation(idle, waiting)) == plain.grant(name, seen)
            assert spare.grant(name, Observation(2, waiting)) == 0
