"""The learning policy finds the widths of the policy that knows, and is a policy like others."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from live.clusters import Remembered, journal, sacct
from moldable import (
    Greedy,
    JobClass,
    Observation,
    Policy,
    Scenario,
    Workload,
    evaluate,
    value_policy,
)
from moldable.errors import InputError, PolicyError
from moldable.live.learning import LearningPolicy
from moldable.live.past_jobs import past_entries
from moldable.live.rehearsal import poisson_jobs, rehearse, write_journal
from moldable.policies import queue_value_policy

TRUE = Scenario.single([1, 1.3, 1.5, 1.6], 0.6, 16)
ASSUMED = Scenario.single([1, 1.95, 2.85, 3.7], 0.6, 16)


def learn(assumed, truth, jobs, jobs_seed=1, **options):
    policy = LearningPolicy(assumed, **options)
    for _ in rehearse(truth, policy, poisson_jobs(truth, jobs, jobs_seed)):
        pass
    return policy


def widths(policy, scenario, most=16, waiting=0):
    (jobs,) = scenario.workload.classes
    return [policy.grant(jobs, Observation(idle, waiting)) for idle in range(1, most + 1)]


@pytest.mark.long
def test_widths_become_those_of_the_policy_that_knows():
    def cost(policy):
        found = evaluate(TRUE, policy)  # exact
        return (1.0 - found.blocking) * found.mean_execution_time + 10.0 * found.blocking

    known = value_policy(TRUE, 10.0)
    excess = {
        jobs: [
            cost(learn(ASSUMED, TRUE, jobs, seed, seed=seed).policy) / cost(known) - 1.0
            for seed in range(4)
        ]
        for jobs in (0, 20_000)
    }
    assert np.mean(excess[0]) > 0.2  # so there is something to learn
    assert np.mean(excess[20_000]) < 0.02
    # Up to 7 idle servers, where nearly all jobs arrive, every width is right.
    learned = widths(learn(ASSUMED, TRUE, 20_000), ASSUMED)
    assert learned[:7] == widths(known, TRUE)[:7]


def test_the_learned_scenario_is_the_true_one():
    (found,) = learn(ASSUMED, TRUE, 30_000).learned().workload.classes
    (jobs,) = TRUE.workload.classes
    assert found.arrival_rate == pytest.approx(jobs.arrival_rate, rel=4 / 2000**0.5)
    assert found.mean_size == pytest.approx(1.0, rel=0.1)
    times = found.mean_size / found.speedup.speedups[:2]
    assert times == pytest.approx(1.0 / jobs.speedup.speedups[:2], rel=0.1)


def test_a_load_that_steps_up_is_noticed():
    policy = LearningPolicy(TRUE)
    jobs = list(poisson_jobs(TRUE, 3000, 7))
    jobs += poisson_jobs(TRUE.at_load(0.9), 5000, 8, begin=jobs[-1].submitted)
    for entry in rehearse(TRUE, policy, jobs):
        if entry.job == "3000" and entry.submitted:
            before = policy.drawn.load
    assert before == pytest.approx(0.6, rel=0.15)
    assert policy.drawn.load == pytest.approx(0.9, rel=0.15)


@pytest.mark.long
def test_learning_costs_less_than_believing_a_wrong_curve():
    truth, jobs = TRUE.at_load(0.8), 12_000

    def cost(policy, seed):
        found = [e for e in rehearse(truth, policy, poisson_jobs(truth, jobs, seed)) if e.submitted]
        curve = truth.workload.classes[0].speedup
        return np.mean([10.0 if e.event == "blocked" else 1 / curve[e.width] for e in found])

    wrong = Remembered(value_policy(ASSUMED, 10.0))
    saved = [cost(wrong, s) - cost(LearningPolicy(ASSUMED, seed=s), s) for s in range(4)]
    assert np.mean(saved) > 4 * np.std(saved, ddof=1) / 2


@pytest.mark.parametrize(
    ("jobs", "more"), [(150, 100), pytest.param(1500, 600, marks=pytest.mark.long)]
)
def test_with_a_queue_it_learns_too_and_survives_loads_above_one(jobs, more):
    truth = replace(TRUE, waiting=np.inf)
    policy = learn(replace(ASSUMED, waiting=np.inf), truth.at_load(0.5), jobs)
    assert policy.draws > 10
    crowded = learn(replace(ASSUMED, waiting=np.inf), truth.at_load(1.5), more)
    assert crowded.learned().load > 1.0
    assert set(widths(crowded, ASSUMED, waiting=50)) <= {1, 2, 3, 4}


def test_a_journal_read_later_teaches_the_same_as_live_decisions():
    live = LearningPolicy(ASSUMED, seed=3)
    entries = list(rehearse(TRUE, live, poisson_jobs(TRUE, 2000, 4)))
    later = LearningPolicy(ASSUMED, seed=3)
    for entry in entries:
        later.observe(entry)
    assert later.learned() == live.learned()
    assert widths(later, TRUE) == widths(live, TRUE)


def test_accounting_and_a_journal_teach_the_same(tmp_path):
    truth = replace(TRUE.at_load(0.4), waiting=np.inf, time_unit="hours")
    entries = journal(truth, Greedy(), 2000, 6)
    write_journal(tmp_path / "journal.jsonl", entries)
    (tmp_path / "sacct.txt").write_text(sacct(entries, lambda e: f"moldable:{e.job_class}|"))
    learned = []
    for log in ("journal.jsonl", "sacct.txt"):
        policy = LearningPolicy(replace(ASSUMED, time_unit="hours"), seed=None)
        for entry in past_entries(tmp_path / log):
            policy.observe(entry)
        learned.append(policy.learned().workload.classes[0])
    one, two = learned
    assert two.arrival_rate == pytest.approx(one.arrival_rate, rel=0.01)
    assert one.arrival_rate == pytest.approx(truth.workload.arrival_rate, rel=0.1)
    times = [each.mean_size / each.speedup.speedups for each in learned]
    assert times[1] == pytest.approx(times[0], rel=0.02)
    assert times[0][3] == pytest.approx(1 / 1.6, rel=0.1)  # most jobs get the widest width


def test_ends_that_were_never_recorded_do_not_make_jobs_endless():
    entries = journal(TRUE, Remembered(value_policy(TRUE, 10.0)), 4000, 5)
    some = LearningPolicy(ASSUMED)
    for k, entry in enumerate(entries):
        if entry.event != "ended" or k % 5:
            some.observe(entry)
    (found,) = some.learned().workload.classes
    assert found.mean_size == pytest.approx(1.0, rel=0.15)


def test_entries_of_other_classes_are_ignored():
    policy = LearningPolicy(TRUE)
    before = policy.learned()
    for entry in journal(TRUE, Remembered(value_policy(TRUE, 10.0)), 20, 5):
        policy.observe(replace(entry, job_class="others"))
    assert policy.learned() == before


def test_it_goes_on_after_pickling_as_if_it_had_not_been():
    policy = learn(ASSUMED, TRUE, 500)
    sent = pickle.loads(pickle.dumps(policy))  # noqa: S301 - our own bytes
    assert sent.learned() == policy.learned()
    sent.draw()
    policy.draw()
    assert sent.drawn == policy.drawn


def test_several_classes_learn_each_their_own_curve():
    truth = Scenario(
        Workload([JobClass("a", 4.0, [1, 1.2, 1.3]), JobClass("b", 2.0, [1, 1.9, 2.7], 2.0)]),
        16,
        time_unit="hours",
    )
    classes = [replace(each, speedup="1,1.6,2.1", mean_size=1.0) for each in truth.workload.classes]
    found = learn(replace(truth, workload=Workload(tuple(classes))), truth, 15_000).learned()
    for own, true in zip(found.workload.classes, truth.workload.classes, strict=True):
        times = own.mean_size / own.speedup.speedups
        seen = 1.0 / true.speedup.speedups * true.mean_size
        assert times[0] == pytest.approx(seen[0], rel=0.2)
        assert own.arrival_rate == pytest.approx(true.arrival_rate, rel=0.3)


def test_a_scenario_for_which_no_policy_can_be_computed_changes_nothing(monkeypatch):
    policy = LearningPolicy(ASSUMED)
    before = widths(policy, ASSUMED)

    def refuse(*_):
        raise PolicyError("not this one")

    monkeypatch.setattr(LearningPolicy, "_tuned", refuse)
    policy.draw()
    assert widths(policy, ASSUMED) == before


@pytest.mark.parametrize("strength", [0, -1, float("nan")])
def test_a_prior_that_counts_for_nothing_is_refused(strength):
    with pytest.raises(InputError, match="strength"):
        LearningPolicy(TRUE, strength=strength)


def test_it_decides_like_the_policy_that_it_has_drawn():
    policy = LearningPolicy(replace(TRUE, waiting=np.inf))
    (jobs,) = TRUE.workload.classes
    own = queue_value_policy(policy.drawn)
    assert isinstance(policy, Policy)
    for idle in range(17):
        for waiting in (0, 1, 5, 50):
            seen = Observation(idle, waiting)
            assert policy.grant(jobs, seen) == own.grant(jobs, seen)
