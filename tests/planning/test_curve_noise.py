"""What the noise of measured curves does to a plan, and widths that are one step off."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from moldable import JobClass, Observation, Scenario, SpeedUp, Workload, evaluate, plan
from moldable.fitting import Measurements, decision_under_uncertainty, fit
from moldable.fitting.noise import estimated_noise, speedup_intervals
from moldable.planning.choice import Options, choose
from moldable.planning.curve_noise import RESAMPLES, curve_noise, measured_noise
from moldable.planning.goal import Goal
from moldable.planning.steps import OneStep
from moldable.policies.even_price import EvenPrice
from moldable.policies.greedy import GreedyP
from moldable.policies.policy import Policy
from moldable.reporting.noise_text import UNKNOWN, noise_lines

TRUE = {1: 100.0, 2: 55.0, 3: 41.0, 4: 33.0, 8: 23.0}
OPTIONS = Options(0.05, 1, 2, lambda _: None)


def measured(noise: float, runs: int = 4, seed: int = 1) -> SpeedUp:
    rng = np.random.default_rng(seed)
    return SpeedUp.from_times(
        (width, time * math.exp(noise * rng.standard_normal()))
        for width, time in TRUE.items()
        for _ in range(runs)
    )


def scenario_of(curve: SpeedUp, servers: int = 8, **options) -> Scenario:
    other = JobClass("exact", 0.05 * servers, {2: 1.8, 4: 3.0}, 2.0)
    measured = JobClass("measured", 0.25 * servers, curve)
    return Scenario(Workload([measured, other]), servers, **options)


def noise_of(scenario: Scenario, **target):
    goal = Goal.of(scenario, None, **target)
    return curve_noise(scenario, goal, choose(scenario, goal, OPTIONS), OPTIONS)


def test_a_curve_keeps_its_measurements_up_to_the_unit_of_time():
    rng = np.random.default_rng(5)
    runs = {
        w: list(t * rng.uniform(0.9, 1.1, k)) for w, t, k in ((2, 50, 3), (4, 30, 1), (8, 20, 5))
    }
    curve = SpeedUp.from_times((w, time) for w, times in runs.items() for time in times)
    measurements = Measurements.of_curve(curve)
    one_server = 2 * np.mean(runs[2])
    for width, found in zip(measurements.widths.tolist(), measurements.runs, strict=True):
        assert found * one_server == pytest.approx(np.array(runs[width]))
    noise, direct = estimated_noise(measurements), estimated_noise(Measurements(runs))
    assert noise.deviation == pytest.approx(direct.deviation)
    own, given = speedup_intervals(measurements, noise), fit(runs)
    assert own == (pytest.approx(given.low), pytest.approx(given.high))


def test_the_optimal_widths_change_as_often_as_for_the_fit():
    """The same resampling, reached by `moldable fit --load` with other random numbers."""
    curve = measured(0.04)
    scenario = Scenario.single(curve, 0.75, 8)
    (found,) = noise_of(scenario).classes
    direct = decision_under_uncertainty(
        fit(Measurements.of_curve(curve), model="measured"), 0.75, resamples=4000, seed=3
    )
    assert found.support == direct.optimum.support
    assert 0.05 < direct.kept < 0.95
    error = math.sqrt(direct.kept * (1 - direct.kept) * (1 / RESAMPLES + 1 / 4000))
    assert abs(found.kept - direct.kept) < 4 * error
    assert found.noise == pytest.approx(direct.fit.noise.typical)
    exact = noise_of(Scenario.single(measured(0.002), 0.75, 8)).classes[0]
    assert exact.kept > found.kept + 4 * error


@pytest.mark.parametrize(
    ("servers", "waiting"),
    [
        (8, 0),
        pytest.param(4, "unlimited", marks=pytest.mark.long),
        pytest.param(8, "unlimited", marks=pytest.mark.long),
    ],
)
def test_figures_on_resampled_curves_surround_the_planned_one(servers, waiting):
    scenario = scenario_of(measured(0.03), servers, waiting=waiting)
    goal = Goal.of(scenario, None)
    choice = choose(scenario, goal, OPTIONS)
    found = curve_noise(scenario, goal, choice, OPTIONS)
    planned = goal.figure(choice.performance)
    assert found.figures[0] < planned < found.figures[-1]
    assert len(found.figures) == found.evaluated
    spread = np.std(found.figures) / planned
    calm = scenario_of(measured(0.003), servers, waiting=waiting)
    quiet = curve_noise(calm, goal, choice, OPTIONS)
    assert 4 < spread / (np.std(quiet.figures) / planned) < 25  # ten times the noise
    assert found.kept is None
    assert all(0 <= loss < 0.1 for loss in found.losses)
    by_name = {part.job_class: part for part in found.classes}
    assert by_name["exact"].noise is None
    assert by_name["measured"].noise == pytest.approx(0.03, rel=0.5)
    for part in found.classes:
        covered = [n for row in part.rows for n in range(row.least, row.most + 1)]
        assert covered == list(range(1, servers + 1))
        for row in part.rows:
            assert sum(row.shares.values()) == pytest.approx(1)


def test_a_limit_that_is_just_met_is_missed_on_about_half_of_the_curves():
    found = noise_of(scenario_of(measured(0.03)), max_blocking=0.12)
    assert 0.2 < found.kept < 0.8
    kept = sum(figure <= 0.12 for figure in found.figures) / found.evaluated
    assert found.kept == kept
    wide = noise_of(scenario_of(measured(0.03)), max_blocking=0.5)
    assert wide.kept == 1


def test_a_resampled_curve_may_be_too_slow_for_the_load():
    """The widest width is the most efficient here, and 1 % is left of the servers."""
    pairs = [(1, 100.0), (1, 104.0), (1, 96.0), (2, 40.0), (2, 41.6), (2, 38.4)]
    scenario = Scenario(Workload([JobClass("jobs", 0.99 * 8 / 0.8, SpeedUp.from_times(pairs))]), 8)
    found = noise_of(scenario)
    # Log ratio of two means of three runs with 4 % noise, estimated with 4 degrees of freedom.
    expected = float(stats.t(4).sf(-math.log(0.99) / (0.04 * math.sqrt(2 / 3))))
    error = math.sqrt(expected * (1 - expected) / RESAMPLES)
    assert 0.3 < expected < 0.45
    assert abs(found.infeasible - expected) < 4 * error
    assert sum(found.classes[0].supports.values()) + found.infeasible == pytest.approx(1)


def test_plans_say_whether_the_noise_of_curves_is_known(tmp_path):
    rows = [f"{w},{t}" for w, t in TRUE.items() for t in (t, 1.04 * t)]
    (tmp_path / "curve.csv").write_text("width,time\n" + "\n".join(rows) + "\n")
    head = "servers = 4\n[[class]]\nname = 'a'\narrival_rate = 2\nmean_size = 1\n"
    (tmp_path / "s.toml").write_text(f"{head}speedup = 'curve.csv'\n")
    found = plan(tmp_path / "s.toml", max_blocking=0.3, seed=1, precision=0.2)
    assert found.to_dict()["curve_noise"]["classes"][0]["class"] == "a"
    lines = " ".join(noise_lines(found))
    assert f"On {found.curve_noise.evaluated} resampled curves the blocking" in lines
    assert noise_lines(dataclasses.replace(found, curve_noise=None)) == [UNKNOWN]
    assert measured_noise(SpeedUp([1, 1.8])) is None


CURVE = {1: 1, 2: 1.7, 3: 1.75, 4: 3.0, 8: 4.0}
"""Width 3 is not on the frontier."""
NARROWER = {1: 1, 2: 1, 3: 2, 4: 2, 8: 4}
WIDER = {1: 2, 2: 4, 3: 4, 4: 8, 8: 8}


@pytest.mark.parametrize(("step", "expected"), [(-1, NARROWER), (1, WIDER)])
@pytest.mark.parametrize(
    "policy", [GreedyP({"jobs": {2: 0.3, 3: 0.2, 8: 0.5}}), EvenPrice(0.6, 4.0)]
)
def test_one_step_moves_every_width_on_the_frontier(policy: Policy, step, expected):
    scenario = Scenario.single(CURVE, 0.5, 12, waiting="unlimited")
    (jobs,) = scenario.workload.classes
    moved = OneStep(policy, step)
    table, behind = moved.tabulate_class(jobs, 12), moved.tabulate_behind(jobs, 12, 2)
    for idle in range(13):
        for rows, waiting in ((table, 0), (behind, 2)):
            shares = policy.granted_shares(jobs, Observation(idle, waiting))
            wanted = dict.fromkeys(CURVE, 0.0)
            for width, share in shares.items():
                if width:
                    wanted[expected[width] if expected[width] <= idle else width] += share
            assert rows[min(idle, len(rows) - 1)] == pytest.approx(list(wanted.values()))
            assert moved.granted_shares(jobs, Observation(idle, waiting)) == pytest.approx(
                {0: shares.get(0, 0.0)} | {w: s for w, s in wanted.items() if s}
                if shares.get(0)
                else {w: s for w, s in wanted.items() if s}
            )


def test_the_cost_of_one_step_is_that_of_an_independent_evaluation():
    scenario = scenario_of(SpeedUp([1, 1.8, 2.5]))
    found = plan(scenario, max_blocking=0.15, seed=1)
    cases = {case.name: case for case in found.sensitivity.cases if case.kind == "widths"}
    for name, near in (("narrower", (1, 1, 2)), ("wider", (2, 3, 3))):

        class Shifted(Policy):
            def decide(self, job_class, idle, near=near):
                moved = {"measured": dict(zip((1, 2, 3), near, strict=True))}.get(
                    job_class.name, {2: 2, 4: 2} if near[0] == 1 else {2: 4, 4: 4}
                )
                found_shares = {}
                for width, share in found.policy.granted_shares(
                    job_class, Observation(idle)
                ).items():
                    other = moved.get(width, 0)
                    granted = other if other <= idle else width
                    found_shares[granted] = found_shares.get(granted, 0.0) + share
                return found_shares

        answer = evaluate(scenario, Shifted())
        case = cases[f"widths one step {name}"]
        assert case.performance.blocking == pytest.approx(answer.blocking, rel=1e-9)
        time = answer.mean_execution_time
        assert case.performance.mean_execution_time == pytest.approx(time, rel=1e-9)
        assert case.kept == (answer.blocking <= 0.15)


def test_jobs_of_one_width_have_no_other_step():
    scenario = Scenario(Workload([JobClass("jobs", 4.0, [1])]), 8)
    cases = plan(scenario, max_blocking=0.2, seed=1, precision=0.2).sensitivity.cases
    assert not [case for case in cases if case.kind == "widths"]
    two = dataclasses.replace(scenario, workload=Workload([JobClass("jobs", 4.0, [1, 1.8])]))
    cases = plan(two, max_blocking=0.2, seed=1, precision=0.2).sensitivity.cases
    assert len([case for case in cases if case.kind == "widths"]) == 2
