"""What every policy must do, those of the library and those of users."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from functools import cache
from itertools import pairwise

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
    greedy_p,
    value_policy,
)
from moldable.errors import PolicyError
from moldable.live.learning import LearningPolicy
from moldable.policies import (
    EvenPrice,
    FixedWidth,
    GreedyP,
    IdleShare,
    QueueTable,
    Rigid,
    queue_value_policy,
)

PAPER = SpeedUp([1, 1.8, 2.5, 3, 3.4])
GAPS = SpeedUp({2: 1.9, 4: 3.5, 8: 6.0})
DIPS = SpeedUp({1: 1.0, 2: 1.9, 3: 1.7, 4: 1.9, 6: 2.5})
SUPER_LINEAR = SpeedUp([1, 2.2, 3.5, 4.9])

# Width 4 is in every curve, so that policies of one width apply to all of them.
SYSTEMS = {
    "one class": (Scenario.single(PAPER, 0.8, 40).workload, (40,)),
    "gaps": (Scenario.single(GAPS, 0.5, 40).workload, (40,)),
    "dips": (Scenario.single(DIPS, 0.5, 40).workload, (40,)),
    "super-linear": (Scenario.single(SUPER_LINEAR, 0.8, 40).workload, (40,)),
    "fewer servers than the widest": (Scenario.single(GAPS, 0.5, 5).workload, (5,)),
    "several classes": (
        Workload((JobClass("a", 9.0, PAPER), JobClass("b", 3.0, GAPS, 2.0))),
        (40, 40),
    ),
    "reserved": (
        Workload((JobClass("a", 9.0, PAPER), JobClass("b", 3.0, DIPS)), "reserved"),
        (30, 10),
    ),
}


class HalfOfIdle(Policy):
    """A user's own policy: about half of what is idle."""

    def decide(self, job_class, idle):
        return {max(1, min(idle // 2, int(job_class.speedup.widths[-1]))): 1.0}


class EitherOrNothing(Policy):
    """A user's own strict policy: the narrowest or the widest width, by the toss of a coin."""

    strict = True

    def decide(self, job_class, idle):  # noqa: ARG002
        widths = job_class.speedup.widths.tolist()
        return {widths[0]: 0.5, widths[-1]: 0.5} if len(widths) > 1 else {widths[0]: 1.0}

    def reach(self, job_class, servers):  # noqa: ARG002
        return int(job_class.speedup.widths[-1])


def shares(workload):
    return {
        c.name: dict.fromkeys(c.speedup.widths.tolist(), 1 / len(c.speedup))
        for c in workload.classes
    }


def rising(workload):
    return {
        c.name: {2 * w: w for w in c.speedup.widths.tolist() if 2 * w <= 12}
        for c in workload.classes
    }


def drawing(workload):
    pairs = {c.name: c.speedup.widths[:2].tolist() for c in workload.classes}
    return {name: {two: {one: 0.25, two: 0.75}} for name, (one, two) in pairs.items()}


POLICIES = {
    "greedy(p*)": lambda workload: greedy_p(Scenario(workload, 40)),
    "greedy(p*) at a design load": lambda workload: greedy_p(Scenario(workload, 40), 0.7),
    "greedy(p)": lambda workload: GreedyP(shares(workload)),
    "greedy": lambda _: Greedy(),
    "fixed width": lambda _: FixedWidth(4),
    "fixed width, strict": lambda _: FixedWidth(4, strict=True),
    "rigid": lambda workload: Rigid({c.name: 4 for c in workload.classes}),
    "thresholds": lambda workload: Thresholds(rising(workload)),
    "thresholds that draw": lambda workload: Thresholds(drawing(workload)),
    "value": lambda workload: value_policy(Scenario(replace(workload, sharing="pool"), 40), 8.0),
    "even price": lambda _: EvenPrice(0.4, 2.0),
    "idle share": lambda _: IdleShare(),
    "queue table": lambda workload: QueueTable(
        {name: {0: row, 3: {min(row): min(row.values())}} for name, row in rising(workload).items()}
    ),
    "value with a queue": lambda workload: queue_value_policy(
        Scenario(replace(workload, sharing="pool"), 40, waiting=20)
    ),
    "learning": lambda workload: LearningPolicy(Scenario(replace(workload, sharing="pool"), 40)),
    "learning with a queue": lambda workload: LearningPolicy(
        Scenario(replace(workload, sharing="pool"), 40, waiting=20)
    ),
    "a user's": lambda _: HalfOfIdle(),
    "a user's, strict": lambda _: EitherOrNothing(),
}


@pytest.fixture(params=SYSTEMS)
def system(request):
    return SYSTEMS[request.param]


@cache
def made(name, workload):
    return POLICIES[name](workload)


@pytest.fixture(params=POLICIES)
def policy(request, system):
    return made(request.param, system[0])


def granted(speedup, width, idle, strict):
    """The width granted, by the words of the rule; None: blocked."""
    if strict:
        return width if width <= idle else None
    fitting = [w for w in speedup.widths.tolist() if w <= min(width, idle)]
    return max(fitting, key=lambda w: (speedup[w], -w), default=None)


def row(policy, job_class, idle, waiting=0):
    """The probability of each granted width, by choose() alone."""
    speedup = job_class.speedup
    found = dict.fromkeys(speedup.widths.tolist(), 0.0)
    for width, probability in policy.choose(job_class, Observation(idle, waiting)).items():
        got = granted(speedup, width, idle, policy.strict)
        if got is not None:
            found[got] += probability
    return list(found.values())


def test_the_table_is_what_decide_and_the_rule_of_granting_give_at_every_idle_count(policy, system):
    workload, pools = system
    table = policy.tabulate(workload, pools)
    assert table.classes == workload.classes
    assert table.name == policy.name
    for job_class, rows, servers in zip(workload.classes, table.rows, pools, strict=True):
        assert len(rows) <= servers + 1
        for idle in range(servers + 1):  # beyond the reach the last row must still be right
            at = min(idle, len(rows) - 1)
            assert rows[at] == pytest.approx(row(policy, job_class, idle), abs=1e-12)


def test_the_tables_while_others_wait_are_what_choose_and_the_rule_give(policy, system):
    workload, _ = system
    for job_class in workload.classes:
        tables = policy.tabulate_queue(job_class, most_idle=14)
        assert tables.shape[1:] == (15, len(job_class.speedup))
        assert len(tables) == policy.waiting_reach(job_class, 14)
        # Beyond the last number of waiting jobs its table must still be right.
        for waiting in range(1, len(tables) + 9):
            expected = [row(policy, job_class, idle, waiting) for idle in range(15)]
            found = tables[min(waiting, len(tables)) - 1] if len(tables) else expected
            assert np.array(found) == pytest.approx(np.array(expected), abs=1e-12)
        if not len(tables):
            alone = [row(policy, job_class, idle) for idle in range(15)]
            assert [row(policy, job_class, idle, 7) for idle in range(15)] == alone


def shares_of_u(policy, job_class, idle):
    """The measure of the numbers from [0, 1) for which each width is granted; 0: blocked.

    Between the sums of the probabilities of some widths the grant cannot change.
    """
    wishes = policy.choose(job_class, Observation(idle)).values()
    ends = {0.0, 1.0}
    for probability in wishes:
        ends |= {min(1.0, end + probability) for end in ends}
    found = {}
    for low, high in pairwise(sorted(ends)):
        width = policy.grant(job_class, Observation(idle), (low + high) / 2)
        found[width] = found.get(width, 0.0) + high - low
    return found


def test_grants_have_the_probabilities_of_the_table_at_every_idle_count(policy, system):
    workload, pools = system
    for job_class, rows in zip(
        workload.classes, policy.tabulate(workload, pools).rows, strict=True
    ):
        widths = job_class.speedup.widths.tolist()
        for idle in range(min(pools) + 1):
            found = shares_of_u(policy, job_class, idle)
            row = rows[min(idle, len(rows) - 1)]
            assert [found.get(width, 0.0) for width in widths] == pytest.approx(row, abs=1e-9)
            assert found.get(0, 0.0) == pytest.approx(1.0 - row.sum(), abs=1e-9)


def test_larger_numbers_draw_wider_widths():
    policy = GreedyP({"jobs": {4: 0.25, 1: 0.5, 2: 0.25}})
    (jobs,) = SYSTEMS["one class"][0].classes
    drawn = [policy.grant(jobs, Observation(40), u) for u in (0.0, 0.49, 0.5, 0.74, 0.75, 0.999)]
    assert drawn == [1, 1, 2, 2, 4, 4]
    assert policy.grant(jobs, Observation(3), 0.9) == 3  # the fastest that fits
    assert policy.grant(jobs, Observation(0), 0.9) == 0


@pytest.mark.parametrize("u", [-0.1, 1.0, math.nan, "0.5"])
def test_numbers_that_draw_nothing_are_refused(u):
    (jobs,) = SYSTEMS["one class"][0].classes
    with pytest.raises(PolicyError, match="u="):
        Greedy().grant(jobs, Observation(4), u)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"idle": -1}, "idle=-1 must be a whole number from 0"),
        ({"idle": 2.5}, "idle=2.5 must be"),
        ({"idle": True}, "idle=True must be"),
        ({"idle": 1, "waiting": None}, "waiting=None must be"),
        ({"idle": 1, "running": [1]}, "running=.* must map class names"),
    ],
)
def test_invalid_observations_are_refused(fields, words):
    with pytest.raises(PolicyError, match=words):
        Observation(**fields)


def test_grants_fit_and_rows_are_complete(policy, system):
    workload, pools = system
    for job_class, rows in zip(
        workload.classes, policy.tabulate(workload, pools).rows, strict=True
    ):
        widths = job_class.speedup.widths
        assert np.all((rows >= 0.0) & (rows <= 1.0 + 1e-12))
        for idle, probabilities in enumerate(rows):
            assert np.all(widths[probabilities > 0] <= idle)
            if policy.strict:
                wishes = policy.choose(job_class, Observation(idle))
                fits = sum(p for width, p in wishes.items() if width <= idle)
            else:
                least = min(policy.choose(job_class, Observation(idle)))
                fits = 1.0 if widths[0] <= min(idle, least) else probabilities.sum()
            assert probabilities.sum() == pytest.approx(fits)


def test_decisions_are_the_same_again_and_after_pickling(policy, system):
    workload, pools = system
    here = policy.tabulate(workload, pools)
    sent = pickle.loads(pickle.dumps(policy))  # noqa: S301 - our own bytes
    assert sent.name == policy.name
    for other in (policy.tabulate(workload, pools), sent.tabulate(workload, pools)):
        for one, two in zip(here.rows, other.rows, strict=True):
            assert np.array_equal(one, two)


def test_a_larger_pool_changes_no_row(policy, system):
    workload, pools = system
    larger = policy.tabulate(workload, tuple(servers + 20 for servers in pools))
    for one, two in zip(policy.tabulate(workload, pools).rows, larger.rows, strict=True):
        assert np.array_equal(one, two[: len(one)])


LEARNING = {"learning": 41, "learning with a queue": 41}


@pytest.mark.parametrize("name", [name for name in POLICIES if name != "a user's"])
def test_a_policy_that_knows_its_reach_fits_any_cluster(name):
    workload, _ = SYSTEMS["several classes"]
    table = POLICIES[name](workload).tabulate(workload, (10**9, 10**9))
    # Value policies are made for 40 servers; from 56 idle on, width 8 divides them evenly.
    most = {"value": 41, "value with a queue": 41, "even price": 57, **LEARNING}.get(name, 13)
    assert all(len(rows) <= most for rows in table.rows)
