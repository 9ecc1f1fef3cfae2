"""Comparison of policies: exact where possible, otherwise with common random numbers."""

from __future__ import annotations

import math
import sys

import pytest

from moldable import Greedy, JobClass, Scenario, SpeedUp, Workload, compare, evaluate, greedy_p
from moldable.errors import MoldableError
from moldable.policies import Equi, FixedWidth
from moldable.simulation.paired import simulate_together
from moldable.sizes import Deterministic
from moldable.system.loss_system import build_system

CURVE = SpeedUp([1, 1.8, 2.5, 3, 3.4])
SCENARIO = Scenario.single(CURVE, 0.8, 40)
RIVALS = {"p*": None, "headroom": greedy_p(SCENARIO, 0.9), "greedy": Greedy()}


def in_errors(estimate, truth):
    """Return how many standard errors an estimate with many replications is off."""
    return (estimate.value - truth) / (estimate.half_width / 1.98)


def test_exact_differences_are_exact_and_only_beaten_policies_lose_their_mark():
    answer = compare(SCENARIO, {**RIVALS, "strict 4": FixedWidth(4, strict=True)})
    first = evaluate(SCENARIO)
    for part in answer.policies:
        gap = part.performance.blocking.value - first.blocking.value
        assert part.blocking_difference.value == gap
        assert part.blocking_difference.half_width == 0
        others = [p.performance for p in answer.policies if p is not part]
        own = part.performance
        beaten = any(
            other.blocking.value <= own.blocking.value
            and other.mean_execution_time.value <= own.mean_execution_time.value
            for other in others
        )
        assert part.pareto_optimal == (not beaten)
    assert answer.pareto_optimal[0] == "p*"


@pytest.mark.parametrize("last", [34, 48])  # in the second round of the first and second policy
def test_an_interrupted_comparison_keeps_the_replications_of_all_policies(last):
    rounds = []

    def stop(done, planned):
        if done >= planned - 1e-9:
            rounds.append(planned)
        if planned > 32 and done >= last and len(rounds) >= 2 + (last > 40):
            raise KeyboardInterrupt

    systems = {
        name: (build_system(SCENARIO, policy), "as asked")
        for name, policy in (("greedy", Greedy()), ("two", FixedWidth(2)))
    }
    run = {"precision": 1e-4, "seed": 3, "threads": 1, "progress": stop}
    try:
        found = simulate_together(systems, jobs=200, **run)
    except KeyboardInterrupt:
        pytest.fail("nothing was kept")
    performances = [pair.performance for pair in found.values()]
    kept = {answer.provenance["replications"] for answer in performances}
    assert len(kept) == 1
    assert 32 <= min(kept) < 128
    for answer in performances:
        assert answer.interrupted
        assert f"these are the {min(kept)} of 128 replications finished" in answer.warnings[0]
    run |= {"precision": 0.99, "replications": min(kept), "progress": None}
    again = simulate_together(systems, jobs=200, **run)
    for name, pair in found.items():
        assert pair.blocking.estimate == again[name].blocking.estimate
        assert pair.time.errors.tolist() == again[name].time.errors.tolist()


def test_a_dominated_policy_is_not_marked():
    # On a flat curve every further server is wasted: wide jobs block more and finish no sooner.
    flat = Scenario.single(SpeedUp([1, 1.0001]), 0.6, 10)
    wide, narrow = FixedWidth(2, strict=True), FixedWidth(1)
    slow = Workload((JobClass("jobs", 6.0, SpeedUp({1: 1.0, 3: 0.9})),))
    answer = compare(Scenario(slow, 10), {"narrow": narrow, "wide": FixedWidth(3, strict=True)})
    assert answer.pareto_optimal == ("narrow",)
    assert compare(flat, {"narrow": narrow, "wide": wide}).pareto_optimal == ("narrow", "wide")


def test_simulated_differences_hit_the_exact_ones_and_a_wrong_one_would_be_seen():
    exact = compare(SCENARIO, RIVALS)
    run = compare(SCENARIO, RIVALS, method="simulate", precision=0.01, seed=4)
    for known, seen in zip(exact.policies[1:], run.policies[1:], strict=True):
        for name in ("blocking_difference", "mean_execution_time_difference"):
            truth, estimate = getattr(known, name).value, getattr(seen, name)
            assert abs(in_errors(estimate, truth)) < 4
            assert abs(in_errors(estimate, 1.05 * truth)) > 4


def test_common_random_numbers_tell_more_than_independent_runs():
    near = {"p*": None, "near": greedy_p(SCENARIO, 0.81)}
    run = compare(SCENARIO, near, method="simulate", precision=0.02, seed=9)
    apart = run.policies[1].blocking_difference.half_width
    alone = [part.performance.blocking.half_width for part in run.policies]
    assert apart < 0.7 * math.hypot(*alone)


def test_the_same_seed_gives_the_same_comparison_on_any_number_of_threads():
    runs = [
        compare(SCENARIO, RIVALS, method="simulate", precision=0.2, seed=2, threads=threads)
        for threads in (1, 2)
    ]
    one, other = (
        [(part.blocking_difference, part.mean_execution_time_difference) for part in run.policies]
        for run in runs
    )
    assert one == other


def test_sizes_without_a_chain_are_compared_with_exact_answers_by_simulation():
    fixed = Workload((JobClass("jobs", 32.0, CURVE, size=Deterministic()),))
    answer = compare(Scenario(fixed, 40), {"p*": None, "greedy": Greedy()}, precision=0.05, seed=3)
    assert [part.performance.method for part in answer.policies] == ["simulate", "closed-form"]
    gap = answer.policies[1].blocking_difference
    assert gap.half_width == pytest.approx(answer.policies[0].performance.blocking.half_width)


def test_nothing_blocked_is_not_taken_for_no_error():
    roomy = Scenario.single(CURVE, 0.2, 60)
    pair = {"narrow": FixedWidth(1), "wide": FixedWidth(2)}
    answer = compare(roomy, pair, method="simulate", precision=0.5, seed=1)
    assert answer.policies[0].performance.blocking.value == 0
    assert answer.policies[1].blocking_difference.half_width > 0


def test_the_preemptive_reference_is_left_out_of_the_pareto_comparison():
    answer = compare(SCENARIO, [None, Equi()])
    policy, reference = answer.policies
    assert policy.pareto_optimal
    assert reference.reference
    assert not reference.pareto_optimal
    with pytest.raises(MoldableError, match="preemptive"):
        compare(SCENARIO, [None, Equi()], method="simulate")


def test_tables_and_dictionaries_hold_every_policy():
    pandas = pytest.importorskip("pandas")
    answer = compare(SCENARIO, RIVALS)
    frame = answer.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["name"].tolist() == list(RIVALS)
    assert frame["blocking"].tolist() == [p.performance.blocking.value for p in answer.policies]
    plain = answer.to_dict()
    assert [row["name"] for row in plain["policies"]] == list(RIVALS)
    assert plain["pareto_optimal"] == list(answer.pareto_optimal)
    assert "* p*: Performance(blocking=" in repr(answer)


def test_a_frame_without_pandas_is_refused_with_a_way_out(monkeypatch):
    answer = compare(SCENARIO, {"greedy": Greedy()})
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MoldableError, match=r"pip install pandas.*to_dict"):
        answer.to_frame()


@pytest.mark.parametrize(
    ("policies", "message"),
    [
        ([], "no policy"),
        ([Greedy(), Greedy()], "two policies are called 'greedy'"),
        ([None, None], "two policies"),
    ],
)
def test_lists_that_cannot_be_compared_are_refused(policies, message):
    with pytest.raises(MoldableError, match=message):
        compare(SCENARIO, policies)


def test_impossible_requests_are_refused_before_any_work():
    with pytest.raises(MoldableError, match="precision=-1"):
        compare(SCENARIO, [None], precision=-1)
    with pytest.raises(MoldableError, match="method='guess'"):
        compare(SCENARIO, [None], method="guess")
